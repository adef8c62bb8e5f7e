//! The client against a scripted cloud in memory, and its transport on loopback.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what is not as it should be fails the test"
)]

mod answers;
mod authentication;
mod calls;
mod cloud;
mod endpoints;
mod failures;
mod hooks;
mod lists;
mod loopback;
mod proxies;
mod refusals;
mod transport;
