//! What somebody tries who may edit a `CloudControllerManager` and nothing else: with that right alone, and an operator that has the
//! rights that it is shipped with.

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::Identity;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use bowline_operator::api::CloudControllerManager;

use crate::harness::{Harness, NAMESPACE, Running};

const CONF: &str = "[Global]\nauth-url = https://keystone.example.org/v3\n";
/// An account of kube-controller-manager that may change every ClusterRole.
const POWERFUL: &str = "clusterrole-aggregation-controller";

/// A cluster with an operator, and somebody who may edit its resources.
struct Attack {
    stage: Harness,
    editor: Client,
    _operator: Running,
}

impl Attack {
    async fn begin() -> anyhow::Result<Self> {
        let stage = Harness::start().await?;
        let admin = stage.client.clone();
        let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
        let rules = json!([{ "apiGroups": ["bowline.dev"], "resources": ["cloudcontrollermanagers"], "verbs": verbs }]);
        let role = json!({ "metadata": { "name": "editor" }, "rules": rules });
        let roles: Api<ClusterRole> = Api::all(admin.clone());
        roles.create(&PostParams::default(), &serde_json::from_value(role)?).await?;
        let subject = json!({ "kind": "ServiceAccount", "name": "editor", "namespace": "default" });
        let role_ref =
            json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "editor" });
        let binding = json!({ "metadata": { "name": "editor" }, "roleRef": role_ref, "subjects": [subject] });
        let bindings: Api<ClusterRoleBinding> = Api::all(admin);
        bindings.create(&PostParams::default(), &serde_json::from_value(binding)?).await?;
        let editor = stage.cluster.client(&Identity::service_account("default", "editor")).await?;
        let operator = stage.operator().await?;
        Ok(Self { stage, editor, _operator: operator })
    }

    /// Asks for a manager, with the rights of the editor.
    async fn ask(&self, name: &str, fields: Value) -> anyhow::Result<()> {
        let mut spec = json!({ "platform": "OpenStack", "clusterName": name, "namespace": NAMESPACE,
            "leaseName": format!("bowline-ccm-{name}"), "replicas": 1, "cloudConfig": { "inline": CONF } });
        for (key, value) in fields.as_object().context("an object")? {
            spec[key] = value.clone();
        }
        let resource = json!({ "apiVersion": "bowline.dev/v1alpha1", "kind": "CloudControllerManager",
            "metadata": { "name": name }, "spec": spec });
        let kind = ApiResource::erase::<CloudControllerManager>(&());
        let api: Api<DynamicObject> = Api::all_with(self.editor.clone(), &kind);
        let resource: DynamicObject = serde_json::from_value(resource)?;
        self.stage
            .eventually("the editor's rights are in force", async || {
                match api.create(&PostParams::default(), &resource).await {
                    Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
                    made => made.map(|_| Some(())).map_err(Into::into),
                }
            })
            .await
    }

    async fn refused(&self, name: &str, reason: &str) -> anyhow::Result<String> {
        self.stage.condition(name, "Degraded", "True", reason).await
    }

    /// Every Deployment of the cluster with the account that it runs as.
    async fn accounts(&self) -> anyhow::Result<Vec<(String, String)>> {
        let all: Api<Deployment> = Api::all(self.stage.client.clone());
        let found = all.list(&ListParams::default()).await?.items.into_iter();
        Ok(found
            .map(|each| {
                let account = each
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.template.spec.as_ref()?.service_account_name.clone());
                (each.name_any(), account.unwrap_or_default())
            })
            .collect())
    }

    fn system<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.stage.client.clone(), "kube-system")
    }
}

