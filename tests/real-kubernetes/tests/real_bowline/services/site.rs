//! A cluster, a cloud, the people who use both, and the manager between them with the rights that are shipped.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::{Binaries, Cluster, Identity};
use http::Request;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{Event, Service};
use kube::api::ListParams;
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::kubectl::Kubectl;
use crate::openstack::{self, OpenStack};
use bowline_testkit::cloud::Cloud;
use bowline_testkit::process::{self, Process, program};
use bowline_testkit::{deadline, eventually};

/// A manager is quiet when it has asked the cloud for nothing this long.
const QUIET: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);

/// Which components of events are the manager's: its controller, and its cloud.
const OURS: [&str; 2] = ["service-controller", "cloud-controller-manager"];

/// Where the Services are.
pub(crate) const NAMESPACE: &str = "shop";
/// Whom the manager runs as: the ServiceAccount of the shipped manifest.
const ACCOUNT: (&str, &str) = ("kube-system", "cloud-controller-manager");
const RBAC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/rbac.yaml");

const FLAGS: [&str; 9] = [
    "--cloud-provider=openstack",
    "--bind-address=127.0.0.1",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
    "--controller-start-interval=0s",
    "--kube-api-qps=200",
    "--kube-api-burst=400",
    "--cloud-api-qps=100",
];

/// The programs that people use.
pub(crate) struct Tools {
    kubectl: PathBuf,
    openstack: PathBuf,
}

impl Tools {
    /// The programs of this machine; none, said aloud, if one is missing.
    pub(crate) fn locate() -> anyhow::Result<Option<Self>> {
        let Some(kubectl) = Binaries::locate()?.kubectl else {
            println!("not tested: no kubectl beside kube-apiserver; run `cargo xtask kubernetes`");
            return Ok(None);
        };
        match openstack::locate() {
            Ok(openstack) => Ok(Some(Self { kubectl, openstack })),
            Err(problem) => {
                println!("not tested: {problem}");
                Ok(None)
            }
        }
    }
}

/// A cluster on a cloud.
pub(crate) struct Site {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) cluster: Cluster,
    /// Who runs the cluster.
    pub(crate) admin: Kubectl,
    /// Who has Services in it.
    pub(crate) user: Kubectl,
    /// Who runs the cluster, as a member of its project.
    pub(crate) member: OpenStack,
    /// Who runs the cloud.
    pub(crate) operator: OpenStack,
    services: Api<Service>,
    events: Api<Event>,
    kubeconfig: PathBuf,
    conf: PathBuf,
    log: PathBuf,
    port: u16,
}

impl Site {
    /// A cluster on a cloud, with a Node for each of its servers. No manager runs yet.
    pub(crate) async fn start(tools: &Tools, cloud: Arc<Cloud>, conf: &str) -> anyhow::Result<Self> {
        let cluster = Cluster::start().await?;
        let folder = cluster.folder().to_owned();
        cloud.write_clouds_yaml(&folder)?;
        let openstack = |cloud| OpenStack::start(&tools.openstack, cloud, &folder);
        let (member, operator) = (openstack("sim")?, openstack("sim-admin")?);
        let cache = folder.join("kubectl");
        let kubectl = |kubeconfig| Kubectl::new(&tools.kubectl, kubeconfig, &cache);
        let admin = kubectl(cluster.kubeconfig(&Identity::Admin).await?);
        admin.run(&["apply", "-f", RBAC]).await?;
        admin.run(&["create", "namespace", NAMESPACE]).await?;
        // `edit` itself is put together by a controller that is not here.
        for name in ["edit", "view"] {
            let role = format!("--clusterrole=system:aggregate-to-{name}");
            let namespace = format!("--namespace={NAMESPACE}");
            admin.run(&["create", "rolebinding", name, &role, "--user=dev", &namespace]).await?;
        }
        let user = kubectl(cluster.kubeconfig(&Identity::user("dev")).await?).within(NAMESPACE);
        let client = cluster.client(&Identity::Admin).await?;
        let site = Self {
            admin,
            user,
            member,
            operator,
            services: Api::namespaced(client.clone(), NAMESPACE),
            events: Api::namespaced(client, NAMESPACE),
            kubeconfig: cluster.kubeconfig(&Identity::service_account(ACCOUNT.0, ACCOUNT.1)).await?,
            conf: cloud.write_conf(&folder, conf)?,
            log: folder.join("bowline.log"),
            // Free now, and for the moment until the manager takes it.
            port: TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
            cloud,
            cluster,
        };
        for (name, id, address) in site.cloud.machines().await? {
            site.add_node(&name, &id, &address).await?;
        }
        Ok(site)
    }

