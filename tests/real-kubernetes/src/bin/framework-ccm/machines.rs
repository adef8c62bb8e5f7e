//! The machines behind Nodes: one list for all of them, and one direct read as proof.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{
    Claim, CloudError, Doubt, ErrorClass, Evidence, Instance, Instances, NodeView, Power, Proof, async_trait,
};
use real_kubernetes_tests::framework::protocol::{Call, Machine, Reply, SCHEME};

use crate::client::{Client, unexpected};

const SERVICE: &str = "compute";

pub(crate) struct Machines {
    client: Arc<Client>,
}

impl Machines {
    pub(crate) fn new(client: Arc<Client>) -> Self {
        Self { client }
    }

    async fn all(&self) -> Result<Vec<Machine>, CloudError> {
        match self.client.read(SERVICE, Call::Machines).await? {
            Reply::Machines(machines) => Ok(machines),
            other => Err(unexpected(&other)),
        }
    }

    async fn one(&self, id: &str) -> Result<Option<Machine>, CloudError> {
        match self.client.read(SERVICE, Call::Machine { id: id.to_owned() }).await? {
            Reply::Machine(machine) => Ok(machine),
            other => Err(unexpected(&other)),
        }
    }
}

/// The id in a Node's provider ID, if it has one of ours.
fn id_of(node: &NodeView) -> Option<&str> {
    node.provider_id.as_deref().and_then(|id| id.strip_prefix(SCHEME))
}

fn instance(machine: &Machine) -> Instance {
    Instance {
        provider_id: machine.provider_id(),
        instance_type: Some(machine.kind.clone()),
        addresses: machine.addresses.clone(),
        zone: Some(machine.zone.clone()),
        region: Some("scripted".to_owned()),
        additional_labels: BTreeMap::from([("scripted.bowline.dev/id".to_owned(), machine.id.clone())]),
        power: if machine.off { Power::ShutDown } else { Power::Running },
    }
}

/// Not in the list: a reason to look, no proof.
fn not_listed(node: &NodeView) -> Evidence<Instance> {
    let why = match id_of(node) {
        Some("") => format!("the provider ID {SCHEME} has no id; {SCHEME}<id> was expected"),
        Some(id) => format!("the scripted cloud lists no machine with the id {id}"),
        None => format!(
            "the node has no provider ID, and the scripted cloud lists no machine named {}",
            node.name
        ),
    };
    Evidence::Unknown(Doubt { class: ErrorClass::NotFound, ..Doubt::new(why) })
}

#[async_trait]
impl Instances for Machines {
    fn claims(&self, node: &NodeView) -> Claim {
        match &node.provider_id {
            Some(id) if !id.starts_with(SCHEME) => Claim::NotOurs(format!(
                "its provider ID is {id}, and those of this cloud begin with {SCHEME}"
            )),
            _ours_or_none => Claim::Ours,
        }
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        let machines = match self.all().await {
            Ok(machines) => machines,
            Err(error) => {
                return nodes.iter().map(|_| Evidence::Unknown(Doubt::from(&error))).collect();
            }
        };
        let by_id: BTreeMap<_, _> = machines.iter().map(|machine| (machine.id.as_str(), machine)).collect();
        let by_name: BTreeMap<_, _> =
            machines.iter().map(|machine| (machine.name.as_str(), machine)).collect();
        let find = |node: &NodeView| match id_of(node) {
            Some(id) => by_id.get(id).copied(),
            None => by_name.get(node.name.as_str()).copied(),
        };
        nodes
            .iter()
            .map(|node| {
                find(node).map_or_else(|| not_listed(node), |found| Evidence::Present(instance(found)))
            })
            .collect()
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        // A Node that was never linked to a machine may just be called otherwise: nothing is proven by its name.
        let Some(id) = id_of(node).filter(|id| !id.is_empty()) else { return not_listed(node) };
        match self.one(id).await {
            Ok(Some(machine)) => Evidence::Present(instance(&machine)),
            Ok(None) => Evidence::Absent(Proof::new(format!(
                "the scripted cloud answered that machine {id} does not exist"
            ))),
            Err(error) => error.into(),
        }
    }
}
