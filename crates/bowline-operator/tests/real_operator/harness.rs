//! A cluster of one's own with an operator, and who plays the part of controllers, kubelets and the manager in it.

use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_manager::exit::StopSignal;
use bowline_manager::logging::LoggingOptions;
use bowline_manager::signals::Signals;
use bowline_operator::allowed::Allowed;
use bowline_operator::api::{CloudControllerManager, CloudControllerManagerStatus};
use bowline_operator::install::{self, Installation};
use bowline_operator::migration::Timings;
use bowline_operator::operate::{Election, Options, run};
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::objects;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Where managers run in these tests.
pub(crate) const NAMESPACE: &str = "cloud";
/// The operator's own.
pub(crate) const OPERATOR_NAMESPACE: &str = install::NAMESPACE;
/// For how long managers hold their Lease.
const LEASE_SECONDS: u32 = 3;
/// What kubelets mark the mirrors of static pods with.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";
const LOOK: Duration = Duration::from_millis(100);

/// A cluster in which an operator can work.
pub(crate) struct Harness {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    _actors: DropGuard,
}

/// An operator that runs on a runtime of its own, so that it can be killed.
pub(crate) struct Running {
    signals: Signals,
    kill: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Asks it to end, and waits.
    pub(crate) fn end(mut self) {
        self.signals.note(StopSignal::Terminate);
        self.join();
    }

    /// Ends it at once, as a crash would: it gives nothing back.
    pub(crate) fn crash(mut self) {
        self.kill.cancel();
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill.cancel();
        self.join();
    }
}

