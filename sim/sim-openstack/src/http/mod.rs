//! The shell around the core: requests and responses, which service is meant, the tower service and the HTTP server.

pub(crate) mod json;
mod query;
mod request;
mod response;
mod route;
mod server;
mod service;

pub use query::Query;
pub use request::{ApiRequest, Call, Caller};
pub use response::{ApiResponse, Body, Refusal, Reply};
pub(crate) use route::{Target, target};
pub use server::serve;
pub use service::{ReplyLost, SimBody, SimService};
