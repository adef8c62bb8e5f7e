//! The controllers of Bowline, generic over the cloud.
//!
//! Each controller observes, plans and executes, in files of these names. This crate does not use HTTP, command-line flags or the lease:
//! the caller passes informers, a writer and a fence.

pub mod controller;
pub mod deadline;
pub mod extra;
#[cfg(test)]
mod harness;
pub mod identity;
pub mod ipam;
pub mod lifecycle;
pub mod metrics;
pub mod node;
#[cfg(test)]
mod plan_properties;
pub mod rails;
pub mod reference;
pub mod registry;
pub mod route;
pub mod service;
pub mod shadow;
pub mod view;
