//! Server-side apply with inventory: what the server makes of our plans.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bowline_cloud::Unfenced;
use bowline_kube::write::Writer;
use bowline_operator::apply::{Applied, Applier, ApplyError, Target, inventory_name};
use bowline_operator::render::Object;
use bowline_testkit::apiserver::{Cluster, Identity};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

struct Fixture {
    client: Client,
    namespace: String,
    owner: String,
    applier: Applier,
}

impl Fixture {
    async fn new() -> anyhow::Result<Self> {
        let cluster = Cluster::shared().await?;
        let client = cluster.client(&Identity::Admin).await?;
        let namespace = cluster.namespace("apply").await?;
        let owner = cluster.unique_name("owner");
        let writer = Writer::new(client.clone(), Arc::new(Unfenced), Duration::from_secs(10));
        let applier = Applier::new(client.clone(), writer);
        Ok(Self { client, namespace, owner, applier })
    }

    fn object(&self, api_version: &str, kind: &str, name: &str, rest: Value) -> Object {
        let mut body = json!({ "apiVersion": api_version, "kind": kind,
            "metadata": { "name": name, "namespace": self.namespace } });
        for (key, value) in rest.as_object().unwrap() {
            body[key] = value.clone();
        }
        Object::untyped(body).unwrap()
    }

    fn config(&self, name: &str, value: &str) -> Object {
        self.object("v1", "ConfigMap", name, json!({ "data": { "key": value } }))
    }

    fn deployment(&self, selector: &str, replicas: i32) -> Object {
        let labels = json!({ "app": selector });
        let containers =
            json!([{ "name": "ccm", "image": "example.org/ccm:1", "ports": [{ "containerPort": 10258 }] }]);
        let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": containers } } });
        self.object("apps/v1", "Deployment", "ccm", json!({ "spec": spec }))
    }

    async fn apply(&self, objects: &[Object]) -> Result<Applied, ApplyError> {
        self.apply_with(false, objects).await
    }

    async fn apply_with(&self, adopt: bool, objects: &[Object]) -> Result<Applied, ApplyError> {
        let target = Target { owner: &self.owner, namespace: &self.namespace, adopt };
        self.applier.apply(target, objects.to_vec(), &BTreeSet::new()).await
    }

