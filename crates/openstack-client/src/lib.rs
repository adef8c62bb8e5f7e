//! A thin typed client for the OpenStack services that a cloud-controller-manager needs: Keystone, Nova, Neutron,
//! Octavia and Barbican.
//!
//! It runs over any `tower` service, so that tests can use a simulated cloud; [`Transport::https`] connects to a real one. It
//! authenticates, renews its token, finds endpoints, reads pages, and classifies errors. It makes no decisions about load balancers or
//! nodes. It retries a call once after a 401, and a client made with [`Client::patient`] also retries calls that a service refused
//! temporarily; other errors are not retried. It follows no redirects, writes nothing to disk, and does not depend on Kubernetes.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use openstack_client::{AuthOptions, Client, Interface, Settings, Transport, TransportOptions};
//!
//! let options = AuthOptions::from_variables(|name| std::env::var(name).ok());
//! let settings = Settings::new(options.resolve()?).region("RegionOne").interface(Interface::Public);
//! let client = Client::new(Transport::https(&TransportOptions::default())?, settings);
//! for server in client.compute().servers(&Default::default()).all().await? {
//!     println!("{} {}", server.id, server.name);
//! }
//! # Ok(()) }
//! ```

mod auth;
mod base_url;
mod call;
mod client;
pub mod clouds_yaml;
pub mod compute;
mod decode;
mod environment;
pub mod error;
#[doc(hidden)]
pub mod fuzzing;
mod hooks;
pub mod identity;
mod ids;
pub mod key_manager;
pub mod load_balancer;
mod metrics;
pub mod network;
mod paging;
mod service;
mod transport;
mod vocabulary;

pub use self::{
    auth::{
        ApplicationCredential, AuthOptions, AuthOptionsError, Credentials, DomainRef, Method, ProjectRef,
        Scope, TokenIdentity, UserRef,
    },
    base_url::InvalidUrl,
    client::{Client, Offered, Settings, WallClock},
    environment::ConnectionVariables,
    error::{Error, ErrorClass, Outcome},
    hooks::{Budget, Closed, Nobody, Priority, Sent, Unlimited, Witness, WriteFence},
    ids::*,
    metrics::ApiMetrics,
    paging::{Listed, PageLimits, Pages},
    service::{Interface, Service},
    transport::{
        AnswerBudget, Body, ClientIdentity, ProxyError, ProxyVariables, Roots, Timeouts, TlsError, Transport,
        TransportError, TransportOptions,
    },
    vocabulary::Change,
};
