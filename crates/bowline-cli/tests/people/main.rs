//! The commands for people, on both simulators over HTTP: what they say, what they answer to the shell, and what they leave alone.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

mod contracts;
mod doctoring;
mod explaining;
mod harness;
mod looking;
mod page;
mod recorder;
mod writing;
