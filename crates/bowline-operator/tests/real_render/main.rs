//! What is rendered, on a real API server: the definition is accepted and refuses what it should, every object of every
//! platform passes its validation, pods are as restricted as the host's network allows, and policies judge as they say.
//!
//! Waiting is always for a condition, with a deadline.

#![expect(clippy::indexing_slicing, reason = "an answer without the field fails the test, as it should")]
#![expect(clippy::unwrap_used, reason = "an object that cannot be made fails the test, as it should")]

mod definition;
mod harness;
mod life;
mod objects;
mod policies;
mod rights;