impl Harness {
    /// Starts the servers and installs our resource.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        Self::start_on(false).await
    }

    /// The same, with the rights that are for OpenShift only.
    pub(crate) async fn start_on(openshift: bool) -> anyhow::Result<Self> {
        if std::env::var_os("BOWLINE_TEST_LOG").is_some() {
            bowline_manager::logging::init(&LoggingOptions::default()).ok();
        }
        let cluster = Cluster::start().await?;
        let client = cluster.client(&Identity::Admin).await?;
        objects::create_namespace(&client, NAMESPACE).await?;
        let cancel = CancellationToken::new();
        tokio::spawn(cancel.clone().run_until_cancelled_owned(play(client.clone())));
        let stage = Self { cluster, client, _actors: cancel.drop_guard() };
        objects::define(&stage.client, &install::definition()).await?;
        stage.install(openshift).await?;
        Ok(stage)
    }

    /// What the operator is installed with, but for its pods: it has the rights that it has in a cluster, and no others.
    async fn install(&self, openshift: bool) -> anyhow::Result<()> {
        let image = Installation::of_image("example.org/bowline:1.0.0");
        let installed = install::objects(&Installation { allowed: allowed(), openshift, ..image })?;
        let others = ["CustomResourceDefinition", "Deployment", "PodDisruptionBudget"];
        for object in installed.iter().filter(|object| !others.contains(&object.kind.as_str())) {
            if let Some(namespace) = &object.namespace {
                objects::create_namespace(&self.client, namespace).await?;
            }
            let kind = ApiResource::from_gvk(&object.gvk());
            let api: Api<DynamicObject> = match &object.namespace {
                Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind),
                None => Api::all_with(self.client.clone(), &kind),
            };
            let made =
                api.create(&PostParams::default(), &serde_json::from_value(object.body.clone())?).await;
            // The namespace of the managers is there before.
            let is_there = matches!(&made, Err(kube::Error::Api(status)) if status.code == 409);
            ensure!(is_there && object.kind == "Namespace" || made.is_ok(), "{object}: {made:?}");
        }
        Ok(())
    }

    /// Starts an operator.
    pub(crate) async fn operator(&self) -> anyhow::Result<Running> {
        self.operator_on("1.0.0", Duration::from_secs(5)).await
    }

    /// Starts an operator of this version that looks at everything again after this time.
    pub(crate) async fn operator_on(&self, version: &str, resync: Duration) -> anyhow::Result<Running> {
        let account = Identity::service_account(install::NAMESPACE, install::NAME);
        let kubeconfig = self.cluster.kubeconfig(&account).await?;
        operator_with(Options {
            namespace: OPERATOR_NAMESPACE.to_owned(),
            kubeconfig: Some(kubeconfig),
            election: Election {
                lease_duration: Duration::from_secs(3),
                renew_deadline: Duration::from_secs(2),
                retry_period: Duration::from_millis(500),
            },
            bind_address: [127, 0, 0, 1].into(),
            port: 0,
            logging: LoggingOptions::default(),
            version: version.to_owned(),
            image: Some("example.org/bowline:1.0.0".to_owned()),
            allowed: allowed(),
            resync,
            timings: Timings { look: Duration::from_millis(300), ..Timings::default() },
            assume_minor: None,
            managed_namespace: "openshift-cloud-controller-manager".to_owned(),
            images_file: self.cluster.folder().join("images.json"),
            system_ca_file: self.cluster.folder().join("system-ca.pem"),
        })
    }

    /// Our resources.
    pub(crate) fn resources(&self) -> Api<CloudControllerManager> {
        Api::all(self.client.clone())
    }

    /// Objects in the namespace of the managers.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Makes a resource. `spec` wins over what all tests have, and takes away what is null in it.
    pub(crate) async fn ask(&self, name: &str, spec: Value) -> anyhow::Result<()> {
        let mut all = json!({
            "platform": "OpenStack", "clusterName": "test", "namespace": NAMESPACE, "replicas": 2,
            "image": "example.org/bowline:1.0.0",
        });
        for (key, value) in spec.as_object().context("an object")? {
            all[key] = value.clone();
        }
        all.as_object_mut().context("an object")?.retain(|_key, value| !value.is_null());
        let resource = json!({ "apiVersion": "bowline.dev/v1alpha1", "kind": "CloudControllerManager",
            "metadata": { "name": name }, "spec": all });
        // As a person would write it, and not only what our types can say.
        let kind = ApiResource::erase::<CloudControllerManager>(&());
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        api.create(&PostParams::default(), &serde_json::from_value(resource)?).await?;
        Ok(())
    }

    /// Changes a resource.
    pub(crate) async fn change(&self, name: &str, spec: Value) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.resources().patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Makes, or changes, the Secret with the configuration.
    pub(crate) async fn configure(&self, text: &str) -> anyhow::Result<()> {
        self.secret("cloud-config", "cloud.conf", text).await
    }

    /// Makes, or changes, a Secret.
    pub(crate) async fn secret(&self, name: &str, key: &str, text: &str) -> anyhow::Result<()> {
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { key: text } });
        let params = PatchParams::apply("tester").force();
        self.api::<Secret>().patch(name, &params, &Patch::Apply(secret)).await?;
        Ok(())
    }

    /// The status of a resource.
    pub(crate) async fn status(&self, name: &str) -> anyhow::Result<CloudControllerManagerStatus> {
        Ok(self.resources().get(name).await?.status.unwrap_or_default())
    }

    /// Waits until a condition has a status and a reason; gives its message.
    pub(crate) async fn condition(
        &self,
        name: &str,
        type_: &str,
        status: &str,
        reason: &str,
    ) -> anyhow::Result<String> {
        let wanted = format!("{name}: {type_} is {status}, {reason}");
        self.eventually(&wanted, async || {
            let found = self.status(name).await?;
            let mut all = found.conditions.into_iter();
            let found =
                all.find(|each| each.type_ == type_ && each.status == status && each.reason == reason);
            Ok(found.map(|condition| condition.message))
        })
        .await
        .with_context(|| wanted.clone())
    }

    /// Waits until a resource is as it shall be.
    pub(crate) async fn steady(&self, name: &str) -> anyhow::Result<CloudControllerManagerStatus> {
        self.eventually(&format!("{name} is steady"), async || {
            let status = self.status(name).await?;
            let phase = status.progress.as_deref() == Some("100% Steady");
            Ok((phase && status.version.is_some()).then_some(status))
        })
        .await
    }

    /// Waits until something is found.
    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        look: impl AsyncFn() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        match bowline_testkit::eventually(what, look).await {
            Ok(found) => Ok(found),
            Err(error) => {
                let all = self.resources().list(&ListParams::default()).await?;
                let statuses: Vec<_> =
                    all.iter().map(|each| serde_json::to_string_pretty(&each.status)).collect();
                Err(error.context(format!("{statuses:?}")))
            }
        }
    }
}

/// What resources may ask for in these tests.
pub(crate) fn allowed() -> Allowed {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Allowed {
        allowed_namespaces: words(&[NAMESPACE, "kube-system"]),
        allowed_image_registries: Vec::new(),
        allowed_secrets: words(&["cloud-config", "credentials"]),
        allowed_leases: Vec::new(),
    }
}

/// Starts an operator that is told these.
fn operator_with(options: Options) -> anyhow::Result<Running> {
    let (signals, kill) = (Signals::default(), CancellationToken::new());
    let (asked, killed) = (signals.clone(), kill.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let thread = std::thread::spawn(move || {
        let ended = runtime.block_on(killed.run_until_cancelled(run(options, asked)));
        if let Some(ended) = ended {
            ended.unwrap();
        }
        runtime.shutdown_background();
    });
    Ok(Running { signals, kill, thread: Some(thread) })
}

/// Plays everybody else, for ever.
async fn play(client: Client) {
    loop {
        // A test that has ended takes the servers with it.
        if play_once(&client).await.is_err() {
            sleep(LOOK).await;
        }
        sleep(LOOK).await;
    }
}

async fn play_once(client: &Client) -> anyhow::Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let found = deployments.list(&ListParams::default()).await?.items;
    for pod in pods.list(&ListParams::default()).await?.items {
        // What a kubelet has from a file stays, and leads if nobody else does.
        if pod.annotations().contains_key(MIRROR) {
            lead(client, &format!("{}_x", pod.name_any())).await?;
            continue;
        }
        let is_wanted = found.iter().any(|each| pod.labels().get("of") == Some(&revision(each)));
        if !is_wanted {
            pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await?;
        }
    }
    for deployment in &found {
        roll_out(client, &deployments, &pods, deployment).await?;
    }
    Ok(())
}

