//! What the page shows, as values: made by `gather`, drawn by `page`, and given as it is to programs (`/bowline.json`).

use bowline_cloud::{Standing, StepNote};
use jiff::Timestamp;
use serde::Serialize;

/// Everything on the page, for one query.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// When it was made.
    pub now: Timestamp,
    /// Which process this is.
    pub replica: ReplicaRow,
    /// What a person should know first.
    pub problems: Vec<Problem>,
    /// The Services.
    pub services: Listing<ServiceRow>,
    /// How many of all Services stand how.
    pub service_counts: ServiceCounts,
    /// The Nodes.
    pub nodes: Listing<NodeRow>,
    /// How many of all Nodes are ready, and how many wait for the cloud.
    pub node_counts: NodeCounts,
    /// The services of the cloud that are called.
    pub cloud: Vec<CloudRow>,
    /// The last calls, the newest first.
    pub calls: Vec<CallRow>,
    /// The safety rails.
    pub rails: Vec<RailRow>,
    /// The parts of the process.
    pub checks: Vec<CheckRow>,
    /// What happened lately, the newest first.
    pub timeline: Vec<Moment>,
}

/// This process.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaRow {
    /// The name of the binary.
    pub component: String,
    /// Its version.
    pub version: String,
    /// Who it is to the other replicas.
    pub identity: String,
    /// Since when it runs.
    pub started_at: Timestamp,
    /// The provider.
    pub cloud: String,
    /// `--cluster-name`.
    pub cluster: String,
    /// Who leads.
    pub leader: LeaderRow,
}

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum LeaderRow {
    /// This process, by this Lease.
    Leads {
        /// The Lease.
        lease: String,
    },
    /// Somebody else, or nobody yet.
    StandsBy {
        /// The Lease.
        lease: String,
        /// Who holds it.
        holder: Option<String>,
    },
    /// This process did and will not any more.
    Lost {
        /// The Lease.
        lease: String,
    },
    /// There is no election.
    Alone,
}

/// What a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What it is about.
    pub what: String,
    /// What is so, and what to do.
    pub text: String,
}

/// Some rows of many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing<T> {
    /// Those on this page.
    pub rows: Vec<T>,
    /// How many match the filter.
    pub matching: usize,
    /// How many there are.
    pub total: usize,
    /// Which page it is, from 1.
    pub page: usize,
    /// How many pages there are.
    pub pages: usize,
    /// Whether a first list was complete.
    pub known: bool,
}

/// How many Services there are of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceCounts {
    /// As they ask.
    pub settled: usize,
    /// At work, or waiting for the cloud.
    pub moving: usize,
    /// Held back: by a person who paused them, or by a safety rail.
    pub held: usize,
    /// Refused, failing or unknown.
    pub troubled: usize,
}

/// How many Nodes there are of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// Ready.
    pub ready: usize,
    /// With a taint that waits for this manager.
    pub waiting: usize,
}

/// A Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRow {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Where it is reached.
    pub addresses: Vec<String>,
    /// How it stands; none if nobody has looked yet.
    pub standing: Option<Standing>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// What is wrong with it in one line, or what it waits for.
    pub says: Option<String>,
    /// Whether it is being deleted.
    pub leaving: bool,
    /// Its load balancer.
    pub balancer: BalancerBox,
    /// Its last plan, if it is not too long ago.
    pub plan: Option<PlanRow>,
}

/// A load balancer as a box of boxes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BalancerBox {
    /// How it came to be known: `asked for`, `read`, …
    pub source: &'static str,
    /// Its name in the cloud, if it is known.
    pub name: Option<String>,
    /// Its id in the cloud, if it is known.
    pub id: Option<String>,
    /// How it fares, in the cloud's words.
    pub status: String,
    /// What listens.
    pub listeners: Vec<ListenerBox>,
    /// How many more there are.
    pub more: usize,
}

/// What listens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenerBox {
    /// `TCP 80`.
    pub title: String,
    /// Its name.
    pub name: String,
    /// How it fares.
    pub status: String,
    /// Who may connect; empty is everybody.
    pub allowed: Vec<String>,
    /// What is behind it.
    pub pools: Vec<PoolBox>,
}

