//! What is to say of one Node.

use bowline_cloud::{AddressKind, Evidence, Instance, Power};
use bowline_controllers::service::nodes::is_eligible;
use bowline_controllers::shadow::preview::Machine;
use serde::Serialize;

use super::advice::node::{Known, advice};
use super::said::{self, Told};
use super::{code, conclusion, told};
use crate::ending::{Ending, FINE, NOT_LOOKED};
use crate::session::Session;
use crate::sight;
use crate::status::leader::{self, Leader};
use crate::terminal::line_of;

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
    /// What a person should know of this answer.
    pub notes: Vec<String>,
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
    let mut notes = session.notes.clone();
    let told = told(session, "default", "Node", name, &mut notes).await;
    let leader = leader::read_if_allowed(session, &mut notes).await;
    let server = match session.cloud().await {
        Ok(cloud) => match sight::machines(session, &cloud, std::slice::from_ref(&node)).await {
            Ok(machines) => machines.first().map_or_else(
                || ServerSight::unknown("no answer".to_owned()),
                |(_node, machine)| ServerSight::of(machine),
            ),
            Err(why) => ServerSight::unknown(why),
        },
        Err(ending) => ServerSight::unknown(ending.why),
    };
    let texts = told.iter().map(|one| one.message.as_str()).chain(server.why.as_deref());
    let request_ids = said::request_ids(texts);
    let held = told.iter().rev().find(|one| one.reason == "NodeDeletionHeld").map(|one| one.message.as_str());
    let advice = advice(&Known { node: &node, server: &server, held, leader: &leader });
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
        notes,
    })
}

impl NodeExplained {
    pub(super) fn code(&self) -> u8 {
        let looked = if self.server.state == ServerState::Unknown { NOT_LOOKED } else { FINE };
        code(looked, &self.advice)
    }

    pub(super) fn text(&self) -> String {
        let ready = match self.ready {
            Some(true) => "ready",
            Some(false) => "not ready",
            None => "never ready",
        };
        let traffic = if self.gets_traffic { "gets traffic" } else { "gets no traffic" };
        let mut text = line_of(format!("Node {} ({ready}, {traffic} of load balancers)", self.node));
        text.push_str(&line_of(format!("  provider ID: {}", self.provider_id.as_deref().unwrap_or("none"))));
        text.push_str(&line_of(format!("  addresses: {}", self.addresses.join(", "))));
        self.taints.iter().for_each(|taint| text.push_str(&line_of(format!("  taint {taint}"))));
        text.push_str(&format!("\n{}", line_of(format!("Server: {}", self.server.words().trim()))));
        if !self.server.addresses.is_empty() {
            text.push_str(&line_of(format!("  addresses: {}", self.server.addresses.join(", "))));
        }
        text.push_str(&conclusion(&self.events, &self.request_ids, &self.leader, &self.advice, &self.notes));
        text
    }
}
