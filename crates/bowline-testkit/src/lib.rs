//! The test kit: one of each thing that the tests of Bowline share. Suites take processes, a real API server and waiting from it;
//! unit tests take a cluster in memory ([`memory_cluster`]), a cloud ([`provider`]) and a fence ([`fence`]).
//!
//! It is for tests only: nothing here may be linked into a binary that ships. It depends on no crate above `bowline-cloud`, for the
//! unit tests of those use it. What moves a clock of tests is tokio's paused time.

pub mod apiserver;
mod eventually;
pub mod fence;
pub mod manifest;
pub mod memory_cluster;
pub mod process;
pub mod provider;

pub use self::eventually::{deadline, eventually, within};