    /// A Node as it is some time after its server has started.
    pub(crate) async fn add_node(&self, name: &str, id: &str, address: &str) -> anyhow::Result<()> {
        let labels = json!({"kubernetes.io/hostname": name});
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": format!("openstack:///{id}")},
        });
        self.admin.apply(&node).await?;
        let addresses = [("InternalIP", address), ("Hostname", name)];
        let addresses = addresses.map(|(kind, address)| json!({"type": kind, "address": address}));
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        let status = json!({"status": {"addresses": addresses, "conditions": conditions}}).to_string();
        let patch = ["patch", "node", name, "--subresource=status", "--type=merge", "-p", &status];
        self.admin.run(&patch).await.map(drop)
    }

    /// Starts the manager.
    pub(crate) fn run(&self, flags: &[&str]) -> anyhow::Result<Process> {
        let mut command = Command::new(program("bowline")?);
        let kubeconfig = self.kubeconfig.display();
        command
            .arg("ccm")
            .args(FLAGS)
            .args(flags)
            .arg(format!("--secure-port={}", self.port))
            .arg(format!("--cloud-config={}", self.conf.display()))
            .arg(format!("--kubeconfig={kubeconfig}"))
            .arg(format!("--authentication-kubeconfig={kubeconfig}"))
            .arg(format!("--authorization-kubeconfig={kubeconfig}"));
        Process::start(command, self.log.clone())
    }

    /// What the manager answers to an administrator who asks whether it is ready.
    pub(crate) async fn readyz(&self) -> anyhow::Result<String> {
        let mut config = self.cluster.config(&Identity::Admin).await?;
        config.cluster_url = format!("https://127.0.0.1:{}", self.port).parse()?;
        (config.accept_invalid_certs, config.root_cert) = (true, None);
        let request = Request::get("/readyz?verbose").body(Body::empty())?;
        let answer = Client::try_from(config)?.send(request).await?;
        Ok(String::from_utf8(answer.into_body().collect().await?.to_bytes().to_vec())?)
    }

    /// Waits until an administrator reads all of this on `/readyz`.
    pub(crate) async fn until_readyz(&self, parts: &[&str]) -> anyhow::Result<()> {
        let mut last = String::new();
        let seen = self.until("what /readyz shall say", async || {
            // It may not serve yet.
            last = self.readyz().await.unwrap_or_default();
            Ok(parts.iter().all(|part| last.contains(part)).then_some(()))
        });
        let seen = seen.await;
        seen.with_context(|| format!("{parts:?} in {last}"))
    }

    /// The last lines of the manager's log.
    pub(crate) fn tail(&self) -> String {
        process::tail(&self.log)
    }

    /// Writes the cloud.conf anew, as one does who rotates a password.
    pub(crate) fn rewrite_conf(&self, password: &str, conf: &str) -> anyhow::Result<()> {
        let folder = self.conf.parent().unwrap_or(Path::new("."));
        self.cloud.write_conf_with(folder, password, conf).map(drop)
    }

    /// Waits until an answer comes out of `look`.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        eventually(what, look).await.with_context(|| self.tail())
    }

    /// Waits until the `openstack` client shows rows as they are wanted.
    pub(crate) async fn until_rows(
        &self,
        command: &str,
        what: &str,
        wanted: impl Fn(&[Value]) -> bool,
    ) -> anyhow::Result<Vec<Value>> {
        let mut last = Vec::new();
        let seen = self.until(what, async || {
            last = self.member.rows(command).await?;
            Ok(wanted(&last).then(|| last.clone()))
        });
        let seen = seen.await;
        seen.with_context(|| format!("openstack {command}: {last:#?}"))
    }

    /// Waits until a Service is as wanted.
    pub(crate) async fn until_service(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let mut last = Value::Null;
        let what = format!("{name} {what}");
        let seen = self.until(&what, async || {
            last = serde_json::to_value(self.services.get(name).await?)?;
            Ok(wanted(&last).then(|| last.clone()))
        });
        let seen = seen.await;
        seen.with_context(|| format!("{last:#}"))
    }

    /// Waits until a Service has an address and is ready; the answer is the Service.
    pub(crate) async fn until_ready(&self, name: &str) -> anyhow::Result<Value> {
        self.until_service(name, "is ready", |service| {
            address(service).is_some() && condition(service)["status"] == "True"
        })
        .await
    }

    /// Waits until a Service is gone.
    pub(crate) async fn until_gone(&self, name: &str) -> anyhow::Result<()> {
        self.until(&format!("{name} is gone"), async || {
            Ok(self.services.get_opt(name).await?.is_none().then_some(()))
        })
        .await
    }

    /// What the manager warns of at a Service: reason and text. The API server tells of its own repairs there too.
    pub(crate) async fn warnings(&self, name: &str) -> anyhow::Result<Vec<(String, String)>> {
        let fields = format!("involvedObject.name={name},type=Warning");
        let events = self.events.list(&ListParams::default().fields(&fields)).await?;
        let said = |event: Event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default());
        let from = |event: &Event| event.reporting_component.clone().unwrap_or_default();
        let is_ours = |event: &Event| OURS.contains(&from(event).as_str());
        Ok(events.into_iter().filter(is_ours).map(said).collect())
    }

    /// Waits until the manager has asked the cloud for something, and then for nothing for a while.
    pub(crate) async fn until_quiet(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + deadline();
        let (mut since, mut before) = (Instant::now(), 0);
        while since.elapsed() < QUIET || before == 0 {
            ensure!(Instant::now() < deadline, "never quiet: {:?}\n{}", self.cloud.counts(), self.tail());
            sleep(LOOK).await;
            let (now, _) = self.cloud.requests();
            if now != before {
                (since, before) = (Instant::now(), now);
            }
        }
        Ok(())
    }
}

