//! The route controller over a cluster and a cloud in memory. For the tests of the loop.

use std::sync::Arc;

use bowline_cloud::{Cloud, Route};
use bowline_testkit::memory_cluster::MemoryCluster;
use bowline_testkit::provider::{FakeCloud, FakeRoutes};
use serde_json::{Value, json};

use super::{RouteController, RouteOptions};
use crate::controller::Stopped;
use crate::harness::Harness;
use crate::metrics::RouteSyncLabels;
use crate::registry::ControllerName;

/// What a controller runs on.
pub(super) struct Bench {
    pub(super) harness: Harness,
    pub(super) options: RouteOptions,
}

impl Bench {
    pub(super) fn new(nodes: Vec<Value>) -> Self {
        Self {
            harness: Harness::new(&MemoryCluster::with(nodes), Arc::new(FakeCloud::default())),
            options: RouteOptions {
                cluster_cidrs: vec!["10.120.0.0/16".parse().unwrap()],
                ..RouteOptions::default()
            },
        }
    }

    /// Runs the controller over `routes` while `meanwhile` does something, and stops it then.
    pub(super) async fn run(&self, routes: &Arc<FakeRoutes>, meanwhile: impl Future<Output = ()>) {
        self.run_on(FakeCloud::default().with_routes(routes.clone()), meanwhile).await.unwrap();
    }

    pub(super) async fn run_on(
        &self,
        cloud: impl Cloud + 'static,
        meanwhile: impl Future<Output = ()>,
    ) -> Result<(), Stopped> {
        let name =
            ControllerName::new("node-route-controller", "route", "route-controller", "route_controller");
        let controller = RouteController::new(name, self.options.clone());
        self.harness.run_on(Arc::new(cloud), &controller, meanwhile).await
    }

    pub(super) fn syncs(&self, outcome: &'static str, trigger: &'static str) -> u64 {
        self.harness.metrics.route_syncs.get_or_create(&RouteSyncLabels { outcome, trigger }).get()
    }

    /// The conditions written: Node path and reason.
    pub(super) fn conditions(&self) -> Vec<String> {
        let condition = |(path, body): (String, Value)| {
            let (name, condition) =
                (path.trim_start_matches("/api/v1/nodes/"), &body["status"]["conditions"][0]);
            assert_eq!(condition["type"], "NetworkUnavailable");
            format!("{name} {} {}", condition["status"], condition["reason"]).replace('"', "")
        };
        self.harness.server.patches("nodes").into_iter().map(condition).collect()
    }

    /// The events posted: reason and message.
    pub(super) fn events(&self) -> Vec<(String, String)> {
        let field = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
        let events = self.harness.server.events();
        events.iter().map(|event| (field(event, "reason"), field(event, "message"))).collect()
    }
}

/// A Node with the pod range `10.120.<i>.0/24`, called `n<i>`, whose condition is (status, reason).
pub(super) fn node(i: u8, condition: Option<(&str, &str)>) -> Value {
    let conditions: Vec<_> = condition
        .map(|(status, reason)| json!({"type": "NetworkUnavailable", "status": status, "reason": reason}))
        .into_iter()
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("n{i}"), "uid": format!("u{i}")},
        "spec": {"podCIDRs": [format!("10.120.{i}.0/24")]},
        "status": {"conditions": conditions, "addresses": [{"type": "InternalIP", "address": format!("192.0.2.{i}")}]},
    })
}

/// A Node whose routes are there and known to be.
pub(super) fn served(i: u8) -> Value {
    node(i, Some(("False", "RouteCreated")))
}

/// The route `r<i>` to that Node.
pub(super) fn route(i: u8) -> Route {
    let destination = format!("10.120.{i}.0/24").parse().unwrap();
    Route::new(format!("r{i}"), Some(format!("n{i}")), destination)
}
