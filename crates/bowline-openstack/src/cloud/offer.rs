//! What the cloud offers, and what follows for what we can do. A service that is missing is told and waited for (safety
//! rail SR-11); it never ends the process.

use bowline_cloud::Capability;
use openstack_client::{Client, Error, Offered, Service};

use crate::config::Configuration;

/// The services that the catalog has for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) compute: Offered,
    pub(super) network: Offered,
    pub(super) load_balancer: Offered,
}

/// What is known of the offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// Nobody asked yet, or nobody answered.
    Not(String),
    /// This.
    Offer(Offer),
}

impl Offer {
    /// What the catalog of the client's token has. Costs a call only when there is no token.
    pub(super) async fn of(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            compute: client.offered(Service::Compute).await?,
            network: client.offered(Service::Network).await?,
            load_balancer: client.offered(Service::LoadBalancer).await?,
        })
    }

    fn of_service(self, service: Service) -> Offered {
        match service {
            Service::Compute => self.compute,
            Service::Network => self.network,
            Service::LoadBalancer => self.load_balancer,
            Service::Identity | Service::KeyManager => Offered::Secure,
        }
    }

    /// Whether Neutron can be called.
    pub(super) fn network_is_usable(self) -> bool {
        is_usable(self.network)
    }

    /// Whether all is there that this configuration makes use of.
    pub(super) fn is_enough(self, configuration: &Configuration) -> bool {
        is_usable(self.compute)
            && is_usable(self.network)
            && (is_usable(self.load_balancer) || !configuration.conf.load_balancer.enabled)
    }
}

fn is_usable(offered: Offered) -> bool {
    matches!(offered, Offered::Secure | Offered::Insecure { allowed: true })
}

/// Whether we can work with servers.
pub(super) fn instances(known: &Known, configuration: &Configuration) -> Capability<()> {
    needs(known, configuration, &[(Service::Compute, "Nova"), (Service::Network, "Neutron")], "")
}

/// Whether we can work with load balancers.
pub(super) fn load_balancers(known: &Known, configuration: &Configuration) -> Capability<()> {
    if !configuration.conf.load_balancer.enabled {
        return Capability::Unsupported;
    }
    let wanted = [(Service::LoadBalancer, "Octavia"), (Service::Network, "Neutron")];
    needs(known, configuration, &wanted, ", or set [LoadBalancer] enabled=false")
}

/// Whether we can work with routes.
pub(super) fn routes(known: &Known, configuration: &Configuration) -> Capability<()> {
    if configuration.conf.route.router_id.is_empty() {
        return Capability::Unsupported;
    }
    needs(known, configuration, &[(Service::Network, "Neutron")], ", or remove [Route] router-id")
}

fn needs(
    known: &Known,
    configuration: &Configuration,
    services: &[(Service, &str)],
    otherwise: &str,
) -> Capability<()> {
    let offer = match known {
        Known::Offer(offer) => *offer,
        Known::Not(why) => {
            return Capability::Unavailable(format!("what the cloud offers is not known: {why}"));
        }
    };
    match services.iter().find(|(service, _)| !is_usable(offer.of_service(*service))) {
        None => Capability::Supported(()),
        Some((service, name)) if offer.of_service(*service) != Offered::Missing => {
            Capability::Unavailable(format!(
                "the cloud's catalog names an endpoint without TLS (http) for the {service} service ({name}), although [Global] auth-url \
                 has TLS; the token is not sent there. Publish an https endpoint, choose another [Global] os-endpoint-type, or send the \
                 token in clear with [Global] allow-insecure-endpoints=true{otherwise}"
            ))
        }
        Some((service, name)) => {
            let connection = &configuration.connection;
            let region = match connection.region.as_str() {
                "" => "any region".to_owned(),
                region => format!("region {region:?}"),
            };
            Capability::Unavailable(format!(
                "the cloud's catalog has no {service} service ({name}) in {region} for interface {}; add its endpoint, \
                 correct [Global] region or os-endpoint-type{otherwise}",
                connection.interface
            ))
        }
    }
}
