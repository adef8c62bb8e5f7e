//! The rights that we ship, on a real API server: the manager does everything it can do under exactly these rights, in
//! both forms; and without any one verb of them, something no longer works.
//!
//! The cloud of these tests decides by names (`cloud.rs`). The manager is this very program, started again
//! (`manager.rs`). Waiting is always for a condition, with a deadline.

#![expect(clippy::indexing_slicing, reason = "an answer without the field fails the test, as it should")]

mod audit;
mod cloud;
mod effect;
mod foreign;
mod harness;
mod manager;
mod objects;
mod roles;
mod scenario;
mod trial;
