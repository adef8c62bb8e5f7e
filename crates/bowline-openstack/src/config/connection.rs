//! Everything a client needs to be made: credentials, where the cloud is, whom to believe, how long to wait.

use std::time::Duration;

use openstack_client::{
    ClientIdentity, Credentials, Interface, ProxyVariables, Roots, Settings, Timeouts, TransportOptions,
};

use super::model::CloudConf;
use super::problem::Problem;

/// A configuration that is ready for use.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// What cloud.conf says, with what clouds.yaml fills in.
    pub conf: CloudConf,
    /// Who we are.
    pub credentials: Credentials,
    /// How the cloud is reached.
    pub connection: Connection,
    /// What a person should look at.
    pub warnings: Vec<Problem>,
}

/// How a cloud is reached.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The region; empty is the first.
    pub region: String,
    /// The interface of its services.
    pub interface: Interface,
    /// Whose certificates are believed.
    pub roots: Roots,
    /// Our own certificate.
    pub identity: Option<ClientIdentity>,
    /// Believe any certificate.
    pub insecure: bool,
    /// How long a call may take.
    pub timeout: Duration,
    /// The proxies.
    pub proxies: ProxyVariables,
}

impl Connection {
    /// How the transport is made.
    #[must_use]
    pub fn transport_options(&self) -> TransportOptions {
        TransportOptions {
            roots: self.roots.clone(),
            identity: self.identity.clone(),
            insecure: self.insecure,
            proxies: self.proxies.clone(),
            timeouts: Timeouts::within(self.timeout),
            ..TransportOptions::default()
        }
    }
}

impl Configuration {
    /// How the client is made.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings::new(self.credentials.clone())
            .region(self.connection.region.clone())
            .interface(self.connection.interface)
    }
}
