//! The test kit: one of each thing that the test suites of Bowline need and that is too heavy for a unit test.
//!
//! It is for tests only: nothing here may be linked into a binary that ships.

pub mod apiserver;
mod eventually;
pub mod manifest;
pub mod process;

pub use self::eventually::{deadline, eventually, within};