    /// What was done, in words.
    async fn done(&self, objects: &[Object]) -> anyhow::Result<Vec<String>> {
        let applied = self.apply(objects).await?;
        Ok(applied
            .done
            .iter()
            .map(|done| format!("{} {} {}", done.what, done.id.kind, done.id.name))
            .collect())
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

#[tokio::test]
async fn what_is_wanted_is_made_once_and_then_left_alone() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    let wanted = [fixture.config("config", "a"), fixture.deployment("ccm", 2)];
    assert_eq!(fixture.done(&wanted).await?, ["created ConfigMap config", "created Deployment ccm"]);
    let deployments: Api<Deployment> = fixture.api();
    let first = deployments.get("ccm").await?;
    let inventory = fixture.api::<ConfigMap>().get(&inventory_name(&fixture.owner)).await?;
    assert_eq!(fixture.done(&wanted).await?, Vec::<String>::new());
    // An operator that has just started knows nothing of what was found before.
    let writer = Writer::new(fixture.client.clone(), Arc::new(Unfenced), Duration::from_secs(10));
    let fresh = Applier::new(fixture.client.clone(), writer);
    let target = Target { owner: &fixture.owner, namespace: &fixture.namespace, adopt: false };
    assert_eq!(fresh.apply(target, wanted.to_vec(), &BTreeSet::new()).await?.done, []);
    assert_eq!(deployments.get("ccm").await?.metadata.resource_version, first.metadata.resource_version);
    let again = fixture.api::<ConfigMap>().get(&inventory_name(&fixture.owner)).await?;
    assert_eq!(again.metadata.resource_version, inventory.metadata.resource_version);
    let text = inventory.data.context("data")?["inventory.json"].clone();
    assert!(text.contains(&first.metadata.uid.context("uid")?), "{text}");
    Ok(())
}

#[tokio::test]
async fn drift_is_reverted_and_what_others_add_is_kept() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    let ports =
        json!({ "spec": { "selector": { "app": "ccm" }, "ports": [{ "name": "https", "port": 10258 }] } });
    let wanted = [
        fixture.config("config", "a"),
        fixture.deployment("ccm", 2),
        fixture.object("v1", "Service", "ccm", ports),
    ];
    fixture.apply(&wanted).await?;
    let (deployments, services): (Api<Deployment>, Api<Service>) = (fixture.api(), fixture.api());
    let edit = json!({ "metadata": { "labels": { "team": "blue", "bowline.dev/managed-by": null } }, "spec": { "replicas": 0 } });
    deployments.patch("ccm", &PatchParams::default(), &Patch::Merge(edit)).await?;
    let more = json!({ "spec": { "ports": [{ "name": "https", "port": 1 }] } });
    services.patch("ccm", &PatchParams::default(), &Patch::Merge(more)).await?;
    fixture.api::<ConfigMap>().delete("config", &DeleteParams::default()).await?;
    let done = fixture.done(&wanted).await?;
    assert_eq!(done, ["created ConfigMap config", "updated Deployment ccm", "recreated Service ccm"]);
    let repaired = deployments.get("ccm").await?;
    let labels = repaired.metadata.labels.context("labels")?;
    assert_eq!(labels.get("team").map(String::as_str), Some("blue"), "a label of somebody else stays");
    assert_eq!(labels.get("bowline.dev/managed-by"), Some(&fixture.owner));
    assert_eq!(repaired.spec.and_then(|spec| spec.replicas), Some(2));
    let ports = services.get("ccm").await?.spec.and_then(|spec| spec.ports).context("ports")?;
    assert_eq!(
        ports.iter().map(|port| port.port).collect::<Vec<_>>(),
        [10258],
        "the list is exactly ours again"
    );
    assert_eq!(fixture.done(&wanted).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_changed_is_made_anew_but_only_if_it_can_be_made() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    fixture.apply(&[fixture.deployment("ccm", 1)]).await?;
    let deployments: Api<Deployment> = fixture.api();
    let first = deployments.get("ccm").await?.metadata.uid;
    assert_eq!(fixture.done(&[fixture.deployment("other", 1)]).await?, ["recreated Deployment ccm"]);
    let second = deployments.get("ccm").await?;
    assert_ne!(second.metadata.uid, first);
    // A selector that fits no pod of its own template can never be made.
    let mut broken = fixture.deployment("third", 1);
    broken.body["spec"]["template"]["metadata"]["labels"] = json!({ "app": "not-third" });
    let error = fixture.apply(&[broken]).await.err().context("it is refused")?;
    assert!(error.is_terminal(), "{error}");
    assert_eq!(deployments.get("ccm").await?.metadata.uid, second.metadata.uid, "the old one is kept");
    Ok(())
}

#[tokio::test]
async fn the_role_of_a_binding_can_be_changed() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    let binding = |role: &str| {
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role });
        fixture.object(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "b",
            json!({ "roleRef": role, "subjects": [] }),
        )
    };
    fixture.apply(&[binding("one")]).await?;
    assert_eq!(fixture.done(&[binding("two")]).await?, ["recreated RoleBinding b"]);
    assert_eq!(fixture.api::<RoleBinding>().get("b").await?.role_ref.name, "two");
    Ok(())
}

