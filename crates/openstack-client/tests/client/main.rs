//! The client against a scripted cloud in memory, and its transport on loopback.

mod authentication;
mod calls;
mod cloud;
mod endpoints;
mod failures;
mod hooks;
mod lists;
mod transport;
