//! What the operator is told.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use bowline_manager::logging::LoggingOptions;

use crate::allowed::Allowed;
use crate::migration::Timings;

/// What the operator is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where its own Lease is.
    pub namespace: String,
    /// How to reach the API server; without one, as the pod it is.
    pub kubeconfig: Option<PathBuf>,
    /// The Lease.
    pub election: Election,
    /// Where health and metrics are served.
    pub bind_address: IpAddr,
    /// On which port; 0 is nowhere.
    pub port: u16,
    /// What is logged.
    pub logging: LoggingOptions,
    /// The version of this operator, which managers have that are not told another.
    pub version: String,
    /// The image of this operator, which Bowline's manager is in, too.
    pub image: Option<String>,
    /// What resources may ask for.
    pub allowed: Allowed,
    /// When everything is looked at again although nothing has happened.
    pub resync: Duration,
    /// How long is waited for what.
    pub timings: Timings,
    /// The minor version that is taken for that of the cluster; without it, what the API server says.
    pub assume_minor: Option<u32>,
    /// OpenShift: where its managers are.
    pub managed_namespace: String,
    /// OpenShift: the file with the images.
    pub images_file: PathBuf,
    /// OpenShift: the file with the certificates of the system.
    pub system_ca_file: PathBuf,
}

/// The Lease and its times.
#[derive(Debug, Clone, Copy)]
pub struct Election {
    /// How long others wait.
    pub lease_duration: Duration,
    /// How long the leader tries to renew.
    pub renew_deadline: Duration,
    /// The pause between two tries.
    pub retry_period: Duration,
}
