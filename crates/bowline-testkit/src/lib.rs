//! The test kit: one of each thing that the test suites of Bowline need and that is too heavy for a unit test.
//!
//! It is for tests only: nothing here may be linked into a binary that ships.

pub mod apiserver;
#[expect(
    clippy::indexing_slicing,
    reason = "of JSON: an answer without what is looked for fails the test, as it should"
)]
pub mod cloud;
mod eventually;
pub mod http;
pub mod manifest;
pub mod process;
pub mod proxy;

pub use self::eventually::{deadline, eventually, within};