#[tokio::test]
async fn the_name_of_a_resource_is_no_way_to_an_account_or_a_deployment_that_is_there() -> anyhow::Result<()>
{
    let attack = Attack::begin().await?;
    let account: ServiceAccount = serde_json::from_value(json!({ "metadata": { "name": POWERFUL } }))?;
    let accounts: Api<ServiceAccount> = attack.system();
    let before = match accounts.get_opt(POWERFUL).await? {
        Some(there) => there,
        None => accounts.create(&PostParams::default(), &account).await?,
    };
    let labels = json!({ "app": "dns" });
    let template = json!({ "metadata": { "labels": labels },
        "spec": { "serviceAccountName": "dns", "containers": [{ "name": "c", "image": "example.org/dns:1" }] } });
    let dns = json!({ "metadata": { "name": "dns" },
        "spec": { "replicas": 1, "selector": { "matchLabels": labels }, "template": template } });
    let deployments: Api<Deployment> = attack.system();
    let dns = deployments.create(&PostParams::default(), &serde_json::from_value(dns)?).await?;

    for name in [POWERFUL, "dns"] {
        attack.ask(name, json!({ "namespace": "kube-system" })).await?;
        attack
            .stage
            .eventually("it works under names of its own", async || {
                let found = attack.accounts().await?;
                let base = format!("bowline-ccm-{name}");
                Ok(found.iter().any(|(deployment, _)| deployment.starts_with(&base)).then_some(()))
            })
            .await?;
    }
    for (deployment, account) in attack.accounts().await? {
        ensure!(deployment == "dns" || account.starts_with("bowline-ccm-"), "{deployment} runs as {account}");
    }
    let after = accounts.get(POWERFUL).await?;
    assert_eq!((after.uid(), after.resource_version()), (before.uid(), before.resource_version()));
    let now = deployments.get("dns").await?;
    assert_eq!((now.uid(), now.metadata.generation), (dns.uid(), dns.metadata.generation));
    assert!(!now.labels().contains_key("bowline.dev/managed-by"));
    Ok(())
}

#[tokio::test]
async fn an_object_that_somebody_else_made_under_our_name_is_refused_until_adoption_is_asked_for()
-> anyhow::Result<()> {
    let attack = Attack::begin().await?;
    let stage = &attack.stage;
    let account: ServiceAccount =
        serde_json::from_value(json!({ "metadata": { "name": "bowline-ccm-main" } }))?;
    let before = stage.api::<ServiceAccount>().create(&PostParams::default(), &account).await?;
    attack.ask("main", json!({ "leaseName": "cloud-controller-manager" })).await?;
    let message = attack.refused("main", "ObjectInUse").await?;
    assert!(message.contains(&format!("ServiceAccount {NAMESPACE}/bowline-ccm-main")), "{message}");
    assert!(message.contains("spec.adopt"), "{message}");
    let after = stage.api::<ServiceAccount>().get("bowline-ccm-main").await?;
    assert_eq!(after.resource_version(), before.resource_version());
    assert!(stage.api::<Deployment>().get_opt("bowline-ccm-main").await?.is_none());

    stage.change("main", json!({ "adopt": true })).await?;
    stage.steady("main").await?;
    let after = stage.api::<ServiceAccount>().get("bowline-ccm-main").await?;
    assert_eq!(after.uid(), before.uid());
    assert_eq!(after.labels()["bowline.dev/managed-by"], "main");
    Ok(())
}