#[tokio::test]
async fn a_finalizer_that_holds_up_a_recreation_is_told() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    fixture.apply(&[fixture.deployment("ccm", 1)]).await?;
    let hold = json!({ "metadata": { "finalizers": ["example.org/hold"] } });
    fixture.api::<Deployment>().patch("ccm", &PatchParams::default(), &Patch::Merge(hold)).await?;
    let error = fixture.apply(&[fixture.deployment("other", 1)]).await.err().context("it lingers")?;
    assert!(matches!(error, ApplyError::Lingers { .. }), "{error}");
    let applied = fixture.apply(&[fixture.deployment("other", 1)]).await?;
    assert_eq!(applied.awaited.len(), 1);
    let free = json!({ "metadata": { "finalizers": null } });
    fixture.api::<Deployment>().patch("ccm", &PatchParams::default(), &Patch::Merge(free)).await?;
    assert_eq!(fixture.done(&[fixture.deployment("other", 1)]).await?, ["created Deployment ccm"]);
    Ok(())
}

#[tokio::test]
async fn what_is_no_longer_wanted_is_pruned_and_namesakes_are_not() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    let configs: Api<ConfigMap> = fixture.api();
    let before: ConfigMap = serde_json::from_value(json!({ "metadata": { "name": "before" } }))?;
    configs.create(&PostParams::default(), &before).await?;
    let budget = json!({ "spec": { "minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": { "matchLabels": { "app": "ccm" } } } });
    let wanted = [
        fixture.config("before", "ours"),
        fixture.config("ours", "a"),
        fixture.config("replaced", "a"),
        fixture.object("policy/v1", "PodDisruptionBudget", "ccm", budget),
    ];
    // Without a word on it, nothing that somebody else made is changed, nor anything beside it.
    let error = fixture.apply(&wanted).await.err().context("it is refused")?;
    assert!(matches!(&error, ApplyError::NotMadeByUs { id } if id.name == "before"), "{error}");
    assert!(configs.get("before").await?.data.is_none() && configs.get_opt("ours").await?.is_none());
    fixture.apply_with(true, &wanted).await?;
    assert_eq!(fixture.apply(&wanted).await.err().map(|error| error.is_terminal()), Some(true));
    let drift = json!({ "spec": { "unhealthyPodEvictionPolicy": "IfHealthyBudget" } });
    let budgets: Api<PodDisruptionBudget> = fixture.api();
    budgets.patch("ccm", &PatchParams::default(), &Patch::Merge(drift)).await?;
    let repaired = fixture.apply_with(true, &wanted).await?.done;
    assert_eq!(
        repaired.iter().map(|done| done.id.kind.as_str()).collect::<Vec<_>>(),
        ["PodDisruptionBudget"]
    );
    configs.delete("replaced", &DeleteParams::default()).await?;
    let namesake =
        json!({ "metadata": { "name": "replaced", "labels": { "bowline.dev/managed-by": fixture.owner } } });
    configs.create(&PostParams::default(), &serde_json::from_value(namesake)?).await?;
    let done = fixture.done(&[]).await?;
    assert_eq!(done, ["deleted PodDisruptionBudget ccm", "deleted ConfigMap ours"]);
    let mut left: Vec<_> = configs
        .list(&Default::default())
        .await?
        .items
        .into_iter()
        .filter_map(|item| item.metadata.name)
        .collect();
    left.retain(|name| name != "kube-root-ca.crt");
    assert_eq!(left, ["before", &inventory_name(&fixture.owner), "replaced"]);
    Ok(())
}

#[tokio::test]
async fn an_object_of_another_resource_is_refused() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    fixture.apply(&[fixture.config("shared", "a")]).await?;
    let target = Target { owner: "somebody-else", namespace: &fixture.namespace, adopt: true };
    let tried = fixture.applier.apply(target, vec![fixture.config("shared", "b")], &BTreeSet::new()).await;
    let error = tried.err().context("it is refused")?.to_string();
    assert!(error.contains(&fixture.owner) && error.contains("ConfigMap"), "{error}");
    let kept = fixture.api::<ConfigMap>().get("shared").await?;
    assert_eq!(kept.data.context("data")?["key"], "a");
    Ok(())
}
