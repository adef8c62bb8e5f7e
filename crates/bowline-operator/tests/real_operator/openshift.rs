//! OpenShift: what cluster-cloud-controller-manager-operator's own tests ask of it, asked of ours. The definitions are ours, and
//! as small as can be.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bowline_cloud::Unfenced;
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::write::Writer;
use bowline_operator::openshift::{KINDS, Kind, OpenShift, Parts};
use bowline_testkit::objects;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::harness::{Harness, OPERATOR_NAMESPACE};

const MANAGED: &str = "openshift-cloud-controller-manager";
const OLD_FORM: &str = "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\nregion = one\n[BlockStorage]\nbs-version = v2\n";

struct Fixture {
    stage: Harness,
    openshift: OpenShift,
    authority: String,
}

fn certificate() -> anyhow::Result<String> {
    Ok(rcgen::generate_simple_self_signed(["example.org".to_owned()])?.cert.pem())
}

fn definition(
    kind: &Kind,
) -> anyhow::Result<
    k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
> {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    if kind.kind == "ClusterOperator" {
        version["subresources"] = json!({ "status": {} });
    }
    Ok(serde_json::from_value(json!({
        "metadata": { "name": format!("{}.config.openshift.io", kind.plural) },
        "spec": { "group": "config.openshift.io", "scope": "Cluster", "versions": [version],
            "names": { "kind": kind.kind, "plural": kind.plural, "singular": kind.kind.to_lowercase() } },
    }))?)
}

impl Fixture {
    async fn new() -> anyhow::Result<Self> {
        let stage = Harness::start_on(true).await?;
        for kind in &KINDS {
            objects::define(&stage.client, &definition(kind)?).await?;
        }
        let images = json!({ "cloudControllerManagerOpenStack": "example.org/occm:1", "cloudControllerManagerAWS": "example.org/aws:1",
            "cloudControllerManagerVSphere": "example.org/vsphere:1" });
        let (images_file, system_ca_file) =
            (stage.cluster.folder().join("images.json"), stage.cluster.folder().join("system-ca.pem"));
        let authority = certificate()?;
        std::fs::write(&images_file, images.to_string())?;
        std::fs::write(&system_ca_file, &authority)?;
        let clock = Clock::system();
        let client = stage.client.clone();
        let openshift = OpenShift::new(Parts {
            writer: Writer::new(client.clone(), Arc::new(Unfenced), Duration::from_secs(10)),
            recorder: EventRecorder::new(
                client.clone(),
                "bowline-operator",
                "",
                clock.clone(),
                EventMetrics::default(),
            ),
            client,
            clock,
            version: "4.99.0".to_owned(),
            namespace: OPERATOR_NAMESPACE.to_owned(),
            managed_namespace: MANAGED.to_owned(),
            images_file,
            system_ca_file,
            resync: Duration::from_secs(600),
        });
        let fixture = Self { stage, openshift, authority };
        fixture.put("Network", json!({ "spec": { "serviceNetwork": ["172.30.0.0/16"] } })).await?;
        fixture.gates(&[]).await?;
        Ok(fixture)
    }

    /// Makes, or replaces, one of OpenShift's objects.
    async fn put(&self, kind: &str, content: Value) -> anyhow::Result<()> {
        let kind = KINDS.iter().find(|each| each.kind == kind).context("a kind")?;
        let mut object = json!({ "apiVersion": "config.openshift.io/v1", "kind": kind.kind, "metadata": { "name": kind.name } });
        for (key, value) in content.as_object().context("an object")? {
            object[key] = value.clone();
        }
        let api: Api<DynamicObject> = Api::all_with(self.stage.client.clone(), &kind.resource());
        if let Some(old) = api.get_opt(kind.name).await? {
            object["metadata"]["resourceVersion"] = json!(old.metadata.resource_version);
            api.replace(kind.name, &PostParams::default(), &serde_json::from_value(object)?).await?;
        } else {
            api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        }
        Ok(())
    }

