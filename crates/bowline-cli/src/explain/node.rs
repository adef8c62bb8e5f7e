//! What is to say of one Node.

use bowline_cloud::{AddressKind, Evidence, Instance, NodeView, Power};
use bowline_controllers::lifecycle::plan::RELEASE_ANNOTATION;
use bowline_controllers::node::plan::UNINITIALIZED_TAINT;
use bowline_controllers::service::nodes::is_eligible;
use bowline_controllers::shadow::preview::Machine;
use serde::Serialize;

use super::conclusion;
use super::said::{self, Told};
use crate::ending::{Ending, FINE, FOUND, NOT_LOOKED};
use crate::session::Session;
use crate::sight;
use crate::status::leader::{self, Leader};

/// All that is to say of a Node.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeExplained {
    /// Its name.
    pub node: String,
    /// Its provider ID.
    pub provider_id: Option<String>,
    /// Whether it is ready; none if its kubelet never said.
    pub ready: Option<bool>,
    /// Whether load balancers send it traffic.
    pub gets_traffic: bool,
    /// Its addresses, as it shows them.
    pub addresses: Vec<String>,
    /// Its taints.
    pub taints: Vec<String>,
    /// What the cloud says of its server.
    pub server: ServerSight,
    /// What was told of it.
    pub events: Vec<Told>,
    /// The ids of the cloud's requests that were told of.
    pub request_ids: Vec<String>,
    /// Who works on it.
    pub leader: Leader,
    /// What to do.
    pub advice: Vec<String>,
}

/// What the cloud says of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSight {
    /// `present`, `gone`, `foreign` or `unknown`.
    pub state: ServerState,
    /// What the provider ID of the Node shall be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Whether it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<&'static str>,
    /// Its flavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavor: Option<String>,
    /// Its zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Its addresses, as the Node shall show them.
    pub addresses: Vec<String>,
    /// Why nobody can say more, or who says that it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Whether a server is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerState {
    /// It is.
    Present,
    /// It is proven gone.
    Gone,
    /// The Node is another cloud's.
    Foreign,
    /// Nobody can say.
    Unknown,
}

impl ServerSight {
    /// In words of its own.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let bare = |state, why: String| Self {
            state,
            provider_id: None,
            power: None,
            flavor: None,
            zone: None,
            addresses: Vec::new(),
            why: Some(why),
        };
        match machine {
            Machine::Foreign(why) => bare(ServerState::Foreign, why.clone()),
            Machine::Ours(Evidence::Absent(proof)) => bare(ServerState::Gone, proof.to_string()),
            Machine::Ours(Evidence::Unknown(doubt)) => bare(ServerState::Unknown, doubt.to_string()),
            Machine::Ours(Evidence::Present(instance)) => Self {
                state: ServerState::Present,
                provider_id: Some(instance.provider_id.clone()),
                power: power(instance),
                flavor: instance.instance_type.clone(),
                zone: instance.zone.clone(),
                addresses: instance.addresses.iter().map(|one| address(one.kind, &one.address)).collect(),
                why: None,
            },
        }
    }

    /// Nobody can say.
    #[must_use]
    pub fn unknown(why: String) -> Self {
        Self::of(&Machine::Ours(Evidence::Unknown(bowline_cloud::Doubt::new(why))))
    }

    fn words(&self) -> String {
        let why = self.why.as_deref().unwrap_or_default();
        match self.state {
            ServerState::Present => {
                let id = self.provider_id.as_deref().unwrap_or_default();
                format!(
                    "{id} {} {}",
                    self.power.unwrap_or_default(),
                    self.flavor.as_deref().unwrap_or_default()
                )
            }
            ServerState::Gone => format!("gone: {why}"),
            ServerState::Foreign => format!("none of ours: {why}"),
            ServerState::Unknown => format!("unknown: {why}"),
        }
    }
}

fn power(instance: &Instance) -> Option<&'static str> {
    match instance.power {
        Power::Running => Some("running"),
        Power::ShutDown => Some("shut down"),
        Power::NotReported => None,
    }
}

fn address(kind: AddressKind, address: &str) -> String {
    format!("{kind} {address}")
}

/// Looks at a Node.
///
/// # Errors
///
/// [`Ending`] if it could not be looked at.
pub async fn explain(session: &Session, name: &str) -> Result<NodeExplained, Ending> {
    let node = session.cluster.node(name).await?;
    let events = session.cluster.events("default", "Node", name).await?;
    let leader = leader::read(session).await?;
    let server = match session.cloud().await {
        Ok(cloud) => match sight::machines(&cloud, std::slice::from_ref(&node)).await {
            Ok(machines) => machines.first().map_or_else(
                || ServerSight::unknown("no answer".to_owned()),
                |(_node, machine)| ServerSight::of(machine),
            ),
            Err(why) => ServerSight::unknown(why),
        },
        Err(ending) => ServerSight::unknown(ending.why),
    };
    let told = said::told(&events);
    let texts = told.iter().map(|one| one.message.as_str()).chain(server.why.as_deref());
    let request_ids = said::request_ids(texts);
    let held = told.iter().rev().find(|one| one.reason == "NodeDeletionHeld").map(|one| one.message.as_str());
    let advice = advice(&node, &server, held, leader.problem.as_deref());
    Ok(NodeExplained {
        node: name.to_owned(),
        provider_id: node.provider_id.as_ref().map(ToString::to_string),
        ready: node.ready,
        gets_traffic: is_eligible(&node),
        addresses: node.addresses.iter().map(|one| address(one.kind, &one.address)).collect(),
        taints: node.taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect(),
        server,
        events: told,
        request_ids,
        leader,
        advice,
    })
}

