//! Test harness of Bowline: what tests need that is too heavy for a unit test.
//!
//! It is for tests only: nothing here may be linked into a binary that ships.

pub mod apiserver;
pub mod manager;
mod until;

pub use self::until::until;
