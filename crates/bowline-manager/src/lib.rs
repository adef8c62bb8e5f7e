//! The cloud-controller-manager process: flags, leader election and migration, serving, metrics, shutdown.
//!
//! A provider's `main` makes a [`CloudControllerManager`], names its cloud, and runs it. Everything else here is the inside
//! of that process; `process` reads like its table of contents.

pub mod budget;
mod clients;
mod cloud_identity;
mod cluster_uid;
mod common;
mod config_secret;
pub mod election_runtime;
mod events;
pub mod exit;
pub mod flags;
mod leader;
pub mod locks;
pub mod logging;
mod manager;
mod metrics;
pub mod migration;
mod open_files;
pub mod options;
mod pages;
mod pause;
mod process;
pub mod rbac;
pub mod reference;
pub mod replica;
mod right_to_act;
pub mod serving;
mod shadow;
pub mod signals;
pub mod status;
mod supervise;
mod workforce;

pub use manager::{CloudControllerManager, Surroundings};
