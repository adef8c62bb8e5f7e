//! What the service controller writes, on the real kube-apiserver: does the server do with it what we think?

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bowline_cloud::{
    ConditionStatus, Ingress, LoadBalancerStatus, Notes, ServiceCondition, ServiceView, Unfenced,
};
use bowline_controllers::service::desire::{FINALIZER, has_finalizer};
use bowline_controllers::service::patch;
use bowline_controllers::view::{SERVICE_CONDITION, SlimService, service_view};
use bowline_kube::write::{Change, Guard, WriteError, Writer, Written};
use bowline_testkit::apiserver::{Cluster, Identity};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

struct Fixture {
    api: Api<Service>,
    writer: Writer,
    name: &'static str,
}

impl Fixture {
    async fn create(name: &'static str, finalizers: &[&str]) -> anyhow::Result<Self> {
        let cluster = Cluster::shared().await?;
        let client: Client = cluster.client(&Identity::Admin).await?;
        let namespace = cluster.namespace("service-patches").await?;
        let api = Api::namespaced(client.clone(), &namespace);
        let service: Service = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "finalizers": finalizers},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}
        }))?;
        api.create(&PostParams::default(), &service).await?;
        let writer = Writer::new(client, Arc::new(Unfenced), Duration::from_secs(10));
        Ok(Self { api, writer, name })
    }

    async fn view(&self) -> anyhow::Result<Option<ServiceView>> {
        let service = self.api.get_opt(self.name).await?;
        let slim = |service| -> anyhow::Result<SlimService> {
            Ok(serde_json::from_value(serde_json::to_value(service)?)?)
        };
        Ok(service.map(slim).transpose()?.map(service_view))
    }

    async fn seen(&self) -> anyhow::Result<ServiceView> {
        self.view().await?.context("the Service is gone")
    }

    async fn conditions(&self) -> anyhow::Result<Vec<Condition>> {
        let service = self.api.get(self.name).await?;
        Ok(service.status.and_then(|status| status.conditions).unwrap_or_default())
    }

    /// Somebody else says something of the Service.
    async fn foreign_condition(&self) -> anyhow::Result<()> {
        let foreign = json!({"status": {"conditions": [{"type": "example.org/Scanned", "status": "True", "reason": "Clean",
            "message": "nothing found", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 3}]}});
        let patch = kube::api::Patch::Strategic(foreign);
        self.api.patch_status(self.name, &Default::default(), &patch).await?;
        Ok(())
    }

    async fn write(&self, seen: &ServiceView, change: Change) -> Result<Written, WriteError> {
        let guard = Guard::Uid(seen.uid.to_string());
        self.writer.patch_status::<Service>(Some(&seen.namespace), &seen.name, &guard, change).await
    }
}

fn none() -> Notes {
    Notes::default()
}

fn at(ip: &str) -> LoadBalancerStatus {
    LoadBalancerStatus { ingress: vec![Ingress { ip: ip.parse().ok(), ..Ingress::default() }] }
}

#[tokio::test]
async fn our_finalizer_comes_and_goes_and_nobody_elses_is_lost() -> anyhow::Result<()> {
    let fixture = Fixture::create("web", &[]).await?;
    let before = fixture.seen().await?;
    let foreign = Change::Merge(json!({"metadata": {"finalizers": ["example.org/foreign"]}}));
    fixture.write(&before, foreign).await?;
    // Written for what was seen before the foreign one came.
    fixture.write(&before, patch::add_finalizer()).await?;
    fixture.write(&before, patch::add_finalizer()).await?;
    let seen = fixture.seen().await?;
    let mut finalizers: Vec<_> = seen.finalizers.iter().collect();
    finalizers.sort_unstable();
    assert_eq!(finalizers, ["example.org/foreign", FINALIZER], "added once, nothing lost");

    // Written for what was seen before the foreign one came, too.
    let outdated = ServiceView { finalizers: [FINALIZER].into(), ..seen.clone() };
    fixture.write(&outdated, patch::release(&outdated, &none())).await?;
    assert_eq!(fixture.seen().await?.finalizers, ["example.org/foreign"].into());
    Ok(())
}

