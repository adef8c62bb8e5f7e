//! The data of the page: built by `gather`, rendered by `page`, and served as JSON to programs (`/bowline.json`).

use bowline_cloud::{Standing, StepNote};
use jiff::Timestamp;
use serde::Serialize;

/// The data of the whole page for one query.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// When the overview was built.
    pub now: Timestamp,
    /// This process.
    pub replica: ReplicaRow,
    /// The problems that a user should see first.
    pub problems: Vec<Problem>,
    /// The Services on this page.
    pub services: Listing<ServiceRow>,
    /// The number of Services in each state.
    pub service_counts: ServiceCounts,
    /// The Nodes on this page.
    pub nodes: Listing<NodeRow>,
    /// The number of Nodes that are ready, and of those that wait for the cloud.
    pub node_counts: NodeCounts,
    /// The cloud services that were called or have a rate limit.
    pub cloud: Vec<CloudRow>,
    /// The last calls, newest first.
    pub calls: Vec<CallRow>,
    /// The safety rails.
    pub rails: Vec<RailRow>,
    /// The health of the parts of the process.
    pub checks: Vec<CheckRow>,
    /// Recent activity, newest first.
    pub timeline: Vec<Moment>,
}

/// This process.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaRow {
    /// The name of the binary.
    pub component: String,
    /// The version of the binary.
    pub version: String,
    /// The holder identity in the Lease.
    pub identity: String,
    /// When the process started.
    pub started_at: Timestamp,
    /// The name of the cloud provider.
    pub cloud: String,
    /// `--cluster-name`.
    pub cluster: String,
    /// The state of leader election.
    pub leader: LeaderRow,
}

/// The state of leader election.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum LeaderRow {
    /// This process holds the Lease.
    Leads {
        /// The name of the Lease.
        lease: String,
    },
    /// Another replica holds the Lease, or none does yet.
    StandsBy {
        /// The name of the Lease.
        lease: String,
        /// The identity of the holder; `None` if there is none or it is not known.
        holder: Option<String>,
    },
    /// This process lost the Lease and will exit.
    Lost {
        /// The name of the Lease.
        lease: String,
    },
    /// Leader election is off.
    Alone,
}

/// A problem that a user should know about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The subject of the problem.
    pub what: String,
    /// The description, with what to do.
    pub text: String,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing<T> {
    /// The rows on this page.
    pub rows: Vec<T>,
    /// The number of rows that match the filter.
    pub matching: usize,
    /// The number of all rows.
    pub total: usize,
    /// The number of this page, from 1.
    pub page: usize,
    /// The number of pages.
    pub pages: usize,
    /// Whether the informer's first list was complete.
    pub known: bool,
}

/// The number of Services in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceCounts {
    /// Services that are as requested.
    pub settled: usize,
    /// Services in progress, or waiting for the cloud.
    pub moving: usize,
    /// Services held back by a user's pause or by a safety rail.
    pub held: usize,
    /// Services that are refused, failing or of unknown state.
    pub troubled: usize,
}

/// The number of Nodes in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// Nodes that are ready.
    pub ready: usize,
    /// Nodes with a taint that this manager must remove.
    pub waiting: usize,
}

/// A Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRow {
    /// The namespace of the Service.
    pub namespace: String,
    /// The name of the Service.
    pub name: String,
    /// The addresses of the Service.
    pub addresses: Vec<String>,
    /// The state of the Service; `None` before its first reconcile.
    pub standing: Option<Standing>,
    /// Since when the Service has this state.
    pub since: Option<Timestamp>,
    /// In one line, the problem of the Service or what it waits for.
    pub says: Option<String>,
    /// Whether the Service is being deleted.
    pub leaving: bool,
    /// The load balancer of the Service.
    pub balancer: BalancerBox,
    /// The last plan of the Service, if it is still stored.
    pub plan: Option<PlanRow>,
}

/// A load balancer with its listeners.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BalancerBox {
    /// Where the data comes from: `asked for`, `read`, …
    pub source: &'static str,
    /// The name in the cloud, if it is known.
    pub name: Option<String>,
    /// The ID in the cloud, if it is known.
    pub id: Option<String>,
    /// The status as reported by the cloud.
    pub status: String,
    /// The listeners.
    pub listeners: Vec<ListenerBox>,
    /// The number of listeners that are not shown.
    pub more: usize,
}

/// A listener of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenerBox {
    /// The title, such as `TCP 80`.
    pub title: String,
    /// The name of the listener.
    pub name: String,
    /// The status as reported by the cloud.
    pub status: String,
    /// The source ranges that may connect; empty means all.
    pub allowed: Vec<String>,
    /// The pools of the listener.
    pub pools: Vec<PoolBox>,
}