    async fn gates(&self, enabled: &[&str]) -> anyhow::Result<()> {
        let enabled: Vec<Value> = enabled.iter().map(|name| json!({ "name": name })).collect();
        self.put("FeatureGate", json!({ "status": { "featureGates": [{ "version": "4.99.0", "enabled": enabled, "disabled": [] }] } })).await
    }

    async fn platform(&self, platform: &str) -> anyhow::Result<()> {
        let status = json!({ "platformStatus": { "type": platform }, "infrastructureName": "test-abc", "controlPlaneTopology": "HighlyAvailable" });
        let spec = json!({ "cloudConfig": { "name": "cloud-provider-config", "key": "config" } });
        self.put("Infrastructure", json!({ "spec": spec, "status": status })).await
    }

    async fn config_map(&self, namespace: &str, name: &str, data: Value) -> anyhow::Result<()> {
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data });
        self.config_maps(namespace)
            .patch(name, &PatchParams::apply("tester").force(), &Patch::Apply(object))
            .await?;
        Ok(())
    }

    fn config_maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.stage.client.clone(), namespace)
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.stage.client.clone(), MANAGED)
    }

    async fn credentials(&self, text: &str) -> anyhow::Result<()> {
        let name = "openstack-cloud-credentials";
        let object = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { "clouds.yaml": text } });
        let api: Api<Secret> = Api::namespaced(self.stage.client.clone(), MANAGED);
        api.patch(name, &PatchParams::apply("tester").force(), &Patch::Apply(object)).await?;
        Ok(())
    }

    /// The status of the ClusterOperator.
    async fn status(&self) -> anyhow::Result<Value> {
        let kind = KINDS.iter().find(|each| each.kind == "ClusterOperator").context("a kind")?;
        let api: Api<DynamicObject> = Api::all_with(self.stage.client.clone(), &kind.resource());
        Ok(api.get("cloud-controller-manager").await?.data["status"].clone())
    }

    /// A condition as `status/reason`, and its message.
    async fn condition(&self, type_: &str) -> anyhow::Result<(String, String)> {
        let status = self.status().await?;
        let all = status["conditions"].as_array().context("conditions")?;
        let found =
            all.iter().find(|each| each["type"] == type_).with_context(|| format!("{type_} in {status}"))?;
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        Ok((format!("{}/{}", text("status"), text("reason")), text("message")))
    }

    async fn roll_out(&self, name: &str) -> anyhow::Result<()> {
        let generation = self.deployments().get(name).await?.metadata.generation;
        let status = json!({ "status": { "observedGeneration": generation,
            "conditions": [{ "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "" }] } });
        self.deployments().patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    async fn hash(&self, name: &str) -> anyhow::Result<Option<String>> {
        let deployment = self.deployments().get(name).await?;
        let annotations =
            deployment.spec.and_then(|spec| spec.template.metadata?.annotations).unwrap_or_default();
        Ok(annotations.get("operator.openshift.io/config-hash").cloned())
    }
}

const OPENSTACK: &str = "openstack-cloud-controller-manager";

#[tokio::test]
async fn the_version_is_published_only_when_the_manager_is_rolled_out() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    fixture.platform("OpenStack").await?;
    fixture
        .config_map(
            "openshift-config",
            "cloud-provider-config",
            json!({ "config": OLD_FORM, "other": "kept" }),
        )
        .await?;
    fixture.credentials("clouds: {}").await?;

    fixture.openshift.pass().await;
    assert_eq!(
        fixture.condition("Progressing").await?,
        ("True/SyncingResources".to_owned(), "Progressing towards operator: 4.99.0".to_owned())
    );
    assert_eq!(fixture.status().await?["versions"], json!([]));
    let related = json!([
        { "group": "", "resource": "namespaces", "name": OPERATOR_NAMESPACE },
        { "group": "config.openshift.io", "resource": "clusteroperators", "name": "cloud-controller-manager" },
        { "group": "", "resource": "namespaces", "name": MANAGED },
    ]);
    assert_eq!(fixture.status().await?["relatedObjects"], related);
    let services: Api<Service> = Api::namespaced(fixture.stage.client.clone(), MANAGED);
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(fixture.stage.client.clone(), MANAGED);
    services.get(OPENSTACK).await?;
    budgets.get(OPENSTACK).await?;

    // Nothing is applied any more, and it is still not rolled out.
    fixture.openshift.pass().await;
    assert_eq!(fixture.condition("Progressing").await?.0, "True/SyncingResources");
    fixture.roll_out(OPENSTACK).await?;
    fixture.openshift.pass().await;
    let message = "Cluster Cloud Controller Manager Operator is available at 4.99.0".to_owned();
    assert_eq!(fixture.condition("Available").await?, ("True/AsExpected".to_owned(), message));
    for (type_, wanted) in [
        ("Progressing", "False"),
        ("Degraded", "False"),
        ("Upgradeable", "True"),
        ("CloudConfigControllerAvailable", "True"),
        ("CloudConfigControllerDegraded", "False"),
        ("TrustedCABundleControllerControllerAvailable", "True"),
        ("TrustedCABundleControllerControllerDegraded", "False"),
    ] {
        assert_eq!(fixture.condition(type_).await?.0, format!("{wanted}/AsExpected"), "{type_}");
    }
    assert_eq!(fixture.status().await?["versions"], json!([{ "name": "operator", "version": "4.99.0" }]));

    // A pass that finds nothing to do writes nothing.
    let kind = KINDS.iter().find(|each| each.kind == "ClusterOperator").context("a kind")?;
    let operators: Api<DynamicObject> = Api::all_with(fixture.stage.client.clone(), &kind.resource());
    let before = (
        operators.get("cloud-controller-manager").await?.resource_version(),
        fixture.deployments().get(OPENSTACK).await?.resource_version(),
    );
    fixture.openshift.pass().await;
    let after = (
        operators.get("cloud-controller-manager").await?.resource_version(),
        fixture.deployments().get(OPENSTACK).await?.resource_version(),
    );
    assert_eq!(before, after);

    // What pods mount rolls them; what is missing for a moment does not.
    let first = fixture.hash(OPENSTACK).await?;
    assert!(first.is_some());
    fixture.credentials("clouds: { openstack: {} }").await?;
    fixture.openshift.pass().await;
    let second = fixture.hash(OPENSTACK).await?;
    assert_ne!(first, second);
    let secrets: Api<Secret> = Api::namespaced(fixture.stage.client.clone(), MANAGED);
    secrets.delete("openstack-cloud-credentials", &DeleteParams::default()).await?;
    fixture.openshift.pass().await;
    assert_eq!(fixture.hash(OPENSTACK).await?, second, "the value stays while the Secret is away");
    Ok(())
}

#[tokio::test]
async fn a_cluster_operator_that_is_wrong_is_put_right_and_clusters_without_a_manager_are_available()
-> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    let time = "2020-01-01T00:00:00Z";
    let condition = |type_: &str, status: &str| json!({ "type": type_, "status": status, "reason": "Old", "message": "old", "lastTransitionTime": time });
    fixture.put("ClusterOperator", json!({ "spec": {} })).await?;
    let wrong = json!({ "status": { "conditions": [condition("Available", "True"), condition("Degraded", "True"), condition("CloudControllerOwner", "True")],
        "versions": [{ "name": "wrong", "version": "0" }], "relatedObjects": [{ "group": "", "resource": "pods", "name": "x" }], "extension": { "kept": true } } });
    let kind = KINDS.iter().find(|each| each.kind == "ClusterOperator").context("a kind")?;
    let operators: Api<DynamicObject> = Api::all_with(fixture.stage.client.clone(), &kind.resource());
    operators.patch_status("cloud-controller-manager", &PatchParams::default(), &Patch::Merge(wrong)).await?;

    // No Infrastructure, one without a manager, and one whose manager is somebody else's.
    fixture.openshift.pass().await;
    let status = fixture.status().await?;
    assert_eq!(fixture.condition("Available").await?.0, "True/AsExpected");
    assert_eq!(fixture.condition("Degraded").await?.0, "False/AsExpected");
    assert!(fixture.condition("CloudControllerOwner").await.is_err(), "{status}");
    assert_eq!(status["versions"], json!([{ "name": "operator", "version": "4.99.0" }]));
    assert_eq!(status["relatedObjects"].as_array().map(Vec::len), Some(3));
    assert_eq!(status["extension"]["kept"], true, "what is not ours stays");
    let available = status["conditions"]
        .as_array()
        .context("conditions")?
        .iter()
        .find(|each| each["type"] == "Available")
        .context("it")?;
    assert_eq!(available["lastTransitionTime"], time, "a status that stays keeps its time");
    for platform in ["BareMetal", "None", "External"] {
        fixture.platform(platform).await?;
        fixture.openshift.pass().await;
        assert_eq!(fixture.condition("Available").await?.0, "True/AsExpected", "{platform}");
        assert!(fixture.deployments().list(&Default::default()).await?.items.is_empty());
        assert!(fixture.config_maps(MANAGED).get_opt("cloud-conf").await?.is_none(), "{platform}");
    }

    // An Infrastructure that does not say its platform is wrong at once.
    fixture.put("Infrastructure", json!({ "spec": {}, "status": {} })).await?;
    fixture.openshift.pass().await;
    assert_eq!(fixture.condition("Degraded").await?.0, "True/PlatformUnknown");
    assert_eq!(fixture.condition("CloudConfigControllerDegraded").await?.0, "True/SyncingFailed");
    let (upgradeable, message) = fixture.condition("Upgradeable").await?;
    assert!(upgradeable.starts_with("False/") && !message.is_empty());
    Ok(())
}

#[tokio::test]
async fn the_configuration_is_kept_in_step_with_its_source() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    let target =
        async || -> anyhow::Result<ConfigMap> { Ok(fixture.config_maps(MANAGED).get("cloud-conf").await?) };
    fixture.platform("AWS").await?;
    let user = "[Global]\nZone = user\n";
    fixture
        .config_map(
            "openshift-config",
            "cloud-provider-config",
            json!({ "config": user, "ca-bundle.pem": "x" }),
        )
        .await?;

    // The administrator's, as long as there is no other; all keys are carried.
    fixture.openshift.pass().await;
    let data = target().await?.data.context("data")?;
    assert!(
        data["cloud.conf"].contains("user")
            && data["cloud.conf"].contains("ClusterServiceLoadBalancerHealthProbeMode"),
        "{}",
        data["cloud.conf"]
    );
    assert_eq!(data["ca-bundle.pem"], "x");
    assert!(!data.contains_key("config"));

    // OpenShift's own, which is preferred on AWS.
    fixture
        .config_map(
            "openshift-config-managed",
            "kube-cloud-config",
            json!({ "cloud.conf": "[Global]\nZone = managed\n" }),
        )
        .await?;
    fixture.openshift.pass().await;
    assert!(target().await?.data.context("data")?["cloud.conf"].contains("managed"));

    // Nothing is written when it is the same.
    let version = target().await?.resource_version();
    fixture.openshift.pass().await;
    assert_eq!(target().await?.resource_version(), version);

    // Edits are reverted, labels of others kept, deletions undone.
    let edit = json!({ "metadata": { "labels": { "team": "blue" } }, "data": { "cloud.conf": "edited", "more": "x" } });
    fixture.config_maps(MANAGED).patch("cloud-conf", &PatchParams::default(), &Patch::Merge(edit)).await?;
    fixture.openshift.pass().await;
    let repaired = target().await?;
    assert_eq!(repaired.labels()["team"], "blue");
    assert_eq!(repaired.data.context("data")?.keys().collect::<Vec<_>>(), ["cloud.conf"]);
    fixture.config_maps(MANAGED).delete("cloud-conf", &DeleteParams::default()).await?;
    fixture.openshift.pass().await;
    target().await?;

    // A gate changes it.
    fixture.gates(&["AWSServiceLBNetworkSecurityGroup"]).await?;
    fixture.openshift.pass().await;
    assert!(target().await?.data.context("data")?["cloud.conf"].contains("NLBSecurityGroupMode"));

    // Neither: an empty one, where the platform can live with that.
    fixture
        .config_maps("openshift-config-managed")
        .delete("kube-cloud-config", &DeleteParams::default())
        .await?;
    fixture.config_maps("openshift-config").delete("cloud-provider-config", &DeleteParams::default()).await?;
    fixture.openshift.pass().await;
    assert!(target().await?.data.context("data")?["cloud.conf"].starts_with("[Global]"));

    // A key that is not there, and a text that cannot be read: told at once, and the last good one stays.
    let good = target().await?.data;
    fixture.config_map("openshift-config", "cloud-provider-config", json!({ "wrong": user })).await?;
    fixture.openshift.pass().await;
    let (degraded, message) = fixture.condition("Degraded").await?;
    assert_eq!(degraded, "True/ConfigInvalid");
    assert!(message.contains("key config specified in infra resource does not exist"), "{message}");
    assert_eq!(fixture.condition("CloudConfigControllerDegraded").await?.0, "True/SyncingFailed");
    fixture
        .config_map(
            "openshift-config",
            "cloud-provider-config",
            json!({ "config": "[Global\n", "wrong": "" }),
        )
        .await?;
    fixture.openshift.pass().await;
    assert!(
        fixture.condition("Degraded").await?.1.contains("line 1"),
        "{:?}",
        fixture.condition("Degraded").await?
    );
    assert_eq!(target().await?.data, good);
    Ok(())
}

#[tokio::test]
async fn vspheres_managed_configuration_is_ours_behind_its_gate() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    fixture.platform("VSphere").await?;
    let text = "global:\n  server: vcenter.example.org\nvcenter: {}\n";
    fixture.config_map("openshift-config", "cloud-provider-config", json!({ "config": text })).await?;
    let managed = async || -> anyhow::Result<Option<ConfigMap>> {
        Ok(fixture.config_maps("openshift-config-managed").get_opt("kube-cloud-config").await?)
    };
    fixture.openshift.pass().await;
    assert!(managed().await?.is_none(), "without the gate it is another operator's");
    fixture.gates(&["VSphereMultiVCenterDay2"]).await?;
    fixture.openshift.pass().await;
    let made = managed().await?.context("it is made")?;
    let ours = fixture.config_maps(MANAGED).get("cloud-conf").await?;
    assert_eq!(made.data, ours.data);
    fixture.openshift.pass().await;
    assert_eq!(managed().await?.and_then(|now| now.resource_version()), made.resource_version());
    let edit = json!({ "data": { "cloud.conf": "edited" } });
    fixture
        .config_maps("openshift-config-managed")
        .patch("kube-cloud-config", &PatchParams::default(), &Patch::Merge(edit))
        .await?;
    fixture.openshift.pass().await;
    assert_eq!(managed().await?.and_then(|now| now.data), made.data);
    Ok(())
}

#[tokio::test]
async fn the_trusted_certificates_are_the_administrators_the_clouds_and_the_systems() -> anyhow::Result<()> {
    let fixture = Fixture::new().await?;
    fixture.platform("OpenStack").await?;
    fixture.credentials("clouds: {}").await?;
    let bundle = async || -> anyhow::Result<String> {
        let found = fixture.config_maps(MANAGED).get("ccm-trusted-ca").await?;
        assert_eq!(
            found.annotations()["openshift.io/owning-component"],
            "Cloud Compute / Cloud Controller Manager"
        );
        Ok(found.data.context("data")?["ca-bundle.crt"].clone())
    };
    // Without a Proxy there is the system's, too: pods wait for nothing.
    fixture.openshift.pass().await;
    assert_eq!(bundle().await?, fixture.authority);

    let (own, cloud) = (certificate()?, certificate()?);
    fixture.config_map("openshift-config", "user-ca", json!({ "ca-bundle.crt": own })).await?;
    fixture.put("Proxy", json!({ "spec": { "trustedCA": { "name": "user-ca" } }, "status": { "httpProxy": "http://proxy.example.org" } })).await?;
    fixture.openshift.pass().await;
    assert_eq!(bundle().await?, format!("{own}\n{}", fixture.authority));
    let deployment = fixture.deployments().get(OPENSTACK).await?;
    let containers = deployment.spec.and_then(|spec| spec.template.spec).context("pod")?.containers;
    let environment: Vec<_> =
        containers.iter().flat_map(|each| each.env.iter().flatten()).map(|each| each.name.as_str()).collect();
    assert!(environment.contains(&"HTTP_PROXY"), "{environment:?}");

    fixture
        .config_map(
            "openshift-config",
            "cloud-provider-config",
            json!({ "config": OLD_FORM, "ca-bundle.pem": cloud }),
        )
        .await?;
    fixture.openshift.pass().await;
    assert_eq!(bundle().await?, format!("{cloud}\n{own}\n{}", fixture.authority));
    // The same twice is there once.
    fixture.config_map("openshift-config", "user-ca", json!({ "ca-bundle.crt": cloud })).await?;
    fixture.openshift.pass().await;
    assert_eq!(bundle().await?, format!("{cloud}\n{}", fixture.authority));
    // What is wrong is left out.
    fixture.config_map("openshift-config", "user-ca", json!({ "ca-bundle.crt": "no certificate" })).await?;
    fixture.openshift.pass().await;
    assert_eq!(bundle().await?, format!("{cloud}\n{}", fixture.authority));
    // Edits are reverted.
    let edit = json!({ "data": { "ca-bundle.crt": "edited" } });
    fixture
        .config_maps(MANAGED)
        .patch("ccm-trusted-ca", &PatchParams::default(), &Patch::Merge(edit))
        .await?;
    fixture.openshift.pass().await;
    assert_eq!(bundle().await?, format!("{cloud}\n{}", fixture.authority));
    // Without the system's, what is there stays.
    std::fs::write(fixture.stage.cluster.folder().join("system-ca.pem"), "broken")?;
    fixture.openshift.pass().await;
    assert_eq!(bundle().await?, format!("{cloud}\n{}", fixture.authority));
    Ok(())
}

#[tokio::test]
async fn the_operator_finds_out_by_itself_that_this_is_openshift_and_watches_everything() -> anyhow::Result<()>
{
    let fixture = Fixture::new().await?;
    fixture.platform("OpenStack").await?;
    fixture.credentials("clouds: {}").await?;
    let _operator = fixture.stage.operator_on("4.99.0", Duration::from_secs(600)).await?;
    fixture
        .stage
        .eventually("the manager is applied", async || Ok(fixture.deployments().get_opt(OPENSTACK).await?))
        .await?;
    fixture.roll_out(OPENSTACK).await?;
    let available = async || {
        Ok((fixture.condition("Available").await.is_ok_and(|(found, _)| found == "True/AsExpected"))
            .then_some(()))
    };
    fixture.stage.eventually("it is available", available).await?;
    // None of these is looked at by time: the next look would be in ten minutes.
    fixture
        .put("Proxy", json!({ "spec": {}, "status": { "httpsProxy": "http://proxy.example.org" } }))
        .await?;
    fixture
        .stage
        .eventually("the proxy is in the pods", async || {
            let deployment = serde_json::to_string(&fixture.deployments().get(OPENSTACK).await?)?;
            Ok(deployment.contains("HTTPS_PROXY").then_some(()))
        })
        .await?;
    fixture.config_map("openshift-config", "cloud-provider-config", json!({ "config": OLD_FORM })).await?;
    fixture
        .stage
        .eventually("the configuration is there", async || {
            let found = fixture.config_maps(MANAGED).get("cloud-conf").await?.data.unwrap_or_default();
            Ok(found.get("cloud.conf").is_some_and(|text| text.contains("region")).then_some(()))
        })
        .await?;
    fixture.deployments().delete(OPENSTACK, &DeleteParams::default()).await?;
    fixture
        .stage
        .eventually("the manager is back", async || Ok(fixture.deployments().get_opt(OPENSTACK).await?))
        .await?;
    Ok(())
}
