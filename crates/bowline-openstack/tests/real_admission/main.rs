//! The admission policy on a real API server: it judges as the controller does, and nothing that it should not.
//!
//! The policy is the file that we ship. Waiting is always for a condition, with a deadline.

mod agreement;
mod harness;
mod recreation;
mod scope;
mod tenancy;
mod values;