/// A pool of a listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolBox {
    /// The protocol and the balancing algorithm.
    pub title: String,
    /// The status as reported by the cloud.
    pub status: String,
    /// The health monitor; `None` if there is none.
    pub monitor: Option<String>,
    /// The members that are shown.
    pub members: Vec<MemberBox>,
    /// The number of members that are not shown.
    pub more: usize,
}

/// A member of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberBox {
    /// The name of the member.
    pub name: String,
    /// The address and port.
    pub address: String,
    /// The status as reported by the cloud.
    pub status: String,
}

/// A plan for a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanRow {
    /// When the plan was first made.
    pub at: Timestamp,
    /// When all of its steps were done.
    pub done_at: Option<Timestamp>,
    /// The steps, in order.
    pub steps: Vec<PlannedStep>,
    /// The number of steps that are not shown.
    pub more: usize,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStep {
    /// The step.
    #[serde(flatten)]
    pub step: StepNote,
    /// Whether the step is done: it is missing from later plans.
    pub done: bool,
}

/// A Node and its cloud server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRow {
    /// The name of the Node.
    pub name: String,
    /// Whether the Node is ready; `None` if it never reported that.
    pub ready: Option<bool>,
    /// The provider ID of the Node.
    pub provider_id: Option<String>,
    /// The type and value of each address.
    pub addresses: Vec<(String, String)>,
    /// Descriptions of the taints that wait for the cloud.
    pub waits: Vec<String>,
    /// All other taints.
    pub taints: Vec<String>,
    /// The zone and instance type, from the labels.
    pub place: Option<String>,
    /// Whether the Node is being deleted.
    pub leaving: bool,
}

/// A cloud service and the calls to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CloudRow {
    /// The name of the cloud service.
    pub service: String,
    /// The number of calls in the last minute.
    pub last_minute: u32,
    /// The number of these calls that failed.
    pub failed_last_minute: u32,
    /// The number of calls and failures in each five seconds, oldest first.
    pub lately: Vec<(u32, u32)>,
    /// The rate limit in calls per second; `None` means no limit.
    pub per_second: Option<f64>,
    /// The rate limit's burst.
    pub burst: u32,
    /// How many calls could be made at once now; `None` means no limit.
    pub left: Option<u32>,
    /// For how many more seconds calls are paused because the cloud asked for it.
    pub paused_seconds: Option<u64>,
    /// When the cloud service last responded successfully.
    pub answered_at: Option<Timestamp>,
    /// Whether the last calls all failed.
    pub silent: bool,
}

/// A call to the cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRow {
    /// When the call ended.
    pub at: Timestamp,
    /// The name of the cloud service.
    pub service: &'static str,
    /// `GET`, `POST`, …
    pub method: String,
    /// The path with placeholders instead of IDs.
    pub path: String,
    /// The HTTP status; `None` without a response.
    pub status: Option<u16>,
    /// The duration in milliseconds.
    pub millis: u64,
    /// The request ID that the cloud returned.
    pub request_id: Option<String>,
    /// Whether the call failed. A response that an object does not exist is no failure.
    pub failed: bool,
}

/// A safety rail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RailRow {
    /// The number of the rail in the documentation.
    pub id: &'static str,
    /// The name of the rail.
    pub name: &'static str,
    /// What the rail protects against.
    pub guards: String,
    /// Whether the rail holds something back now.
    pub holds: bool,
    /// The current state of the rail.
    pub says: String,
    /// The name of the rail in metrics.
    pub rail: &'static str,
    /// The number of Nodes that the rail keeps from being deleted now; `None` for rails about something else.
    pub nodes_held: Option<u64>,
    /// The number of plans for Services that the rail held back since the start; `None` for rails about something else.
    pub plans_held: Option<u64>,
}

/// A part of the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRow {
    /// The name of the check.
    pub name: String,
    /// The state of the part.
    pub state: CheckState,
    /// Why the part does not work.
    pub why: Option<String>,
}

/// The state of a part of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    /// The part works.
    Works,
    /// The part is not needed here.
    Off,
    /// The part needs attention.
    Look,
}

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When it happened.
    pub at: Timestamp,
    /// `event`, `plan`, `rail` or `leader`.
    pub kind: &'static str,
    /// How important it is to users.
    pub tone: Tone,
    /// The object that it concerns.
    pub about: String,
    /// What happened.
    pub text: String,
}

/// How important a timeline entry is to users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Tone {
    /// Something succeeded.
    Good,
    /// Normal activity.
    Fine,
    /// Needs attention.
    Warning,
}