#[tokio::test]
async fn foreign_namespaces_secrets_images_and_leases_are_refused() -> anyhow::Result<()> {
    let attack = Attack::begin().await?;
    let admin = attack.stage.client.clone();
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    let namespace: Namespace = serde_json::from_value(
        json!({ "metadata": { "name": "payments", "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } }),
    )?;
    let payments = namespaces.create(&PostParams::default(), &namespace).await?;
    let token =
        json!({ "metadata": { "name": "bootstrap-token" }, "stringData": { "clouds.yaml": "clouds: {}" } });
    attack.stage.api::<Secret>().create(&PostParams::default(), &serde_json::from_value(token)?).await?;

    for (name, fields, reason, word) in [
        ("a", json!({ "namespace": "payments" }), "NamespaceNotAllowed", "payments"),
        ("b", json!({ "leaseNamespace": "payments" }), "NamespaceNotAllowed", "spec.leaseNamespace"),
        ("c", json!({ "credentials": { "name": "bootstrap-token" } }), "SecretNotAllowed", "bootstrap-token"),
        (
            "d",
            json!({ "cloudConfig": { "secret": { "name": "bootstrap-token" } } }),
            "SecretNotAllowed",
            "spec.cloudConfig.secret",
        ),
        ("e", json!({ "image": "evil.example/bowline:1.0.0" }), "ImageNotAllowed", "evil.example"),
        ("f", json!({ "version": "1.0.0/evil" }), "ImageNotAllowed", "example.org/bowline"),
        (
            "g",
            json!({ "leaseName": "kube-controller-manager" }),
            "LeaseNotAllowed",
            "kube-controller-manager",
        ),
        ("h", json!({ "leaseName": "cluster-autoscaler" }), "LeaseNotAllowed", "--allowed-leases"),
    ] {
        attack.ask(name, fields).await?;
        let message = attack.refused(name, reason).await?;
        assert!(message.contains(word), "{name}: {message}");
    }
    let now = namespaces.get("payments").await?;
    assert_eq!(now.resource_version(), payments.resource_version(), "not even a label");
    assert_eq!(attack.accounts().await?, [], "nothing was made");
    // Nothing was made, so nothing keeps them.
    for name in ["a", "c"] {
        attack.stage.resources().delete(name, &DeleteParams::default()).await?;
        attack
            .stage
            .eventually("it is gone", async || {
                Ok(attack.stage.resources().get_opt(name).await?.is_none().then_some(()))
            })
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_namespace_that_is_there_keeps_its_labels() -> anyhow::Result<()> {
    let attack = Attack::begin().await?;
    let namespaces: Api<Namespace> = Api::all(attack.stage.client.clone());
    let label = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
    let before = namespaces.patch(NAMESPACE, &PatchParams::default(), &Patch::Merge(label)).await?;
    attack.ask("main", json!({})).await?;
    attack
        .stage
        .eventually("its objects are there", async || {
            Ok(attack.stage.api::<ServiceAccount>().get_opt("bowline-ccm-main-shadow").await?)
        })
        .await?;
    let after = namespaces.get(NAMESPACE).await?;
    assert_eq!((after.labels(), after.resource_version()), (before.labels(), before.resource_version()));
    Ok(())
}

/// What the API server says to the operator's account.
struct Account(Client);

impl Account {
    async fn apply(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        rest: Value,
    ) -> Result<(), String> {
        let mut body = json!({ "apiVersion": api_version, "kind": kind });
        for (key, value) in rest.as_object().unwrap() {
            body[key] = value.clone();
        }
        let name = body["metadata"]["name"].as_str().unwrap().to_owned();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.0.clone(), namespace, &resource),
            None => Api::all_with(self.0.clone(), &resource),
        };
        let params = PatchParams::apply("bowline-operator").force();
        let done = api.patch(&name, &params, &Patch::Apply(body)).await;
        done.map(drop).map_err(|error| error.to_string())
    }
}

fn labelled(name: &str) -> Value {
    json!({ "name": name, "labels": { "bowline.dev/managed-by": "main" } })
}

fn workload(name: &str, account: &str, pod: Value) -> Value {
    let labels = json!({ "app": name });
    let mut spec =
        json!({ "serviceAccountName": account, "containers": [{ "name": "c", "image": "example.org/c:1" }] });
    for (key, value) in pod.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({ "metadata": labelled(name), "spec": { "replicas": 0, "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": spec } } })
}

#[tokio::test]
async fn the_operators_own_account_is_fenced_whatever_it_is_made_to_do() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    let account = Account(
        stage.cluster.client(&Identity::service_account("bowline-system", "bowline-operator")).await?,
    );
    let admin = Account(stage.client.clone());
    let (deployments, roles) = ("apps/v1", "rbac.authorization.k8s.io/v1");
    let main = workload("bowline-ccm-main", "bowline-ccm-main", json!({}));
    stage
        .eventually("its rights are in force", async || {
            Ok(account.apply(deployments, "Deployment", Some(NAMESPACE), main.clone()).await.ok())
        })
        .await?;
    let foreign = json!({ "metadata": { "name": "dns" }, "data": { "a": "b" } });
    admin.apply("v1", "ConfigMap", Some(NAMESPACE), foreign.clone()).await.unwrap();
    stage
        .eventually("the fence is in force", async || {
            let changed = account.apply("v1", "ConfigMap", Some(NAMESPACE), foreign.clone());
            Ok(changed.await.err().filter(|error| error.contains("only what it made")))
        })
        .await?;
    admin
        .apply(roles, "ClusterRole", None, json!({ "metadata": labelled("bowline:x"), "rules": [] }))
        .await
        .unwrap();
    let mut old = workload("occm", "occm", json!({}));
    old["metadata"] = json!({ "name": "occm" });
    admin.apply(deployments, "Deployment", Some(NAMESPACE), old.clone()).await.unwrap();

    // Beyond its rights.
    for (namespace, kind) in
        [("default", "Secret"), ("default", "ServiceAccount"), ("bowline-system", "Secret")]
    {
        let error = account
            .apply("v1", kind, Some(namespace), json!({ "metadata": labelled("bowline-ccm-x") }))
            .await;
        assert!(error.unwrap_err().contains("forbidden"), "{kind} in {namespace}");
    }
    let secrets: Api<Secret> = Api::all(account.0.clone());
    assert!(secrets.list(&ListParams::default()).await.is_err(), "all Secrets of the cluster");
    let label = json!({ "metadata": { "name": "default", "labels": { "pod-security.kubernetes.io/enforce": "privileged" } } });
    assert!(account.apply("v1", "Namespace", None, label).await.unwrap_err().contains("forbidden"));

    // Within its rights, and refused by the fence.
    let subject = json!({ "kind": "ServiceAccount", "name": POWERFUL, "namespace": "kube-system" });
    let role_ref =
        |name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name });
    let host = json!({ "volumes": [{ "name": "v", "hostPath": { "path": "/" } }] });
    let privileged = json!({ "containers": [{ "name": "c", "image": "example.org/c:1", "securityContext": { "privileged": true } }] });
    // A container that may load kernel modules controls the node.
    let capable = |containers: &str| {
        json!({ "hostNetwork": true, containers: [{ "name": "d", "image": "example.org/c:1",
        "securityContext": { "capabilities": { "drop": ["ALL"], "add": ["SYS_MODULE"] } } }] })
    };
    let token = json!({ "type": "kubernetes.io/service-account-token", "metadata": { "name": "bowline-ccm-main",
        "labels": { "bowline.dev/managed-by": "main" }, "annotations": { "kubernetes.io/service-account.name": POWERFUL } } });
    let mut changed = old.clone();
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("evil.example/c:1");
    for (api_version, kind, body, wanted) in [
        ("v1", "ServiceAccount", json!({ "metadata": labelled(POWERFUL) }), "under its prefix only"),
        ("v1", "ServiceAccount", json!({ "metadata": { "name": "bowline-ccm-x" } }), "with its label only"),
        (
            "v1",
            "ConfigMap",
            json!({ "metadata": labelled("dns"), "data": { "a": "c" } }),
            "only what it made",
        ),
        (deployments, "Deployment", workload("x", "x", json!({})), "under its prefix only"),
        (
            deployments,
            "Deployment",
            workload("bowline-ccm-x", POWERFUL, json!({})),
            "account of their workload's name",
        ),
        (
            deployments,
            "Deployment",
            workload("bowline-ccm-x", "bowline-ccm-x", host),
            "mounts nothing of the host",
        ),
        (
            deployments,
            "Deployment",
            workload("bowline-ccm-x", "bowline-ccm-x", privileged),
            "no privileged containers",
        ),
        (
            deployments,
            "Deployment",
            workload("bowline-ccm-x", "bowline-ccm-x", capable("containers")),
            "adds no capabilities",
        ),
        (
            deployments,
            "Deployment",
            workload("bowline-ccm-x", "bowline-ccm-x", capable("initContainers")),
            "adds no capabilities",
        ),
        (deployments, "Deployment", changed, "changes nothing of what they run"),
        (
            roles,
            "RoleBinding",
            json!({ "metadata": labelled("bowline:x"), "roleRef": role_ref("bowline:x"), "subjects": [subject] }),
            "its own roles to its own accounts",
        ),
        ("v1", "Secret", token, "tokens of its scrapers only"),
    ] {
        let refused = account.apply(api_version, kind, Some(NAMESPACE), body.clone()).await;
        let error = refused.err().with_context(|| format!("{kind} is refused: {body}"))?;
        assert!(error.contains(wanted), "{kind} {body}: {error}");
    }
    refuses_to_make_a_workload_of_others_its_own(&account, &old).await?;
    refuses_leases_of_others(&account, &admin).await?;
    let api: Api<Deployment> = Api::namespaced(account.0.clone(), NAMESPACE);
    let error = api.delete("occm", &DeleteParams::default()).await.unwrap_err().to_string();
    assert!(error.contains("deletes them when they are stopped"), "{error}");

    // The manager of somebody else is stopped, and then it may go.
    let stop = json!({ "metadata": { "annotations": { "bowline.dev/previous-replicas": "1" } }, "spec": { "replicas": 0 } });
    api.patch("occm", &PatchParams::default(), &Patch::Merge(stop)).await?;
    api.delete("occm", &DeleteParams::default()).await?;
    Ok(())
}

