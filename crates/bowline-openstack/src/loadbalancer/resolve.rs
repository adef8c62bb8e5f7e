//! What the references of a wish come to in the cloud: subnets, networks, certificates. Read through a small cache; what failed,
//! or was not there, is asked for again.
//!
//! What a person has to mend is a refusal that says so; a cloud that does not answer leaves a doubt.

mod cache;
mod certificates;
mod earlier;
mod external;
mod families;
mod nodes;
mod ways;

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{NodeSet, ServiceView};
use openstack_client::network::Subnet;
use openstack_client::{Client, NetworkId, SubnetId};

use self::cache::Kept;
use super::features::Features;
use super::intent::{Intent, Stored, VipPlace};
use super::trouble::Trouble;
use super::wanted::{Resolved, Vip};
use crate::inventory::Inventory;

/// Looks references up.
#[derive(Debug)]
pub(super) struct Resolver {
    client: Client,
    inventory: Arc<Inventory>,
    subnets: Kept<SubnetId, Subnet>,
    /// The subnets of a network that fit a filter, by the text of both.
    choices: Kept<String, Vec<Subnet>>,
    /// The external network that was found; the unit is the question.
    external: Kept<(), Option<NetworkId>>,
    /// Certificates that are there, by their reference.
    certificates: Kept<String, ()>,
    ways: ways::Ways,
}

/// A wish whose references are looked up.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    /// The wish.
    pub(super) intent: &'a Intent,
    /// The Service.
    pub(super) service: &'a ServiceView,
    /// The Nodes.
    pub(super) nodes: &'a NodeSet,
    /// What the cloud can do.
    pub(super) features: Features,
    /// Whether a load balancer has to be made: only then it matters where it stands.
    pub(super) creates: bool,
    /// Whether a floating IP has to come from somewhere.
    pub(super) floating: bool,
    /// The address that an earlier load balancer had if the status shows host names only; users can write it.
    pub(super) hinted: Option<IpAddr>,
}

impl Resolver {
    pub(super) fn new(client: Client, inventory: Arc<Inventory>) -> Self {
        Self {
            client,
            inventory,
            subnets: Kept::default(),
            choices: Kept::default(),
            external: Kept::default(),
            certificates: Kept::default(),
            ways: ways::Ways::default(),
        }
    }

    /// What the references of a wish came to.
    pub(super) async fn resolve(&self, question: Question<'_>) -> Result<Resolved, Trouble> {
        let (members, of_nodes) = self.members(question).await?;
        let vip = match &question.intent.vip {
            VipPlace::Port(port) => Vip { port: Some(port.clone()), ..Vip::default() },
            VipPlace::Given { subnet, network } => {
                Vip { port: None, subnet: subnet.clone(), network: network.clone() }
            }
            VipPlace::OfNodes => Vip { subnet: of_nodes, ..Vip::default() },
        };
        let mut resolved = Resolved { vip, members, ..Resolved::default() };
        if question.floating
            && let Some(wish) = &question.intent.floating
        {
            (resolved.floating, resolved.notices) = self.floating_place(wish).await?;
        }
        if question.creates {
            // Where no external network was found the Service was reached by the address of its load balancer.
            let external =
                question.intent.floating.is_some() && !(question.floating && resolved.floating.is_none());
            resolved.earlier_address = self.earlier_address(question, &resolved.vip, external).await?;
            let (additional, notice) = self.second_family(question, &resolved.vip).await?;
            resolved.additional_vips = additional;
            resolved.notices.extend(notice);
        }
        Ok(resolved)
    }

    /// A subnet; none if Neutron says that there is none.
    async fn subnet(&self, id: &SubnetId) -> Result<Option<Subnet>, Trouble> {
        let read = || async {
            match self.client.network().subnet(id).await {
                Ok(subnet) => Ok(Some(subnet)),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) => Err(error.into()),
            }
        };
        self.subnets.get(id.clone(), read).await
    }
}

/// How a certificate is called in a text for a person.
fn kind_of(stored: &Stored) -> &'static str {
    match stored {
        Stored::Container(_) => "container",
        Stored::Secret(_) => "secret",
    }
}
