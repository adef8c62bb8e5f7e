//! `bowline status`: who works, and on what: Nodes and their servers, Services and their load balancers, pause, breaker and budgets.
//! Nothing is written.

pub mod leader;
pub mod metrics;
pub mod rails;

use bowline_cloud::NodeView;
use bowline_cloud::shadow::Verdict;
use bowline_controllers::node::plan::UNINITIALIZED_TAINT;
use bowline_controllers::shadow::preview::{Machine, Preview};
use serde::Serialize;

use self::leader::Leader;
use self::rails::Rails;
use crate::ending::{EXIT_CODES, Ending, FINE, FOUND, NOT_LOOKED};
use crate::explain::drawing::health;
use crate::explain::node::{ServerSight, ServerState};
use crate::output::{Output, Report};
use crate::plan::word;
use crate::session::managers::Manager;
use crate::session::{Access, Session};
use crate::sight::{self, Sight};
use crate::table::{or_dash, table};
use crate::terminal::line_of;
use crate::way;

/// What to look at.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(flatten)]
    pub(crate) way: way::Arguments,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How things are.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `--cluster-name`.
    pub cluster_name: String,
    /// The UID of the cluster.
    pub cluster_uid: Option<String>,
    /// The pods that run a manager.
    pub managers: Vec<Manager>,
    /// Who leads.
    pub leader: Leader,
    /// Breaker and budgets.
    pub rails: Rails,
    /// The cloud, and whether it lets us in.
    pub cloud: CloudStatus,
    /// Nodes and their servers.
    pub nodes: Vec<NodeRow>,
    /// Services and their load balancers.
    pub services: Vec<ServiceRow>,
    /// What a person should know of this answer.
    pub notes: Vec<String>,
}

/// Whether the cloud lets us in.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CloudStatus {
    /// Where its configuration is from.
    pub config: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// Why it was not looked at.
    pub problem: Option<String>,
}

/// A Node.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRow {
    /// Its name.
    pub node: String,
    /// Whether it is ready; none if its kubelet never said.
    pub ready: Option<bool>,
    /// Whether it waits to be initialized.
    pub uninitialized: bool,
    /// Its provider ID.
    pub provider_id: Option<String>,
    /// Its server.
    pub server: ServerSight,
}

/// A Service with a load balancer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRow {
    /// `namespace/name`.
    pub service: String,
    /// Where it is reached.
    pub address: Option<String>,
    /// The id of its load balancer.
    pub load_balancer: Option<String>,
    /// How that fares.
    pub health: Option<String>,
    /// What the manager would do, in one word.
    pub verdict: Verdict,
    /// Why.
    pub message: String,
    /// What the manager last said on it, in one word.
    pub condition: Option<String>,
}

/// Looks, and tells.
///
/// # Errors
///
/// [`Ending`] if the cluster could not be looked at.
pub async fn run(arguments: &Arguments) -> Result<Status, Ending> {
    let session = Session::open(&arguments.access).await?;
    look(&session, &arguments.way).await
}

/// How things are.
pub(crate) async fn look(session: &Session, way: &way::Arguments) -> Result<Status, Ending> {
    let sight = Sight::read(session).await?;
    let mut notes = session.notes.clone();
    let leader = leader::read_if_allowed(session, &mut notes).await;
    let rails = rails::read(session, &leader, way).await;
    let (cloud, nodes, services) = match session.cloud().await {
        Err(ending) => {
            let cloud = CloudStatus { config: None, project: None, problem: Some(ending.why.clone()) };
            let unseen = || ServerSight::unknown(ending.why.clone());
            (cloud, sight.nodes.iter().map(|node| node_row(node, unseen())).collect(), Vec::new())
        }
        Ok(access) => {
            notes.extend(access.notes.clone());
            let project = access.client.identity().await.ok().and_then(|identity| identity.project_id);
            let project = project.map(|project| project.to_string());
            let nodes = match sight::machines(session, &access, &sight.nodes).await {
                Ok(machines) => machines.iter().map(|(node, machine)| seen(node, machine)).collect(),
                Err(why) => {
                    sight.nodes.iter().map(|node| node_row(node, ServerSight::unknown(why.clone()))).collect()
                }
            };
            let (services, problem) = match sight.previews(session, &access, &sight.services).await {
                Ok(previews) => (previews.iter().map(service_row).collect(), None),
                Err(ending) => (Vec::new(), Some(ending.why)),
            };
            (CloudStatus { config: Some(access.from), project, problem }, nodes, services)
        }
    };
    Ok(Status {
        cluster_name: session.cluster_name.to_string(),
        cluster_uid: session.cluster_uid.clone(),
        managers: session.managers.clone(),
        leader,
        rails,
        cloud,
        nodes,
        services,
        notes,
    })
}

