//! Calls that never come back. The controllers' own tests show what they make of it.

use std::future::{pending, ready};

use bowline_cloud::{ErrorClass, LoadBalancerStatus, Plan, Purpose, ServiceView, Unfenced};
use bowline_testkit::provider::{FakeCloud, FakeInstances, Lookup};
use k8s_openapi::jiff::Timestamp;

use super::*;

/// A controller that never comes back.
struct Mute;

#[async_trait]
impl ExtraController for Mute {
    fn name(&self) -> &str {
        "mute-controller"
    }
    fn watches(&self) -> Watches {
        Watches::Nodes
    }
    async fn reconcile(&self, _: &Watched, _: &dyn Fence) -> Result<Answer, CloudError> {
        pending().await
    }
}

/// A cloud none of whose calls comes back, but for the one that says who we are.
fn punctual() -> Punctual<dyn Cloud> {
    let machines = FakeInstances::default();
    machines.take(Lookup::Observe, Duration::MAX);
    machines.take(Lookup::Confirm, Duration::MAX);
    let cloud = FakeCloud::default()
        .initialized_by(pending)
        .identified_by(|| ready(Ok(Some("project-1".to_owned()))))
        .with_instances(Arc::new(machines))
        .with_extra_controller(Arc::new(Mute));
    cloud.set_load_balancers(Capability::Unavailable("no Octavia".into()));
    Punctual::new(Arc::new(cloud), CallDeadlines::default())
}

#[tokio::test(start_paused = true)]
async fn every_node_of_a_look_that_never_ends_is_in_doubt_and_none_is_absent() {
    let Capability::Supported(instances) = punctual().instances() else { panic!("it has instances") };
    let nodes = [Arc::new(NodeView::default()), Arc::new(NodeView::default())];
    let answers = instances.observe(&nodes).await;
    assert_eq!(answers.len(), 2);
    for answer in answers.into_iter().chain([instances.confirm(&nodes[0]).await]) {
        let doubt = answer.known().unwrap_err();
        assert_eq!(doubt.class, ErrorClass::Transient, "not one that leads to a deletion");
        assert!(doubt.why.contains("did not answer within 5 min"), "{doubt}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_never_gets_ready_and_a_controller_of_its_own_that_never_ends_fail_in_time() {
    let context = CloudContext::new("kubernetes");
    let late = punctual().initialize(&context).await.unwrap_err();
    assert_eq!(late.class(), ErrorClass::Transient);
    let extra = punctual().extra_controllers().remove(0);
    assert_eq!(extra.name(), "mute-controller");
    let object = Watched::Node(Arc::default());
    let late = extra.reconcile(&object, &Unfenced).await.unwrap_err();
    assert!(late.to_string().contains("did not answer within 15 min; it may have taken effect"), "{late}");
}

#[test]
fn what_a_cloud_does_not_have_it_does_not_have_in_time_either() {
    assert!(matches!(punctual().load_balancers(), Capability::Unavailable(why) if why == "no Octavia"));
    assert!(matches!(punctual().routes(), Capability::Unsupported));
}

#[tokio::test]
async fn who_we_are_to_the_cloud_is_not_lost_on_the_way() {
    assert_eq!(punctual().identity().await.unwrap().as_deref(), Some("project-1"));
}

#[test]
fn times_are_said_as_people_say_them() {
    let said = [30, 60, 90, 300].map(|seconds| words(Duration::from_secs(seconds)));
    assert_eq!(said, ["30s", "1 min", "90s", "5 min"]);
}

#[tokio::test(start_paused = true)]
async fn answers_that_come_in_time_pass_unchanged() {
    let cloud: Arc<dyn AnyLoadBalancers> = Arc::new(bowline_cloud::Ensured::new(Quick));
    let quick = Punctual::new(cloud, CallDeadlines::default());
    let request = LoadBalancerRequest {
        fingerprints: Vec::new(),
        urgency: bowline_cloud::Urgency::User,
        services: bowline_cloud::ServiceDirectory::default(),
        cluster: "c".into(),
        service: Arc::new(ServiceView::default()),
        nodes: Default::default(),
        purpose: Purpose::Ensure,
    };
    let observed = quick.observe(std::slice::from_ref(&request)).await.remove(0).unwrap();
    let Plan::Act(steps) = observed.plan(Timestamp::UNIX_EPOCH) else { panic!("it is not there yet") };
    quick.execute(&steps[0].step, &Unfenced).await.unwrap();
}

/// A cloud that is done at once.
struct Quick;

#[async_trait]
impl bowline_cloud::EnsureLoadBalancer for Quick {
    async fn get(&self, _: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus> {
        Evidence::Absent(bowline_cloud::Proof::new("nothing is there"))
    }
    async fn ensure(
        &self,
        _: &LoadBalancerRequest,
        _: &dyn Fence,
    ) -> Result<bowline_cloud::EnsureOutcome, CloudError> {
        Ok(bowline_cloud::EnsureOutcome::Ready(LoadBalancerStatus::default()))
    }
    async fn update(&self, _: &LoadBalancerRequest, _: &dyn Fence) -> Result<(), CloudError> {
        Ok(())
    }
    async fn delete(&self, _: &LoadBalancerRequest, _: &dyn Fence) -> Result<(), CloudError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_at_many_nodes_has_the_time_that_many_nodes_need() {
    let machines = FakeInstances::answering(|_, _| Evidence::Present(Instance::default()));
    let nodes: Vec<Arc<NodeView>> = (0..5000).map(|_| Arc::default()).collect();
    // As a cloud that is asked for one instance after the other, ten in a second.
    machines.take(Lookup::Observe, Duration::from_millis(100) * 5000);
    let instances: Arc<dyn Instances> = Arc::new(machines);
    let punctual = Punctual::new(instances, CallDeadlines::default());
    let answers = punctual.observe(&nodes).await;
    assert!(answers.iter().all(|answer| matches!(answer, Evidence::Present(_))));
}
