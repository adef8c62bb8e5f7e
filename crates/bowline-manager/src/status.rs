//! The status page: what this manager sees, does and waits for, for people. It reads and shows, and changes nothing.
//!
//! `notebook` keeps what happened, in rings; `board` knows whom to ask for the present; `gather` makes one value of both, an
//! [`Overview`], for one [`Query`]; `html` and `page` draw it; `serve` and `live` hand it out, and `open` does so without asking who
//! looks, by way of `loopback`. Nothing is computed while nobody looks, but for taking notes.

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
