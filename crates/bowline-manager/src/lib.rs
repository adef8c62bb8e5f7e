//! The cloud-controller-manager process: flags, leader election and migration, serving, metrics, shutdown.
//!
//! A provider's `main` creates a [`CloudControllerManager`], registers its cloud and runs it. The other modules implement that process;
//! `process` lists its steps in order.

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