/// A Service with one port, or with the ports that `spec` gives.
pub(crate) fn service(name: &str, annotations: &[(&str, &str)], spec: &Value) -> Value {
    let mut whole = json!({
        "type": "LoadBalancer", "selector": {"app": name}, "ports": [{"name": "http", "port": 80}],
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations}, "spec": whole,
    })
}

/// The address in a Service's status.
pub(crate) fn address(service: &Value) -> Option<String> {
    let first = &service["status"]["loadBalancer"]["ingress"][0];
    first["ip"].as_str().or_else(|| first["hostname"].as_str()).map(ToOwned::to_owned)
}

/// What Bowline says on a Service.
pub(crate) fn condition(service: &Value) -> &Value {
    let conditions = service["status"]["conditions"].as_array().into_iter().flatten();
    let mut ours = conditions.filter(|condition| condition["type"] == "bowline.dev/LoadBalancerReady");
    ours.next().unwrap_or(&Value::Null)
}

/// The id of its load balancer, as Bowline has noted it.
pub(crate) fn balancer_id(service: &Value) -> anyhow::Result<String> {
    let id = service["metadata"]["annotations"]["loadbalancer.openstack.org/load-balancer-id"].as_str();
    id.map(ToOwned::to_owned).with_context(|| format!("no load-balancer-id on {service:#}"))
}