fn seen(node: &NodeView, machine: &Machine) -> NodeRow {
    node_row(node, ServerSight::of(machine))
}

fn node_row(node: &NodeView, server: ServerSight) -> NodeRow {
    NodeRow {
        node: node.name.to_string(),
        ready: node.ready,
        uninitialized: node.taints.iter().any(|taint| taint.key == UNINITIALIZED_TAINT),
        provider_id: node.provider_id.as_ref().map(ToString::to_string),
        server,
    }
}

fn service_row(preview: &Preview) -> ServiceRow {
    let Preview { service, finding, picture } = preview;
    ServiceRow {
        service: finding.service.clone(),
        address: finding.address.clone(),
        load_balancer: picture.as_ref().map(|picture| picture.id.clone()),
        health: picture.as_ref().map(|picture| health(&picture.status)),
        verdict: finding.verdict,
        message: finding.message.clone(),
        condition: service.condition.as_ref().map(|condition| condition.reason.to_string()),
    }
}

impl NodeRow {
    fn is_fine(&self) -> bool {
        let known = matches!(self.server.state, ServerState::Present | ServerState::Foreign);
        known && !self.uninitialized && self.ready == Some(true)
    }
}

impl Report for Status {
    fn text(&self) -> String {
        let mut text = line_of(format!("Cluster {}", self.cluster_name));
        text.push_str(&line_of(format!("Manager: {}", self.leader.words())));
        for manager in &self.managers {
            let Manager { namespace, pod, image, ready, restarts, .. } = manager;
            let ready = if *ready { "ready" } else { "not ready" };
            text.push_str(&line_of(format!(
                "  {namespace}/{pod} {image} {ready}, restarted {restarts} times"
            )));
        }
        text.push_str(&format!("{}\n", self.rails.words()));
        let cloud = match &self.cloud {
            CloudStatus { problem: Some(why), .. } => format!("not looked at: {why}"),
            CloudStatus { config, project, .. } => {
                format!("project {} by {}", or_dash(project.as_deref()), or_dash(config.as_deref()))
            }
        };
        text.push_str(&format!("{}\n", line_of(format!("Cloud: {cloud}"))));
        let nodes: Vec<_> = self.nodes.iter().map(node_cells).collect();
        text.push_str(&table(&["NODE", "READY", "SERVER", "STATE"], &nodes));
        text.push('\n');
        let services: Vec<_> = self.services.iter().map(service_cells).collect();
        text.push_str(&table(&["SERVICE", "ADDRESS", "LOAD BALANCER", "HEALTH", "STATE"], &services));
        self.notes.iter().for_each(|note| text.push_str(&line_of(format!("Note: {note}"))));
        text
    }

    fn code(&self) -> u8 {
        let unknown_node = self.nodes.iter().any(|node| node.server.state == ServerState::Unknown);
        if self.cloud.problem.is_some() || unknown_node || !self.leader.is_known() {
            return NOT_LOOKED;
        }
        let services = crate::plan::code(self.services.iter().map(|service| service.verdict));
        let found = self.leader.problem.is_some()
            || self.leader.paused.is_some()
            || self.leader.identity_lost.is_some()
            || self.rails.breaker_open == Some(true)
            || !self.nodes.iter().all(NodeRow::is_fine);
        services.max(if found { FOUND } else { FINE })
    }
}

fn node_cells(row: &NodeRow) -> Vec<String> {
    let ready = match row.ready {
        Some(true) => "yes",
        Some(false) => "no",
        None => "never",
    };
    let state = match (row.server.state, row.uninitialized) {
        (ServerState::Present, true) => "waits to be initialized".to_owned(),
        (ServerState::Present, false) => row.server.power.unwrap_or("present").to_owned(),
        (ServerState::Gone, _) => "the server is gone".to_owned(),
        (ServerState::Foreign, _) => "another cloud's".to_owned(),
        (ServerState::Unknown, _) => format!("unknown: {}", row.server.why.as_deref().unwrap_or_default()),
    };
    let server = row.server.provider_id.as_deref().or(row.provider_id.as_deref());
    vec![row.node.clone(), ready.to_owned(), or_dash(server), state]
}

fn service_cells(row: &ServiceRow) -> Vec<String> {
    let state = match row.verdict {
        Verdict::Settled => word(row.verdict).to_owned(),
        verdict => format!("{}: {}", word(verdict), row.message),
    };
    let cells = [row.address.as_deref(), row.load_balancer.as_deref(), row.health.as_deref()].map(or_dash);
    [vec![row.service.clone()], cells.to_vec(), vec![state]].concat()
}
