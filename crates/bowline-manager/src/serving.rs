//! The HTTPS server of the manager: health, metrics and diagnostics behind Kubernetes authentication and authorization.
//!
//! The server only reads and shows state. It must not start, stop or control controllers, and must not depend on a process-wide TLS
//! default: the crypto provider is passed to every builder.

mod admission;
pub mod authn;
pub mod authz;
pub mod certs;
pub mod config;
pub(crate) mod digest;
pub mod health;
pub mod http;
pub mod identity;
pub mod metrics;
pub mod process_metrics;
mod retry;
pub mod reviews;
pub mod server;
mod shared_reviews;
pub mod tls;
mod tls_names;
mod ttl_cache;

#[cfg(test)]
mod tests;

pub use admission::ConnectionLimits;
pub use authn::{Authenticator, AuthnError};
pub use authz::{Authorizer, Decision};
pub use certs::CertError;
pub use config::{AuthenticationConfig, AuthorizationConfig, ServingConfig, ServingTimings, SniCertKey};
pub use health::{CheckOutcome, CheckSets, HealthRegistry};
pub use http::endpoints::{Endpoints, LogLevelControl, MetricsPage};
pub use identity::User;
pub use metrics::ServingMetrics;
pub use process_metrics::{BuildInfo, ProcessMetrics};
pub use reviews::{AccessReviewer, AuthConfigLookup, TokenReviewer};
pub use server::{RunningServer, ServerParts, ServingError, start};
