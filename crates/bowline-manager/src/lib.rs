//! The cloud-controller-manager process: flags, leader election and migration, serving, metrics, shutdown.

pub mod budget;
pub mod exit;
pub mod flags;
pub mod logging;
pub mod migration;
pub mod options;
pub mod serving;
