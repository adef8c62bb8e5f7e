//! A lost identity is loud, and its end is told too.

use parking_lot::Mutex;

use bowline_cloud::{Capability, CloudError, Doubt, ErrorClass, Evidence, Fence, Unfenced};
use bowline_controllers::identity::WatchedCloud;
use bowline_kube::clock::Clock;
use bowline_kube::events::EventMetrics;
use bowline_kube::lease::lease_reference;
use bowline_testkit::memory_cluster::MemoryCluster;
use bowline_testkit::provider::{FakeCloud, FakeInstances};
use prometheus_client::encoding::text::encode;
use tokio::time::sleep;

use super::*;
use crate::serving::health::{Endpoint, HealthQuery};

/// The project of the credentials; `None` if the cloud refuses them.
#[derive(Clone)]
struct Project(Arc<Mutex<Option<&'static str>>>);

impl Project {
    fn called(id: &'static str) -> Self {
        Self(Arc::new(Mutex::new(Some(id))))
    }

    fn says(&self, who: Option<&'static str>) {
        *self.0.lock() = who;
    }

    /// A cloud that returns this identity after `takes`.
    fn cloud(&self, takes: Duration) -> FakeCloud {
        let project = self.clone();
        FakeCloud::default().identified_by(move || {
            let project = project.clone();
            async move {
                sleep(takes).await;
                let id = project.0.lock().map(str::to_owned);
                let unknown = || CloudError::new(ErrorClass::Unauthenticated, "401: wrong password");
                id.map(Some).ok_or_else(unknown)
            }
        })
    }

    /// The same, where the endpoint of the machines refuses the credentials always.
    fn cloud_with_refusing_endpoint(&self) -> FakeCloud {
        let refusal = || Doubt { class: ErrorClass::Unauthenticated, ..Doubt::new("401: who are you?") };
        let machines = FakeInstances::answering(move |_, _| Evidence::Unknown(refusal()));
        self.cloud(Duration::from_secs(1)).with_instances(Arc::new(machines))
    }
}

fn recorder(cluster: &MemoryCluster) -> EventRecorder {
    EventRecorder::new(cluster.client(), "ccm", "", Clock::system(), EventMetrics::default())
}

#[tokio::test(start_paused = true)]
async fn a_lost_identity_is_seen_everywhere_freezes_writes_and_is_found_again_by_itself() {
    let (project, identity) = (Project::called("a"), CloudIdentity::default());
    let (health, mut registry) = (HealthRegistry::new(), Registry::default());
    let cluster = MemoryCluster::default();
    let keeper = IdentityKeeper {
        cloud: Arc::new(project.cloud(Duration::ZERO)),
        identity: identity.clone(),
        metrics: IdentityMetrics::register(&mut registry),
        events: recorder(&cluster),
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
    assert_eq!(cluster.reasons()[..2], ["CloudIdentityLost", "CloudIdentityFound"]);
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
        let (project, identity) = (Project::called("a"), CloudIdentity::default());
        let cloud =
            Arc::new(WatchedCloud::new(Arc::new(project.cloud_with_refusing_endpoint()), identity.clone()));
        let metrics = IdentityMetrics::default();
        let keeper = IdentityKeeper {
            cloud: cloud.clone(),
            identity: identity.clone(),
            metrics: metrics.clone(),
            events: recorder(&MemoryCluster::default()),
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