/// Taking a workload over in two requests: first the label, then the image.
async fn refuses_to_make_a_workload_of_others_its_own(account: &Account, old: &Value) -> anyhow::Result<()> {
    let api: Api<Deployment> = Api::namespaced(account.0.clone(), NAMESPACE);
    for owner in ["main", "occm"] {
        let label = json!({ "metadata": { "labels": { "bowline.dev/managed-by": owner } } });
        let refused = api.patch("occm", &PatchParams::default(), &Patch::Merge(label)).await;
        let error = refused.err().context("the label is refused")?.to_string();
        ensure!(error.contains("its label on objects under its prefix only"), "{error}");
    }
    for pod in [
        json!({ "hostPID": true }),
        json!({ "hostIPC": true }),
        json!({ "securityContext": { "runAsUser": 0 } }),
        json!({ "nodeSelector": { "node-role.kubernetes.io/control-plane": "" } }),
        json!({ "runtimeClassName": "other" }),
    ] {
        let patch = json!({ "spec": { "template": { "spec": pod } } });
        let refused = api.patch("occm", &PatchParams::default(), &Patch::Merge(patch)).await;
        let error =
            refused.err().with_context(|| format!("a change of the pods is refused: {pod}"))?.to_string();
        ensure!(error.contains("changes nothing of what they run"), "{pod}: {error}");
    }
    let annotated = json!({ "spec": { "template": { "metadata": { "annotations": { "a": "b" } } } } });
    let refused = api.patch("occm", &PatchParams::default(), &Patch::Merge(annotated)).await;
    ensure!(refused.is_err(), "annotations of pods can be instructions for what makes them");
    let now = serde_json::to_value(api.get("occm").await?)?;
    ensure!(
        now["spec"]["template"]["spec"]["containers"][0]["image"]
            == old["spec"]["template"]["spec"]["containers"][0]["image"]
    );
    ensure!(now["metadata"]["labels"]["bowline.dev/managed-by"].is_null(), "{now}");
    Ok(())
}