#[tokio::test]
async fn a_status_that_was_written_is_the_one_that_is_read_although_the_server_fills_in_the_mode()
-> anyhow::Result<()> {
    let fixture = Fixture::create("web", &[]).await?;
    let wanted = at("192.0.2.1");
    let before = fixture.seen().await?;
    fixture.write(&before, patch::status(&before, &wanted, None, &none())).await?;
    let seen = fixture.seen().await?;
    assert_eq!(seen.status.ingress.len(), 1);
    assert!(patch::status(&seen, &wanted, None, &none()).is_empty(), "{:?}", seen.status);
    fixture.write(&seen, patch::status(&seen, &LoadBalancerStatus::default(), None, &none())).await?;
    assert!(fixture.seen().await?.status.ingress.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_deleted_service_goes_with_the_one_write_that_releases_it() -> anyhow::Result<()> {
    let fixture = Fixture::create("web", &[]).await?;
    let before = fixture.seen().await?;
    fixture.write(&before, patch::add_finalizer()).await?;
    fixture.write(&before, patch::status(&before, &at("192.0.2.1"), None, &none())).await?;
    fixture.api.delete("web", &DeleteParams::default()).await?;
    let seen = fixture.seen().await?;
    assert!(seen.deleted_at.is_some() && has_finalizer(&seen));
    fixture.write(&seen, patch::release(&seen, &none())).await?;
    assert_eq!(fixture.view().await?, None);
    Ok(())
}

#[tokio::test]
async fn a_change_of_type_is_released_with_its_status_in_one_write() -> anyhow::Result<()> {
    let fixture = Fixture::create("web", &[]).await?;
    let before = fixture.seen().await?;
    fixture.write(&before, patch::add_finalizer()).await?;
    fixture.write(&before, patch::status(&before, &at("192.0.2.1"), None, &none())).await?;
    let with_status = fixture.seen().await?;
    let plain = json!({"spec": {"type": "ClusterIP"}});
    fixture.api.patch("web", &Default::default(), &kube::api::Patch::Merge(plain)).await?;
    // The status as it was before the server cleared it itself.
    let seen = ServiceView { status: with_status.status, ..fixture.seen().await? };
    fixture.write(&seen, patch::release(&seen, &none())).await?;
    let after = fixture.seen().await?;
    assert!(after.finalizers.is_empty() && after.status.ingress.is_empty(), "{after:?}");
    Ok(())
}

#[tokio::test]
async fn a_namesake_is_never_written_to() -> anyhow::Result<()> {
    let fixture = Fixture::create("web", &[]).await?;
    let other = ServiceView { uid: "11111111-2222-3333-4444-555555555555".into(), ..fixture.seen().await? };
    for change in [patch::add_finalizer(), patch::status(&other, &at("192.0.2.1"), None, &none())] {
        let refused = fixture.write(&other, change).await;
        assert!(matches!(refused, Err(WriteError::Replaced { .. })), "{refused:?}");
    }
    assert!(fixture.seen().await?.finalizers.is_empty());
    Ok(())
}

fn said(status: ConditionStatus, message: &str) -> ServiceCondition {
    ServiceCondition { status, reason: "Why".into(), message: message.into() }
}

#[tokio::test]
async fn our_condition_comes_changes_and_goes_beside_somebody_elses() -> anyhow::Result<()> {
    let fixture = Fixture::create("web", &[]).await?;
    let (early, late) = ("2026-11-02T08:00:00Z".parse::<Timestamp>()?, "2026-11-02T09:00:00Z".parse()?);
    let before = fixture.seen().await?;
    let waits = said(ConditionStatus::False, "amphora boots");
    fixture.write(&before, patch::say(Some(&patch::condition(None, &waits, early)), &none())).await?;
    fixture.foreign_condition().await?;

    // Other words: the time stays, and so does what somebody said since we looked.
    let reworded = said(ConditionStatus::False, "listener is built");
    fixture
        .write(&before, patch::say(Some(&patch::condition(Some(&waits), &reworded, late)), &none()))
        .await?;
    let seen = fixture.seen().await?;
    assert_eq!(seen.condition.as_deref(), Some(&reworded));
    let all = fixture.conditions().await?;
    assert_eq!(all.len(), 2, "{all:?}");
    let ours = all.iter().find(|one| one.type_ == SERVICE_CONDITION).context("ours is gone")?;
    assert_eq!(ours.last_transition_time.0, early);

    // Another status, with the addresses, in one write.
    let ready = said(ConditionStatus::True, "ready");
    let entry = patch::condition(seen.condition.as_deref(), &ready, late);
    fixture.write(&seen, patch::status(&seen, &at("192.0.2.1"), Some(entry), &none())).await?;
    let seen = fixture.seen().await?;
    let kept = said(ConditionStatus::True, "");
    assert_eq!((seen.condition.as_deref(), seen.status.ingress.len()), (Some(&kept), 1));
    let all = fixture.conditions().await?;
    let ours = all.iter().find(|one| one.type_ == SERVICE_CONDITION).context("ours is gone")?;
    assert_eq!((ours.last_transition_time.0, ours.message.as_str()), (late, "ready"));

    fixture.write(&seen, patch::unsay()).await?;
    let left = fixture.conditions().await?;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!((left[0].type_.as_str(), left[0].observed_generation), ("example.org/Scanned", Some(3)));
    Ok(())
}

#[tokio::test]
async fn a_change_of_type_takes_our_condition_in_the_one_write_that_releases_it() -> anyhow::Result<()> {
    let fixture = Fixture::create("web", &["example.org/foreign"]).await?;
    let before = fixture.seen().await?;
    fixture.write(&before, patch::add_finalizer()).await?;
    let ready = patch::condition(None, &said(ConditionStatus::True, "ready"), Timestamp::now());
    fixture.write(&before, patch::status(&before, &at("192.0.2.1"), Some(ready), &none())).await?;
    fixture.foreign_condition().await?;
    let plain = json!({"spec": {"type": "ClusterIP"}});
    fixture.api.patch("web", &Default::default(), &kube::api::Patch::Merge(plain)).await?;
    let seen = fixture.seen().await?;
    assert!(seen.condition.is_some(), "the server clears the addresses by itself, but not this");
    fixture.write(&seen, patch::release(&seen, &none())).await?;
    let after = fixture.seen().await?;
    assert_eq!((after.finalizers, after.condition), (["example.org/foreign"].into(), None));
    assert_eq!(fixture.conditions().await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_service_has_no_generation_that_a_condition_could_name() -> anyhow::Result<()> {
    let fixture = Fixture::create("web", &[]).await?;
    let edit = json!({"spec": {"ports": [{"port": 81}]}});
    let edited = fixture.api.patch("web", &Default::default(), &kube::api::Patch::Merge(edit)).await?;
    assert_eq!(edited.metadata.generation, None);
    Ok(())
}

#[tokio::test]
async fn notes_are_written_and_taken_away_through_the_status_together_with_all_else() -> anyhow::Result<()> {
    let fixture = Fixture::create("web", &[]).await?;
    let before = fixture.seen().await?;
    let theirs = json!({"metadata": {"annotations": {"example.org/theirs": "x"}}});
    fixture.api.patch("web", &Default::default(), &kube::api::Patch::Merge(theirs)).await?;
    fixture.write(&before, patch::add_finalizer()).await?;
    let notes = none().with("example.org/id", "85a2").with("example.org/address", "192.0.2.1");
    let ready = patch::condition(None, &said(ConditionStatus::True, "ready"), Timestamp::now());
    // Written for what was seen before theirs came.
    fixture.write(&before, patch::status(&before, &at("192.0.2.1"), Some(ready), &notes)).await?;
    let seen = fixture.seen().await?;
    assert!(notes.stand_in(&seen.annotations), "{:?}", seen.annotations);
    assert_eq!((seen.annotations.len(), seen.status.ingress.len()), (3, 1));

    // With a condition, and without one.
    let failed = patch::condition(None, &said(ConditionStatus::False, "no"), Timestamp::now());
    fixture.write(&seen, patch::say(Some(&failed), &none().with("example.org/id", "90b1"))).await?;
    fixture.write(&seen, patch::say(None, &none().without("example.org/address"))).await?;
    let seen = fixture.seen().await?;
    let left = [("example.org/id", "90b1"), ("example.org/theirs", "x")];
    assert_eq!(seen.annotations, left.into());

    let plain = json!({"spec": {"type": "ClusterIP"}});
    fixture.api.patch("web", &Default::default(), &kube::api::Patch::Merge(plain)).await?;
    let seen = fixture.seen().await?;
    fixture.write(&seen, patch::release(&seen, &none().without("example.org/id"))).await?;
    let after = fixture.seen().await?;
    assert_eq!(after.annotations, [("example.org/theirs", "x")].into());
    assert!(after.finalizers.is_empty() && after.condition.is_none(), "{after:?}");
    Ok(())
}
