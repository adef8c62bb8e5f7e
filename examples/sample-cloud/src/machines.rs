//! Step 1: the machines of the sample cloud: what is behind a Node, and a label that says in which rack it stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{
    AddressKind, Answer, Claim, CloudError, Doubt, Evidence, ExtraController, Fence, Instance,
    InstanceLookup, NodeAddress, NodeView, Power, Proof, Watched, Watches, async_trait,
};

use crate::{Machine, SampleConfig};

/// The scheme of our provider IDs.
const SCHEME: &str = "sample://";

/// The label that [`RackLabels`] keeps.
pub(crate) const RACK_LABEL: &str = "sample.bowline.dev/rack";

pub(crate) struct Machines {
    region: String,
    machines: BTreeMap<String, Machine>,
}

impl Machines {
    pub(crate) fn new(config: SampleConfig) -> Self {
        Self { region: config.region, machines: config.machines }
    }

    /// By provider ID if the Node has one, else by name.
    fn find(&self, node: &NodeView) -> Option<(&String, &Machine)> {
        let name = match &node.provider_id {
            Some(id) => id.strip_prefix(SCHEME)?,
            None => &node.name,
        };
        self.machines.get_key_value(name)
    }
}

#[async_trait]
impl InstanceLookup for Machines {
    fn claims(&self, node: &NodeView) -> Claim {
        match &node.provider_id {
            Some(id) if !id.starts_with(SCHEME) => Claim::NotOurs(format!("its provider ID is {id}")),
            _ours_or_none => Claim::Ours,
        }
    }

    async fn look_up(&self, node: &NodeView) -> Evidence<Instance> {
        let Some((name, machine)) = self.find(node) else {
            return match &node.provider_id {
                // The file is the authority on its own ids, so not being there proves that it is gone …
                Some(id) => Evidence::Absent(Proof::new(format!("the configuration holds no machine {id}"))),
                // … but a Node that was never linked to a machine may just be called otherwise.
                None => Evidence::Unknown(Doubt::new(format!(
                    "the configuration holds no machine named {}",
                    node.name
                ))),
            };
        };
        Evidence::Present(Instance {
            provider_id: format!("{SCHEME}{name}"),
            instance_type: Some(machine.kind.clone()),
            addresses: vec![
                NodeAddress::new(AddressKind::Hostname, name.clone()),
                NodeAddress::new(AddressKind::InternalIP, machine.address.to_string()),
            ],
            zone: Some(machine.zone.clone()),
            region: Some(self.region.clone()),
            power: if machine.off { Power::ShutDown } else { Power::Running },
            ..Instance::default()
        })
    }
}

/// A controller of this cloud's own: labels each Node with the rack its machine stands in.
pub(crate) struct RackLabels {
    machines: Arc<Machines>,
}

impl RackLabels {
    pub(crate) fn new(machines: Arc<Machines>) -> Self {
        Self { machines }
    }
}

#[async_trait]
impl ExtraController for RackLabels {
    fn name(&self) -> &str {
        "rack-label-controller"
    }

    fn alias(&self) -> Option<&str> {
        Some("rack-label")
    }

    fn watches(&self) -> Watches {
        Watches::Nodes
    }

    async fn reconcile(&self, object: &Watched, _fence: &dyn Fence) -> Result<Answer, CloudError> {
        let Watched::Node(node) = object else { return Ok(Answer::default()) };
        let Some((_name, machine)) = self.machines.find(node) else { return Ok(Answer::default()) };
        let labels = BTreeMap::from([(RACK_LABEL.to_owned(), Some(machine.rack.clone()))]);
        Ok(Answer { labels, ..Answer::default() })
    }
}