/// Who shares the connections of a listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolBox {
    /// What it speaks, and how a member is chosen.
    pub title: String,
    /// How it fares.
    pub status: String,
    /// How members are asked whether they are well.
    pub monitor: Option<String>,
    /// Some of its members.
    pub members: Vec<MemberBox>,
    /// How many more there are.
    pub more: usize,
}

/// One machine behind a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberBox {
    /// Its name.
    pub name: String,
    /// Address and port.
    pub address: String,
    /// How it fares.
    pub status: String,
}

/// A plan for a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanRow {
    /// When it was first made.
    pub at: Timestamp,
    /// When all of it was done.
    pub done_at: Option<Timestamp>,
    /// Its steps, in order.
    pub steps: Vec<PlannedStep>,
    /// How many more there are.
    pub more: usize,
}

/// One step of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStep {
    /// The step.
    #[serde(flatten)]
    pub step: StepNote,
    /// Whether it is not planned any more.
    pub done: bool,
}

/// A Node and its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRow {
    /// Its name.
    pub name: String,
    /// Whether it is ready; none if that was never said.
    pub ready: Option<bool>,
    /// Its machine.
    pub provider_id: Option<String>,
    /// Kind and address.
    pub addresses: Vec<(String, String)>,
    /// What keeps it from work: taints that wait for the cloud.
    pub waits: Vec<String>,
    /// Other taints.
    pub taints: Vec<String>,
    /// Zone and kind of machine, as its labels say.
    pub place: Option<String>,
    /// Whether it is being deleted.
    pub leaving: bool,
}

/// A service of the cloud, and how often it was called.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CloudRow {
    /// Its name.
    pub service: String,
    /// Calls of the last minute.
    pub last_minute: u32,
    /// Of these, those without a good answer.
    pub failed_last_minute: u32,
    /// Calls and failures in steps of five seconds, the oldest first.
    pub lately: Vec<(u32, u32)>,
    /// The budget: calls a second; none is no limit.
    pub per_second: Option<f64>,
    /// The budget: calls at once.
    pub burst: u32,
    /// What of it is left.
    pub left: Option<u32>,
    /// For how many seconds the cloud asked us to wait.
    pub paused_seconds: Option<u64>,
    /// When it last gave a good answer.
    pub answered_at: Option<Timestamp>,
    /// Whether the last calls all went without a good answer.
    pub silent: bool,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRow {
    /// When it ended.
    pub at: Timestamp,
    /// Which service.
    pub service: &'static str,
    /// `GET`, `POST`, …
    pub method: String,
    /// The form of the path.
    pub path: String,
    /// The status; none is no answer.
    pub status: Option<u16>,
    /// How long it took.
    pub millis: u64,
    /// The cloud's id of it.
    pub request_id: Option<String>,
    /// Whether there was no good answer. That something is not there is one.
    pub failed: bool,
}

/// A safety rail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RailRow {
    /// Its number in the documentation.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub guards: String,
    /// Whether it holds something back now.
    pub holds: bool,
    /// What it says now.
    pub says: String,
    /// What it is called in metrics.
    pub rail: &'static str,
    /// So many Nodes it keeps from being deleted now; none where it is about something else.
    pub nodes_held: Option<u64>,
    /// So many plans for Services it held back since the start; none where it is about something else.
    pub plans_held: Option<u64>,
}

/// A part of the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRow {
    /// Its name.
    pub name: String,
    /// Whether it works.
    pub state: CheckState,
    /// Why not.
    pub why: Option<String>,
}

/// Whether a part of the process works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    /// It works.
    Works,
    /// It is not wanted here.
    Off,
    /// Somebody should look.
    Look,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When.
    pub at: Timestamp,
    /// `event`, `plan`, `rail` or `leader`.
    pub kind: &'static str,
    /// Whether a person should worry.
    pub tone: Tone,
    /// What it is about.
    pub about: String,
    /// What happened.
    pub text: String,
}

/// Whether a person should worry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Tone {
    /// Something was reached.
    Good,
    /// Nothing special.
    Fine,
    /// Worth a look.
    Warning,
}
