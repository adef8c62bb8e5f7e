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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Send tokens from a Keystone with TLS to endpoints without it.
    pub insecure_endpoints: bool,
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
    /// Whether using the one is using the other: a comment, the order of keys or another way to say the same is no
    /// difference. All of `[Global]` is in the credentials and the connection, or says where they were read.
    #[must_use]
    pub fn works_as(&self, other: &Self) -> bool {
        self.credentials == other.credentials
            && self.connection == other.connection
            && self.has_settings_of(other)
    }

    /// Whether both ask for the same in the cloud, whatever the credentials and the connection.
    #[must_use]
    pub fn has_settings_of(&self, other: &Self) -> bool {
        let parts = |conf: &CloudConf| {
            let CloudConf { global: _, load_balancer, classes, tenancy, networking, route, metadata } =
                conf.clone();
            (load_balancer, classes, tenancy, networking, route, metadata)
        };
        parts(&self.conf) == parts(&other.conf)
    }

    /// How the client is made.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings::new(self.credentials.clone())
            .region(self.connection.region.clone())
            .interface(self.connection.interface)
            .insecure_endpoints(self.connection.insecure_endpoints)
    }
}
