//! The adapter driven as the service controller drives it: observe, plan, execute, observe again.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::executor::block_on;

use super::*;
use crate::{AnyLoadBalancers, AnyStep, Doubt, Fenced, Ingress, NodeSet, Proof, Unfenced};

/// A cloud with at most one load balancer that records every call that changes something.
#[derive(Debug, Default)]
struct OneBalancer {
    exists: AtomicBool,
    unreachable: AtomicBool,
    elsewhere: bool,
    calls: Mutex<Vec<&'static str>>,
}

impl OneBalancer {
    fn log(&self, call: &'static str) {
        self.calls.lock().push(call);
    }
}

fn status() -> LoadBalancerStatus {
    LoadBalancerStatus { ingress: vec![Ingress { hostname: Some("lb".into()), ..Ingress::default() }] }
}

#[async_trait]
impl EnsureLoadBalancer for Arc<OneBalancer> {
    async fn get(&self, _: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus> {
        if self.unreachable.load(Ordering::Relaxed) {
            return Evidence::Unknown(Doubt::new("time-out"));
        }
        match self.exists.load(Ordering::Relaxed) {
            true => Evidence::Present(status()),
            false => Evidence::Absent(Proof::new("the list is complete and holds none")),
        }
    }
    async fn ensure(&self, _: &LoadBalancerRequest, _: &dyn Fence) -> Result<EnsureOutcome, CloudError> {
        self.log("ensure");
        if self.elsewhere {
            return Ok(EnsureOutcome::Elsewhere);
        }
        self.exists.store(true, Ordering::Relaxed);
        Ok(EnsureOutcome::Ready(status()))
    }
    async fn update(&self, _: &LoadBalancerRequest, _: &dyn Fence) -> Result<(), CloudError> {
        self.log("update");
        Ok(())
    }
    async fn delete(&self, _: &LoadBalancerRequest, _: &dyn Fence) -> Result<(), CloudError> {
        self.log("delete");
        self.exists.store(false, Ordering::Relaxed);
        Ok(())
    }
}

fn request(purpose: Purpose) -> LoadBalancerRequest {
    let service = ServiceView { uid: "1234".into(), name: "web".into(), ..ServiceView::default() };
    LoadBalancerRequest {
        cluster: "c".into(),
        service: service.into(),
        nodes: NodeSet::default(),
        purpose,
        fingerprints: Vec::new(),
        urgency: crate::Urgency::User,
        services: crate::ServiceDirectory::default(),
    }
}

/// Reconciles one Service until nothing is left to do, like a controller, and returns the final plan.
fn drive(lbs: &dyn AnyLoadBalancers, wanted: &LoadBalancerRequest) -> Plan<AnyStep, LoadBalancerStatus> {
    for _round in 0..5 {
        let observed = block_on(lbs.observe(std::slice::from_ref(wanted))).remove(0).unwrap();
        match observed.plan(Timestamp::UNIX_EPOCH) {
            Plan::Act(steps) => {
                for planned in steps {
                    block_on(lbs.execute(&planned.step, &Unfenced)).unwrap();
                }
            }
            settled => return settled,
        }
    }
    panic!("the plan never settles");
}

fn settled(plan: &Plan<AnyStep, LoadBalancerStatus>) -> &LoadBalancerStatus {
    match plan {
        Plan::Settled(status) => status,
        other => panic!("expected a settled plan, got {other:?}"),
    }
}

#[test]
fn a_service_lives_through_create_update_and_delete_with_one_call_each() {
    let cloud = Arc::new(OneBalancer::default());
    let lbs = Ensured::new(cloud.clone());
    assert_eq!(settled(&drive(&lbs, &request(Purpose::Ensure))), &status());
    drive(&lbs, &request(Purpose::Ensure));
    let mut told = request(Purpose::Ensure);
    let said = crate::ServiceCondition {
        status: crate::ConditionStatus::True,
        reason: "Ensured".into(),
        message: "ready".into(),
    };
    told.service = ServiceView { condition: Some(said.into()), ..(*told.service).clone() }.into();
    drive(&lbs, &told);
    assert_eq!(*cloud.calls.lock(), ["ensure"], "a second look, and what we said of it, change nothing");

    let mut more_nodes = request(Purpose::Ensure);
    more_nodes.nodes.epoch = 7;
    drive(&lbs, &more_nodes);
    let mut edited = more_nodes.clone();
    edited.service = ServiceView { load_balancer_ip: Some("x".into()), ..(*edited.service).clone() }.into();
    drive(&lbs, &edited);
    drive(&lbs, &request(Purpose::Remove));
    assert_eq!(*cloud.calls.lock(), ["ensure", "update", "ensure", "delete"]);
    assert!(lbs.calls().is_empty(), "nothing is remembered of what is gone");
}

#[test]
fn a_restarted_process_converges_what_it_finds() {
    let cloud = Arc::new(OneBalancer { exists: true.into(), ..OneBalancer::default() });
    drive(&Ensured::new(cloud.clone()), &request(Purpose::Ensure));
    assert_eq!(*cloud.calls.lock(), ["ensure"]);
}

#[test]
fn what_vanished_from_the_cloud_is_made_again() {
    let cloud = Arc::new(OneBalancer::default());
    let lbs = Ensured::new(cloud.clone());
    drive(&lbs, &request(Purpose::Ensure));
    cloud.exists.store(false, Ordering::Relaxed);
    drive(&lbs, &request(Purpose::Ensure));
    assert_eq!(*cloud.calls.lock(), ["ensure", "ensure"]);
}

#[test]
fn remains_are_cleaned_up_even_when_the_load_balancer_itself_is_not_found() {
    let cloud = Arc::new(OneBalancer::default());
    let plan = drive(&Ensured::new(cloud.clone()), &request(Purpose::Remove));
    assert_eq!(settled(&plan), &LoadBalancerStatus::default());
    assert_eq!(*cloud.calls.lock(), ["delete"]);
}

#[test]
fn a_load_balancer_made_elsewhere_is_handed_over_once() {
    let cloud = Arc::new(OneBalancer { elsewhere: true, ..OneBalancer::default() });
    let lbs = Ensured::new(cloud.clone());
    assert!(matches!(drive(&lbs, &request(Purpose::Ensure)), Plan::Elsewhere));
    assert!(matches!(drive(&lbs, &request(Purpose::Ensure)), Plan::Elsewhere));
    assert_eq!(*cloud.calls.lock(), ["ensure"]);
}

#[test]
fn what_is_unknown_is_not_planned_for() {
    let cloud = Arc::new(OneBalancer { unreachable: true.into(), ..OneBalancer::default() });
    let lbs = Ensured::new(cloud);
    let observed = block_on(AnyLoadBalancers::observe(&lbs, &[request(Purpose::Remove)])).remove(0);
    assert!(observed.is_err());
}

#[test]
fn a_closed_fence_stops_the_call() {
    #[derive(Debug)]
    struct Closed;
    impl Fence for Closed {
        fn check(&self) -> Result<(), Fenced> {
            Err(Fenced { why: "the lease ran out".into() })
        }
    }
    let cloud = Arc::new(OneBalancer::default());
    let lbs = Ensured::new(cloud.clone());
    let observed = block_on(AnyLoadBalancers::observe(&lbs, &[request(Purpose::Ensure)])).remove(0).unwrap();
    assert!(!observed.is_there());
    let Plan::Act(steps) = observed.plan(Timestamp::UNIX_EPOCH) else {
        panic!("a missing load balancer is created");
    };
    assert_eq!(steps[0].step.facts().verb, Verb::Create);
    let refused = block_on(AnyLoadBalancers::execute(&lbs, &steps[0].step, &Closed)).unwrap_err();
    assert_eq!(refused.class(), crate::ErrorClass::Fenced);
    assert_eq!(refused.to_string(), "not writing: the lease ran out");
    assert!(cloud.calls.lock().is_empty());
}

#[test]
fn a_plan_that_takes_all_nodes_away_says_so_to_the_rails() {
    let lbs = Ensured::new(Arc::new(OneBalancer::default()));
    let mut wanted = request(Purpose::Ensure);
    let node =
        |name: &str| (name.into(), Arc::new(crate::NodeView { name: name.into(), ..Default::default() }));
    wanted.nodes = NodeSet { epoch: 1, nodes: Arc::new([node("a"), node("b")].into()), ..NodeSet::default() };
    drive(&lbs, &wanted);
    wanted.nodes = NodeSet { epoch: 2, nodes: Arc::default(), ..NodeSet::default() };
    let observed =
        block_on(AnyLoadBalancers::observe(&lbs, std::slice::from_ref(&wanted))).remove(0).unwrap();
    let Plan::Act(steps) = observed.plan(Timestamp::UNIX_EPOCH) else {
        panic!("the nodes changed");
    };
    assert_eq!(steps[0].step.facts().set, Some(SetChange { before: 2, removed: 2 }));
}