/// What to do about a Node. Pure.
#[must_use]
pub fn advice(
    node: &NodeView,
    server: &ServerSight,
    held: Option<&str>,
    nobody_works: Option<&str>,
) -> Vec<String> {
    let name = &node.name;
    let mut advice = Vec::new();
    if let Some(why) = nobody_works {
        advice.push(format!("no manager works: {why}; see kubectl bowline doctor"));
    }
    let uninitialized = node.taints.iter().any(|taint| taint.key == UNINITIALIZED_TAINT);
    match server.state {
        ServerState::Present if uninitialized && nobody_works.is_none() => advice.push(
            "its server is there and it is not initialized yet: look for warnings above and in the log of the manager".to_owned(),
        ),
        ServerState::Present if node.provider_id.is_none() && !uninitialized => advice.push(
            "its kubelet runs without --cloud-provider=external, so the manager leaves it alone: set it and let the Node register again".to_owned(),
        ),
        ServerState::Gone if node.ready == Some(true) => advice.push(
            "it is Ready although the cloud has no such server: it is not deleted. Check that these are the credentials of its project".to_owned(),
        ),
        ServerState::Gone => match held {
            Some(why) => advice.push(format!(
                "a safety rail keeps it: {why}. If it is gone indeed: kubectl annotate node {name} {RELEASE_ANNOTATION}=true"
            )),
            None => advice.push("the manager deletes it after it has proven again that its server is gone".to_owned()),
        },
        ServerState::Foreign if uninitialized => advice.push(
            "it is another cloud's and waits for that cloud's manager to initialize it".to_owned(),
        ),
        ServerState::Unknown => advice.push("the cloud did not say: check it and the credentials, see kubectl bowline doctor".to_owned()),
        ServerState::Present | ServerState::Foreign => {}
    }
    if server.power == Some("shut down") {
        advice.push("its server is shut down: start it, or delete the Node".to_owned());
    }
    advice
}

impl NodeExplained {
    pub(super) fn code(&self) -> u8 {
        match self.server.state {
            ServerState::Unknown => NOT_LOOKED,
            _ if self.advice.is_empty() => FINE,
            _ => FOUND,
        }
    }

    pub(super) fn text(&self) -> String {
        let ready = match self.ready {
            Some(true) => "ready",
            Some(false) => "not ready",
            None => "never ready",
        };
        let traffic = if self.gets_traffic { "gets traffic" } else { "gets no traffic" };
        let mut text = format!("Node {} ({ready}, {traffic} of load balancers)\n", self.node);
        text.push_str(&format!("  provider ID: {}\n", self.provider_id.as_deref().unwrap_or("none")));
        text.push_str(&format!("  addresses: {}\n", self.addresses.join(", ")));
        self.taints.iter().for_each(|taint| text.push_str(&format!("  taint {taint}\n")));
        text.push_str(&format!("\nServer: {}\n", self.server.words().trim()));
        if !self.server.addresses.is_empty() {
            text.push_str(&format!("  addresses: {}\n", self.server.addresses.join(", ")));
        }
        text.push_str(&conclusion(&self.events, &self.request_ids, &self.leader, &self.advice));
        text
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{Doubt, Proof, Taint};

    use super::*;

    fn present() -> ServerSight {
        ServerSight::of(&Machine::Ours(Evidence::Present(Instance {
            provider_id: "openstack:///1".into(),
            power: Power::Running,
            ..Instance::default()
        })))
    }

    fn gone() -> ServerSight {
        ServerSight::of(&Machine::Ours(Evidence::Absent(Proof::new("Nova answered 404 (request id req-9)"))))
    }

    fn said(node: &NodeView, server: &ServerSight, held: Option<&str>) -> String {
        advice(node, server, held, None).join("\n")
    }

    #[test]
    fn each_state_of_a_node_has_its_advice_and_a_good_one_has_none() {
        let good = NodeView {
            name: "n1".into(),
            provider_id: Some("openstack:///1".into()),
            ready: Some(true),
            ..NodeView::default()
        };
        assert_eq!(said(&good, &present(), None), "");
        let tainted = Taint { key: UNINITIALIZED_TAINT.into(), value: None, effect: "NoSchedule".into() };
        let waiting = NodeView { taints: vec![tainted], provider_id: None, ..good.clone() };
        assert!(said(&waiting, &present(), None).contains("not initialized yet"));
        let unmanaged = NodeView { provider_id: None, ..good.clone() };
        assert!(said(&unmanaged, &present(), None).contains("--cloud-provider=external"));
        assert!(said(&good, &gone(), None).contains("credentials of its project"));
        let dead = NodeView { ready: Some(false), ..good.clone() };
        assert!(said(&dead, &gone(), None).contains("deletes it"));
        let held = said(&dead, &gone(), Some("4 of 5 nodes seem gone"));
        assert!(held.contains("kubectl annotate node n1 bowline.dev/allow-node-deletion=true"), "{held}");
        let unknown = ServerSight::of(&Machine::Ours(Evidence::Unknown(Doubt::new("502"))));
        assert!(said(&dead, &unknown, None).contains("doctor"));
        let off = ServerSight { power: Some("shut down"), ..present() };
        assert!(said(&dead, &off, None).contains("shut down"));
        assert!(advice(&good, &present(), None, Some("no Lease")).join("").contains("no Lease"));
        let foreign = ServerSight::of(&Machine::Foreign("metal".into()));
        assert!(said(&waiting, &foreign, None).contains("another cloud's"));
        assert_eq!(said(&good, &foreign, None), "");
    }
}
