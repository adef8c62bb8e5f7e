//! The status page: shows users what this manager observes, does and waits for. It is read-only.
//!
//! `notebook` keeps recent activity in ring buffers; `board` holds handles for the current state; `gather` combines both into an
//! [`Overview`] for a [`Query`]; `html` and `page` render it; `serve` and `live` serve it behind authentication, and `open` serves it
//! without authentication by means of `loopback`. Nothing is computed without a reader, except recording activity.

mod board;
mod gather;
mod html;
mod live;
pub mod loopback;
pub(crate) mod metrics;
mod notebook;
pub mod open;
mod overview;
mod page;
mod query;
mod rates;
pub mod serve;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

pub(crate) use board::Surroundings;
pub use board::{About, StatusPage};
pub(crate) use live::EVENT_STREAM;
pub use overview::Overview;
pub use query::Query;
