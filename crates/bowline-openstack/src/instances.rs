//! The servers behind the Nodes: found by provider ID or by name, described for labels, addresses and taints.
//!
//! Many are answered from one snapshot, which never says that a server is gone. [`confirm`](Instances::confirm) reads
//! directly, and takes Nova's own 404 for a proof, twice and uncontradicted, and nothing less.

pub mod addresses;
mod attention;
mod confirm;
pub mod labels;
mod look;
pub mod metadata;
pub mod provider_id;
mod reach;
#[cfg(test)]
pub(crate) mod simulation;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bowline_cloud::{Claim, Doubt, ErrorClass, Evidence, Instance, Instances, NodeView, Power, async_trait};
use openstack_client::ServerId;
use tokio::sync::Mutex;
use tokio::time::Instant;

use self::addresses::AddressRules;
use self::attention::{Attention, Need, Reading};
use self::provider_id::{NoProviderId, ProviderId};
use crate::config::Networking;
use crate::inventory::{Inventory, Machine, Snapshot};

/// The servers of one project in one region.
#[derive(Debug)]
pub struct Servers {
    inventory: Arc<Inventory>,
    rules: AddressRules,
    region: String,
    regional: bool,
    attention: Attention,
    /// Held while servers are read again: whoever comes meanwhile may find what it wants to know.
    turn: Mutex<()>,
}

/// How the server of a Node is found.
enum Wanted {
    /// By its id.
    Id(ServerId),
    /// By the Node's name, as it has no provider ID yet.
    Name,
}

impl Servers {
    /// The servers of `inventory`. `region` is the configured one, or empty; with `regional` it is written into provider
    /// IDs.
    #[must_use]
    pub fn new(
        inventory: Arc<Inventory>,
        networking: &Networking,
        region: impl Into<String>,
        regional: bool,
    ) -> Self {
        let (rules, attention) = (AddressRules::new(networking), Attention::default());
        Self { inventory, rules, region: region.into(), regional, attention, turn: Mutex::default() }
    }

    fn wanted(&self, node: &NodeView) -> Result<Wanted, Doubt> {
        let Some(text) = node.provider_id.as_deref().filter(|id| !id.is_empty()) else {
            return Ok(Wanted::Name);
        };
        let id = ProviderId::parse(text).map_err(|error| doubt(ErrorClass::Invalid, error.to_string()))?;
        match id.may_be_in(&self.region) {
            true => Ok(Wanted::Id(id.server)),
            false => Err(doubt(ErrorClass::Invalid, other_region(text, &self.region))),
        }
    }

    fn find(&self, node: &NodeView, snapshot: &Snapshot) -> Evidence<Instance> {
        match self.wanted(node) {
            Err(doubt) => Evidence::Unknown(doubt),
            Ok(Wanted::Id(id)) => match snapshot.by_id(&id) {
                Some(machine) => self.describe(node, machine),
                None => Evidence::Unknown(not_listed(&format!("server {id}"))),
            },
            Ok(Wanted::Name) => match snapshot.by_name(&node.name).as_slice() {
                [] => Evidence::Unknown(not_listed(&format!("a server called {}", node.name))),
                [machine] => self.describe(node, machine),
                several => Evidence::Unknown(ambiguous(node, several.iter().map(|found| &found.server.id))),
            },
        }
    }

    /// All that a machine tells of its Node.
    fn describe(&self, node: &NodeView, machine: &Machine) -> Evidence<Instance> {
        let Some(instance_type) = machine.instance_type.as_deref() else {
            let why = format!(
                "the flavor of server {} cannot be read; its instance type is unknown",
                machine.server.id
            );
            return Evidence::Unknown(Doubt::new(why));
        };
        Evidence::Present(Instance {
            provider_id: self.provider_id(node, &machine.server.id),
            instance_type: Some(instance_type.to_owned()),
            addresses: machine.addresses(&self.rules),
            zone: machine.server.zone.as_deref().map(str::to_owned),
            region: Some(self.region.clone()).filter(|region| !region.is_empty()),
            power: machine.server.power,
            additional_labels: labels::as_map(&machine.server.labels),
        })
    }

    /// A Node that names this server keeps its way to write it: both forms mean the same, and it can never change.
    fn provider_id(&self, node: &NodeView, server: &ServerId) -> String {
        let kept = node.provider_id.as_deref().filter(|text| {
            ProviderId::parse(text).is_ok_and(|id| id.server == *server && id.may_be_in(&self.region))
        });
        let region = Some(self.region.clone()).filter(|region| self.regional && !region.is_empty());
        let written = || ProviderId { region, server: server.clone() }.to_string();
        kept.map_or_else(written, str::to_owned)
    }
}

#[async_trait]
impl Instances for Servers {
    fn claims(&self, node: &NodeView) -> Claim {
        let Some(text) = node.provider_id.as_deref().filter(|id| !id.is_empty()) else { return Claim::Ours };
        match ProviderId::parse(text) {
            Ok(id) if id.may_be_in(&self.region) => Claim::Ours,
            Ok(_) => Claim::NotOurs(other_region(text, &self.region)),
            Err(error @ NoProviderId::OtherCloud(_)) => Claim::NotOurs(error.to_string()),
            // It is meant for us; looking it up says what is wrong with it.
            Err(NoProviderId::Malformed(_)) => Claim::Ours,
        }
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        self.look(nodes, Need::Everything).await
    }

    async fn presence(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Power>> {
        let found = self.look(nodes, Need::Presence).await;
        found.into_iter().map(|found| found.map(|instance| instance.power)).collect()
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        let begun = Instant::now();
        let answer = self.read(node).await;
        // What only a person can mend is not asked again every few seconds.
        if matches!(&answer, Evidence::Unknown(doubt) if doubt.class == ErrorClass::Invalid) {
            let reading = Reading { at: begun, found: answer.clone(), is_whole: true, denial: None };
            self.attention.read(node, reading);
        }
        answer
    }
}

/// Whether a snapshot did not show the server.
fn is_missing(evidence: &Evidence<Instance>) -> bool {
    matches!(evidence, Evidence::Unknown(doubt) if doubt.class == ErrorClass::NotFound)
}

fn doubt(class: ErrorClass, why: String) -> Doubt {
    Doubt { class, why, retry_after: None }
}

fn not_listed(what: &str) -> Doubt {
    doubt(ErrorClass::NotFound, format!("{what} is not in the list of the project's servers"))
}

fn ambiguous<'a>(node: &NodeView, ids: impl Iterator<Item = &'a ServerId>) -> Doubt {
    let ids: Vec<&str> = ids.map(ServerId::as_str).collect();
    let why = format!(
        "several servers are called {}: {}; rename or delete all but one, or give the kubelet --provider-id",
        node.name,
        ids.join(", ")
    );
    doubt(ErrorClass::Invalid, why)
}

fn other_region(text: &str, region: &str) -> String {
    format!("provider ID {text:?} is of another region than the configured {region:?}")
}
