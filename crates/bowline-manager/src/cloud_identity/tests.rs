//! A lost identity is loud, and its end is told too.

use std::convert::Infallible;
use std::sync::Mutex;

use bowline_cloud::{
    Capability, Claim, CloudError, Doubt, ErrorClass, Evidence, Fence, Instance, Instances, NodeView,
    Unfenced, async_trait,
};
use bowline_controllers::identity::WatchedCloud;
use bowline_kube::clock::Clock;
use bowline_kube::events::EventMetrics;
use bowline_kube::lease::lease_reference;
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use prometheus_client::encoding::text::encode;
use serde_json::Value;
use tokio::time::sleep;

use super::*;
use crate::serving::health::{Endpoint, HealthQuery};

/// A cloud that says who we are, or that it does not know us.
struct Project(Mutex<Option<&'static str>>);

impl Project {
    fn says(&self, who: Option<&'static str>) {
        *self.0.lock().unwrap() = who;
    }
}

#[async_trait]
impl Cloud for Project {
    fn name(&self) -> &str {
        "project"
    }

    async fn identity(&self) -> Result<Option<String>, CloudError> {
        match *self.0.lock().unwrap() {
            Some(id) => Ok(Some(id.to_owned())),
            None => Err(CloudError::new(ErrorClass::Unauthenticated, "401: wrong password")),
        }
    }
}

/// A cloud that takes a second to say who we are, and whose machines are behind an endpoint that does not believe it.
struct HalfDeaf(Arc<Project>);

#[async_trait]
impl Cloud for HalfDeaf {
    fn name(&self) -> &str {
        "half-deaf"
    }

    async fn identity(&self) -> Result<Option<String>, CloudError> {
        sleep(Duration::from_secs(1)).await;
        self.0.identity().await
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        Capability::Supported(Arc::new(Deaf))
    }
}

struct Deaf;

#[async_trait]
impl Instances for Deaf {
    fn claims(&self, _node: &NodeView) -> Claim {
        Claim::Ours
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        let refusal = || Doubt { class: ErrorClass::Unauthenticated, ..Doubt::new("401: who are you?") };
        nodes.iter().map(|_node| Evidence::Unknown(refusal())).collect()
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        self.observe(&[Arc::new(node.clone())]).await.remove(0)
    }
}

fn recorder(written: &Arc<Mutex<Vec<Value>>>) -> EventRecorder {
    let written = written.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let written = written.clone();
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            written.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
            Ok::<_, Infallible>(Response::new(Body::from(body)))
        }
    });
    let client = kube::Client::new(service, "default");
    EventRecorder::new(client, "ccm", "", Clock::system(), EventMetrics::default())
}

#[tokio::test(start_paused = true)]
async fn a_lost_identity_is_seen_everywhere_freezes_writes_and_is_found_again_by_itself() {
    let (project, identity) = (Arc::new(Project(Mutex::new(Some("a")))), CloudIdentity::default());
    let (health, mut registry) = (HealthRegistry::new(), Registry::default());
    let events: Arc<Mutex<Vec<Value>>> = Arc::default();
    let keeper = IdentityKeeper {
        cloud: project.clone(),
        identity: identity.clone(),
        metrics: IdentityMetrics::register(&mut registry),
        events: recorder(&events),
        about: lease_reference("kube-system", "ccm", None),
    };
    let _running = keeper.start(&health);
    let fence = identity.fence(Arc::new(Unfenced));
    let readyz = || {
        let query = HealthQuery { verbose: true, reasons: true, ..HealthQuery::default() };
        let answer = health.respond(Endpoint::Readyz, &query);
        assert!(answer.ok, "a restart would not help: {}", answer.body);
        answer.body
    };
    let lost = || {
        let mut page = String::new();
        encode(&mut page, &registry).unwrap();
        page.lines().any(|line| line == "bowline_cloud_identity_lost 1")
    };
    sleep(Duration::from_secs(1)).await;
    assert!(readyz().contains("[+]cloud-identity ok") && fence.check().is_ok() && !lost());

    for (who, words) in [(None, "401: wrong password"), (Some("b"), "\"b\"")] {
        project.says(who);
        sleep(ASK_EVERY).await;
        assert!(readyz().contains(words), "{words}: {}", readyz());
        assert!(fence.check().unwrap_err().why.contains(words));
        assert!(lost());
        project.says(Some("a"));
        sleep(ASK_WHILE_LOST + APART).await;
        assert!(readyz().contains("[+]cloud-identity ok") && fence.check().is_ok() && !lost(), "{words}");
    }
    let reasons: Vec<_> = events.lock().unwrap().iter().map(|event| event["reason"].clone()).collect();
    assert_eq!(reasons[..2], ["CloudIdentityLost", "CloudIdentityFound"]);
}

/// How many of the next `seconds` the fence is closed in.
async fn closed(fence: &dyn Fence, seconds: u64) -> usize {
    let mut closed = 0;
    for _second in 0..seconds {
        sleep(Duration::from_secs(1)).await;
        closed += usize::from(fence.check().is_err());
    }
    closed
}

#[tokio::test(start_paused = true)]
async fn one_endpoint_that_refuses_us_although_the_cloud_knows_us_freezes_the_others_for_a_moment_only() {
    for every in [Duration::from_millis(300), Duration::from_secs(600)] {
        let (project, identity) = (Arc::new(Project(Mutex::new(Some("a")))), CloudIdentity::default());
        let cloud = Arc::new(WatchedCloud::new(Arc::new(HalfDeaf(project.clone())), identity.clone()));
        let metrics = IdentityMetrics::default();
        let keeper = IdentityKeeper {
            cloud: cloud.clone(),
            identity: identity.clone(),
            metrics: metrics.clone(),
            events: recorder(&Arc::default()),
            about: lease_reference("kube-system", "ccm", None),
        };
        let _running = keeper.start(&HealthRegistry::new());
        let fence = identity.fence(Arc::new(Unfenced));
        sleep(Duration::from_secs(5)).await;
        let Capability::Supported(instances) = cloud.instances() else { panic!("no machines") };
        let refusals = async {
            loop {
                instances.observe(&[Arc::default()]).await;
                sleep(every).await;
            }
        };
        let watch = async {
            let moments = closed(fence.as_ref(), 2 * 3600).await;
            assert!((1..=5).contains(&moments), "every {every:?}: closed for {moments} s of two hours");
            assert_eq!(metrics.losses.get(), 1, "told once, every {every:?}");
            project.says(None);
            sleep(ASK_EVERY + Duration::from_secs(5)).await;
            assert!(fence.check().is_err(), "who is really lost is found out with the next question");
            project.says(Some("a"));
            sleep(ASK_WHILE_LOST * 2).await;
            assert!(fence.check().is_ok(), "every {every:?}");
        };
        tokio::select! { () = refusals => {}, () = watch => {} }
    }
}
