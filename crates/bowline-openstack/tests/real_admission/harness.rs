//! A cluster with the policy in force, Services that were there before it, and the verdicts of both sides.

use std::collections::BTreeMap;

use anyhow::Context;
use bowline_cloud::{IpFamily, Protocol, ServicePort, ServiceType, ServiceView};
use bowline_openstack::config::CloudConf;
use bowline_openstack::loadbalancer::admission;
use bowline_openstack::loadbalancer::annotations::PREFIX;
use bowline_openstack::loadbalancer::features::{ApiVersion, Features};
use bowline_openstack::loadbalancer::intent::{Intent, Surroundings};
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::eventually;
use bowline_testkit::manifest::apply_manifest;
use k8s_openapi::api::core::v1::Service;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::OnceCell;

const MANIFEST: &str = include_str!("../../../../deploy/admission.yaml");
/// Services that were made before there was a policy are in a namespace of their own.
static OLD: OnceCell<String> = OnceCell::const_new();

/// Annotations, by key.
pub(crate) type Annotations = BTreeMap<String, String>;

/// One annotation. A key without a slash is one of ours.
pub(crate) fn one(key: &str, value: &str) -> Annotations {
    let key = if key.contains('/') { key.to_owned() } else { format!("{PREFIX}{key}") };
    [(key, value.to_owned())].into()
}

/// A Service of a type.
pub(crate) fn service(kind: &str, annotations: &Annotations) -> anyhow::Result<Service> {
    Ok(serde_json::from_value(json!({
        "metadata": {"generateName": "web-", "annotations": annotations},
        "spec": {"type": kind, "ports": [{"port": 80}]},
    }))?)
}

/// What the API server says to a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Admitted,
    /// The policy refuses, with a message.
    Policy(String),
    /// The API server refuses by itself.
    Server(String),
}

impl Verdict {
    pub(crate) fn of<T>(result: kube::Result<T>) -> anyhow::Result<Self> {
        match result {
            Ok(_object) => Ok(Self::Admitted),
            Err(kube::Error::Api(status)) if status.message.contains(admission::NAME) => {
                let (_, message) = status.message.split_once("denied request: ").context("no message")?;
                Ok(Self::Policy(message.to_owned()))
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422) => {
                Ok(Self::Server(status.message.clone()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The cluster as one test sees it.
pub(crate) struct Harness {
    /// To see what else an answer has.
    pub(crate) client: Client,
    /// Services of this test.
    pub(crate) services: Api<Service>,
    /// Services from before.
    pub(crate) old: Api<Service>,
}

impl Harness {
    pub(crate) async fn new() -> anyhow::Result<Self> {
        let cluster = Cluster::shared().await?;
        let client = cluster.client(&Identity::Admin).await?;
        let old = OLD.get_or_try_init(|| prepare(cluster, client.clone())).await?;
        let namespace = cluster.namespace("admission").await?;
        let (services, old) =
            (Api::namespaced(client.clone(), &namespace), Api::namespaced(client.clone(), old));
        Ok(Self { client, services, old })
    }

    /// What the API server says to a new load balancer with these annotations.
    pub(crate) async fn verdict(&self, annotations: &Annotations) -> anyhow::Result<Verdict> {
        Verdict::of(try_out(&self.services, &service("LoadBalancer", annotations)?).await)
    }
}

async fn try_out(services: &Api<Service>, service: &Service) -> kube::Result<Service> {
    services.create(&PostParams { dry_run: true, ..PostParams::default() }, service).await
}

/// Makes Services with bad values, then the policy, and waits until it is in force.
async fn prepare(cluster: &Cluster, client: Client) -> anyhow::Result<String> {
    let namespace = cluster.namespace("before").await?;
    let services = Api::namespaced(client.clone(), &namespace);
    for (name, kind) in [("balanced", "LoadBalancer"), ("replaced", "LoadBalancer"), ("inside", "ClusterIP")]
    {
        let mut service = service(kind, &bad())?;
        service.metadata.name = Some(name.to_owned());
        services.create(&PostParams::default(), &service).await?;
    }
    apply_manifest(&client, MANIFEST).await?;
    eventually("the policy is in force", async || {
        let verdict = Verdict::of(try_out(&services, &service("LoadBalancer", &bad())?).await)?;
        Ok((verdict != Verdict::Admitted).then_some(()))
    })
    .await?;
    Ok(namespace)
}

/// A number and a flag that are none.
pub(crate) fn bad() -> Annotations {
    let mut annotations = one("connection-limit", "ten");
    annotations.extend(one("keep-floatingip", "perhaps"));
    annotations
}

/// What the controller says to the same Service: its problems.
pub(crate) fn problems(annotations: &Annotations) -> Vec<String> {
    let port =
        ServicePort { protocol: Protocol::Tcp, port: 80, node_port: Some(30_080), ..ServicePort::default() };
    let view = ServiceView {
        namespace: "default".into(),
        name: "web".into(),
        uid: "11111111-2222-3333-4444-555555555555".into(),
        kind: ServiceType::LoadBalancer,
        annotations: annotations.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
        ports: vec![port],
        ip_families: vec![IpFamily::V4],
        ..ServiceView::default()
    };
    let conf = CloudConf::default();
    let config = &conf.load_balancer;
    let features = Features::of(&config.lb_provider, ApiVersion(2, 27));
    let around = Surroundings { cluster: "test", config, classes: &conf.classes, features };
    Intent::of(&view, &around).err().map(|refusal| refusal.problems).unwrap_or_default()
}