/// The Lease of another component stops that component.
async fn refuses_leases_of_others(account: &Account, admin: &Account) -> anyhow::Result<()> {
    let leases = "coordination.k8s.io/v1";
    let body = |holder: &str| json!({ "metadata": { "name": "cluster-autoscaler" }, "spec": { "holderIdentity": holder } });
    admin.apply(leases, "Lease", Some(NAMESPACE), body("autoscaler")).await.map_err(anyhow::Error::msg)?;
    let labelled = json!({ "metadata": labelled("bowline-ccm-x") });
    for lease in [body("evil"), labelled] {
        let refused = account.apply(leases, "Lease", Some(NAMESPACE), lease.clone()).await;
        let error = refused.err().with_context(|| format!("refused: {lease}"))?;
        ensure!(error.contains("no Lease but that of its own election"), "{error}");
    }
    Ok(())
}

/// A DaemonSet is stopped by a node selector that no node has, and started again without it.
#[tokio::test]
async fn a_daemon_set_of_others_is_stopped_and_started_and_nothing_else() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    let account = Account(
        stage.cluster.client(&Identity::service_account("bowline-system", "bowline-operator")).await?,
    );
    let labels = json!({ "app": "occm" });
    let pod =
        json!({ "containers": [{ "name": "c", "image": "example.org/c:1" }], "nodeSelector": { "a": "b" } });
    let set = json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": "occm" },
        "spec": { "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels }, "spec": pod } } });
    let made: Api<DaemonSet> = stage.api();
    made.create(&PostParams::default(), &serde_json::from_value(set)?).await?;
    let api: Api<DaemonSet> = Api::namespaced(account.0.clone(), NAMESPACE);
    let select = |selector: Value| {
        Patch::Merge(json!({ "spec": { "template": { "spec": { "nodeSelector": selector } } } }))
    };
    let foreign = json!({ "metadata": { "name": "dns" }, "data": { "a": "b" } });
    let admin = Account(stage.client.clone());
    admin.apply("v1", "ConfigMap", Some(NAMESPACE), foreign.clone()).await.map_err(anyhow::Error::msg)?;
    stage
        .eventually("its rights and the fence are in force", async || {
            let changed = account.apply("v1", "ConfigMap", Some(NAMESPACE), foreign.clone());
            Ok(changed.await.err().filter(|error| error.contains("only what it made")))
        })
        .await?;
    let moved = api.patch("occm", &PatchParams::default(), &select(json!({ "a": "c" }))).await;
    let error = moved.err().context("another node selector is refused")?.to_string();
    ensure!(error.contains("changes nothing of what they run"), "{error}");
    for selector in [json!({ "bowline.dev/stopped": "true" }), json!({ "bowline.dev/stopped": null })] {
        api.patch("occm", &PatchParams::default(), &select(selector)).await?;
    }
    let taken = api.patch("occm", &PatchParams::default(), &select(json!({ "a": null }))).await;
    ensure!(taken.is_err(), "the node selector of others stays");
    Ok(())
}
