//! The credentials stand for another project all at once, and nobody asked yet: what that project does not have is no
//! reason to let go of a Service or to make anything there.

use ipnet::IpNet;

use super::*;
use crate::route::{RouteController, RouteOptions};
use crate::service::{ServiceController, ServiceOptions};

/// How often the process asks by itself. All that matters here is within the first of these.
const ASK_EVERY: Duration = Duration::from_secs(60);

fn service(edit: impl FnOnce(&mut Value)) -> Value {
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u",
                     "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]},
        "spec": {"type": "LoadBalancer", "ports": [{"protocol": "TCP", "port": 80, "nodePort": 30080}]},
        "status": {"loadBalancer": {}}
    });
    edit(&mut service);
    service
}

/// A world that was project `a`'s a moment ago.
async fn changed(services: Vec<Value>) -> World {
    let world = World::new(Project::called("a"));
    services.into_iter().for_each(|service| world.server.put(service));
    world.identity.ask(world.cloud.as_ref()).await;
    world.project.is("b");
    world
}

impl World {
    /// Runs as another project for most of a minute, and then as the first one again.
    async fn run_changed(&self, controller: &dyn Controller, after_the_change: impl FnOnce()) {
        let meanwhile = async {
            sleep(ASK_EVERY - Duration::from_secs(1)).await;
            let (known, found) = ("a".to_owned(), "b".to_owned());
            assert_eq!(*self.identity.watch().borrow(), Some(Loss::Changed { known, found }));
            after_the_change();
            self.project.is("a");
            sleep(Duration::from_secs(600)).await;
            assert_eq!(*self.identity.watch().borrow(), None);
        };
        self.run_controller(controller, ASK_EVERY, meanwhile).await;
    }

    fn balanced(&self) -> Vec<String> {
        self.project.balanced.lock().iter().cloned().collect()
    }

    fn routed(&self) -> Vec<String> {
        self.project.routed.lock().iter().cloned().collect()
    }

    /// What was changed of Services, besides what their conditions tell people.
    fn changed_of_services(&self) -> Vec<String> {
        let writes = self.server.writes();
        let of_services = writes.iter().filter(|(what, _)| what.contains("/namespaces/shop/services/"));
        let mut changed: Vec<String> = of_services.flat_map(|(_, body)| leaves("", body)).collect();
        changed.retain(|path| !path.starts_with("/status/conditions") && path != "/metadata/uid");
        changed.sort();
        changed.dedup();
        changed
    }

    /// What the last condition says that was written.
    fn told(&self) -> Option<String> {
        let writes = self.server.writes();
        let mut conditions =
            writes.iter().filter_map(|(_, body)| body.pointer("/status/conditions/0/message"));
        conditions.next_back().and_then(Value::as_str).map(str::to_owned)
    }
}

/// Where a body has values.
fn leaves(path: &str, body: &Value) -> Vec<String> {
    match body {
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, value)| leaves(&format!("{path}/{name}"), value)).collect()
        }
        _ => vec![path.to_owned()],
    }
}

fn service_controller() -> ServiceController {
    ServiceController::new(common_names().remove(2), ServiceOptions::default())
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_being_deleted_keeps_its_finalizer_until_its_load_balancer_is_gone() {
    let deleted = |service: &mut Value| {
        service["metadata"]["deletionTimestamp"] = json!("2026-11-02T08:00:00Z");
    };
    let world = changed(vec![service(deleted)]).await;
    let meanwhile = || {
        assert_eq!(world.changed_of_services(), Vec::<String>::new());
        assert!(world.told().is_some_and(|told| told.contains('b')), "people hear why: {:?}", world.told());
        assert_eq!(world.balanced(), ["a"]);
    };
    world.run_changed(&service_controller(), meanwhile).await;
    assert_eq!(world.balanced(), Vec::<String>::new(), "the load balancer went");
    let changed = world.changed_of_services();
    assert!(changed.iter().any(|path| path.ends_with("/finalizers")), "and then the finalizer: {changed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_gets_no_second_load_balancer_in_the_other_project() {
    let world = changed(vec![service(|_| {})]).await;
    world.run_changed(&service_controller(), || assert_eq!(world.balanced(), ["a"])).await;
    assert_eq!(world.balanced(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn routes_are_not_made_in_the_other_project() {
    let world = changed(Vec::new()).await;
    let pods: IpNet = "10.0.0.0/8".parse().unwrap();
    let options = RouteOptions { cluster_cidrs: vec![pods], ..RouteOptions::default() };
    let controller = RouteController::new(common_names().remove(3), options);
    world.run_changed(&controller, || assert_eq!(world.routed(), Vec::<String>::new())).await;
    assert_eq!(world.routed(), ["a"]);
}
