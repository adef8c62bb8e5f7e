//! Wishes that change while the load balancer is there: whatever was before, in the end all is as if it had been made so.
//!
//! [`course`] drives a Service from one setting to the next and compares the simulated cloud with a fresh one. [`annotations`]
//! and [`config`] have an entry for every row of their tables, [`fields`] those of the Service itself, [`pairs`] what interacts.

mod annotations;
mod config;
pub(super) mod course;
pub(super) mod estate;
mod fields;
mod pairs;
pub(super) mod picture;