/// One name for each specification of a Deployment.
fn revision(deployment: &Deployment) -> String {
    format!("{}.{}", deployment.name_any(), deployment.metadata.generation.unwrap_or_default())
}

async fn roll_out(
    client: &Client,
    deployments: &Api<Deployment>,
    pods: &Api<Pod>,
    deployment: &Deployment,
) -> anyhow::Result<()> {
    let (name, generation) = (deployment.name_any(), deployment.metadata.generation);
    let spec = deployment.spec.clone().context("spec")?;
    let replicas = spec.replicas.unwrap_or(1);
    for index in 0..replicas {
        let mut pod = Pod {
            metadata: spec.template.metadata.clone().unwrap_or_default(),
            spec: spec.template.spec.clone(),
            status: None,
        };
        pod.metadata.name = Some(format!("{}-{index}", revision(deployment).replace('.', "-")));
        pod.labels_mut().insert("of".to_owned(), revision(deployment));
        if let Some(spec) = &mut pod.spec {
            spec.node_name = Some(format!("node-{index}"));
        }
        let name = pod.name_any();
        if pods.get_opt(&name).await?.is_none() {
            pods.create(&PostParams::default(), &pod).await?;
            let status = json!({ "status": { "phase": "Running", "startTime": Timestamp::now(),
                "conditions": [{ "type": "Ready", "status": "True" }] } });
            pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
        }
    }
    if deployment.status.as_ref().and_then(|status| status.observed_generation) != generation {
        let status = json!({ "status": { "observedGeneration": generation, "replicas": replicas,
            "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [{ "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "" }] } });
        deployments.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    }
    let mode = spec.template.metadata.and_then(|meta| meta.annotations?.remove("bowline.dev/mode"));
    let holder = format!("{}-0_x", revision(deployment).replace('.', "-"));
    match mode.as_deref() {
        Some("Shadow") => report(client, name.trim_end_matches("-shadow"), "Shadow", &holder).await,
        Some("ServiceOnly") if lead(client, &holder).await? => {
            report(client, &name, "AdoptOnly", &holder).await
        }
        Some("ServiceOnly") => Ok(()),
        // With a mode, ours; without one, somebody else's. All of them heed the Lease.
        _ if replicas > 0 => lead(client, &holder).await.map(drop),
        _ => Ok(()),
    }
}

/// What our manager says: there is nothing to do.
async fn report(client: &Client, name: &str, mode: &str, holder: &str) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let nodes: Api<Node> = Api::all(client.clone());
    let present = nodes.list(&ListParams::default()).await?.items.len();
    let report = json!({
        "format": 1, "mode": mode, "leader": mode == "AdoptOnly", "version": "1.0.0", "clusterName": "test", "startedAt": now,
        "observedAt": now, "holder": holder, "loadBalancers": { "state": "Available" }, "instances": { "state": "Available" },
        "services": { "total": 0 }, "findings": [], "nodes": { "present": present },
    });
    let name = format!("{name}-shadow-report");
    let stored = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
        "data": { "report.json": report.to_string() } });
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    api.patch(&name, &PatchParams::apply("manager").force(), &Patch::Apply(stored)).await?;
    Ok(())
}

/// Takes, or renews, the Lease of managers, if it is free, over or its own already.
async fn lead(client: &Client, holder: &str) -> anyhow::Result<bool> {
    let api: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    let now = Timestamp::now();
    let found =
        api.get_opt("cloud-controller-manager").await?.and_then(|lease| lease.spec).unwrap_or_default();
    let is_other = found.holder_identity.as_deref().is_some_and(|other| !other.is_empty() && other != holder);
    let limit = Duration::from_secs(u64::from(LEASE_SECONDS));
    let is_fresh =
        found.renew_time.is_some_and(|renewed| now.duration_since(renewed.0).unsigned_abs() <= limit);
    if is_other && is_fresh {
        return Ok(false);
    }
    let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "cloud-controller-manager" },
        "spec": { "holderIdentity": holder, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": format!("{now:.6}") } });
    api.patch("cloud-controller-manager", &PatchParams::apply("manager").force(), &Patch::Apply(lease))
        .await?;
    Ok(true)
}
