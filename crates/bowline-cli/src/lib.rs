//! The commands of Bowline for people: what is there, what would be done about it, what is wrong, and what to do.
//!
//! [`session`] reaches cluster and cloud, [`sight`] reads both; then there is one module for each command, which decides in pure functions
//! and says it through [`output`]. No command but `resync`, `adopt` and `breaker reset` writes anything, and those write one annotation.
//! Plans are the provider's own, made for the same requests as the service controller's: there is no second planner.

pub mod adopt;
pub mod breaker;
pub mod bundle;
pub mod command;
pub mod config;
pub mod doctor;
pub mod drift;
pub mod ending;
pub mod explain;
pub mod output;
pub mod page;
pub mod pages;
pub mod plan;
pub mod resync;
pub mod session;
pub mod sight;
pub mod status;
mod table;
pub mod target;
pub mod way;

pub use bowline_kube::terminal;
pub use command::{Command, execute};
