//! The machines of the state file.

use std::sync::Arc;

use bowline_cloud::{
    Claim, CloudError, Evidence, Instance, InstanceLookup, NodeView, Power, Proof, async_trait,
};

use crate::NAME;
use crate::state::{Machine, Script};

pub(crate) struct Machines {
    script: Arc<Script>,
}

impl Machines {
    pub(crate) fn new(script: Arc<Script>) -> Self {
        Self { script }
    }

    /// By provider ID if the Node has one, else by name.
    fn find(&self, node: &NodeView) -> Result<Option<Machine>, CloudError> {
        let mut state = self.script.state()?;
        state.ordered("instances", node.name.as_str())?;
        Ok(match &node.provider_id {
            Some(id) => state.instances.into_values().find(|machine| machine.provider_id == id.as_str()),
            None => state.instances.remove(node.name.as_str()),
        })
    }
}

#[async_trait]
impl InstanceLookup for Machines {
    fn claims(&self, node: &NodeView) -> Claim {
        match &node.provider_id {
            Some(id) if !id.starts_with(&format!("{NAME}://")) => {
                Claim::NotOurs(format!("its provider ID is {id}"))
            }
            _ours_or_none => Claim::Ours,
        }
    }

    async fn look_up(&self, node: &NodeView) -> Evidence<Instance> {
        let machine = match self.find(node) {
            Ok(Some(machine)) => machine,
            Ok(None) => return Evidence::Absent(Proof::new("instance not found")),
            Err(error) => return error.into(),
        };
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Evidence::Present(Instance {
            provider_id: machine.provider_id,
            instance_type: some(machine.kind),
            addresses: machine.addresses,
            zone: some(machine.zone),
            region: some(machine.region),
            additional_labels: machine.labels,
            power: if machine.shutdown { Power::ShutDown } else { Power::Running },
        })
    }
}
