//! A cluster and a cloud, a manager's traces in the cluster, and a hand that does the manager's work for one Service.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use bowline_cli::session::{Access, Session};
use bowline_cloud::{Plan, Unfenced};
use bowline_controllers::shadow::preview;
use bowline_manager::serving::certs::{LEASE_ANNOTATION, fingerprint};
use bowline_testkit::Wait;
pub(crate) use bowline_testkit::command::Finished;
use bowline_testkit::simulated::SimulatedCluster;
use clap::{CommandFactory, Parser};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

use bowline_testkit::cloud::{Cloud, Options};

/// What the cluster is called in the cloud.
pub(crate) const CLUSTER: &str = "prod-1";

#[derive(Debug, Parser)]
#[command(name = "bowline")]
pub(crate) struct Line {
    #[command(subcommand)]
    pub(crate) command: bowline_cli::Command,
}

/// What the API server answers in place of the simulator, by the ends of paths, with status code and text: the pages of a manager, which
/// the simulator does not run, its logs, and objects that it does not define.
pub(crate) struct Pages(pub(crate) Vec<(&'static str, u16, &'static str)>);

/// The manager is well.
pub(crate) const WELL: (&str, u16, &str) =
    ("/pods/https:ccm-1:10258/proxy/readyz", 200, "[+]ping ok\nreadyz check passed\n");

impl sim_kube::Interceptor for Pages {
    fn before(&self, request: &sim_kube::RequestInfo) -> sim_kube::Verdict {
        let found = self.0.iter().find(|(end, ..)| request.path.ends_with(end));
        found.map_or(sim_kube::Verdict::Pass, |(_, code, body)| sim_kube::Verdict::Answer {
            code: *code,
            body: (*body).to_owned(),
        })
    }
}

pub(crate) struct Harness {
    cluster: SimulatedCluster,
    pub(crate) cloud: Cloud,
    pub(crate) folder: TempDir,
    /// The UID of the cluster.
    pub(crate) uid: String,
}

impl Deref for Harness {
    type Target = SimulatedCluster;

    fn deref(&self) -> &SimulatedCluster {
        &self.cluster
    }
}

impl Harness {
    /// So many ready Nodes with their servers, a manager that leads, and its Secret.
    pub(crate) async fn start(servers: usize) -> anyhow::Result<Self> {
        Self::start_with_clocks(servers, SignedDuration::ZERO, SignedDuration::ZERO).await
    }

    /// The same where the clocks of the cluster and of the cloud are so far ahead of the one here.
    pub(crate) async fn start_with_clocks(
        servers: usize,
        cluster: SignedDuration,
        cloud: SignedDuration,
    ) -> anyhow::Result<Self> {
        let cloud = Cloud::start_with(Options {
            now: Timestamp::now().checked_add(cloud)?,
            ..Options::new(servers)
        })?;
        let folder = tempfile::tempdir()?;
        let conf = cloud.write_conf(folder.path(), "")?;
        let clock =
            sim_kube::Clock::new(move || Timestamp::now().checked_add(cluster).unwrap_or(Timestamp::MAX));
        let cluster = SimulatedCluster::start(sim_kube::Config { clock, ..sim_kube::Config::real() }).await?;
        std::fs::write(folder.path().join("kubeconfig"), cluster.kubeconfig())?;
        let system = cluster.read("/api/v1/namespaces/kube-system");
        let uid = system["metadata"]["uid"].as_str().context("no kube-system")?.to_owned();
        let stage = Self { cluster, cloud, folder, uid };
        for (name, id, address) in stage.cloud.machines().await? {
            stage.seed(node(&name, Some(&format!("openstack:///{id}")), &address))?;
        }
        stage.seed(manager("ccm-1", "bowline"))?;
        let text = std::fs::read_to_string(conf)?;
        stage.seed(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloud-config", "namespace": "kube-system"},
            "data": {"cloud.conf": base64(text.as_bytes())},
        }))?;
        stage.seed(json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bowline-viewer", "namespace": "kube-system"},
        }))?;
        stage.lead(Timestamp::now())?;
        stage.cluster.kube.intercept(Pages(vec![WELL]));
        Ok(stage)
    }

    /// The manager renewed its Lease then.
    pub(crate) fn lead(&self, at: Timestamp) -> anyhow::Result<()> {
        let renewed = format!("{at:.6}");
        self.seed(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
            "spec": {"holderIdentity": "ccm-1_x", "leaseDurationSeconds": 3600, "renewTime": renewed, "acquireTime": renewed},
        }))
    }

    /// The leader names this certificate on its Lease.
    pub(crate) fn name_certificate(&self, certificate: &[u8]) -> anyhow::Result<()> {
        let fingerprint = fingerprint(certificate).context("no SHA-256")?;
        self.patch(
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager",
            &json!({"metadata": {"annotations": {LEASE_ANNOTATION: fingerprint}}}),
        )
    }

    pub(crate) fn conf(&self) -> PathBuf {
        self.folder.path().join("cloud.conf")
    }

    /// Writes what the manager says of a Service of namespace default.
    pub(crate) fn say(&self, service: &str, reason: &str, message: &str) -> anyhow::Result<()> {
        let condition = json!({
            "type": "bowline.dev/LoadBalancerReady", "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": "2026-11-16T08:00:00Z",
        });
        let path = format!("/api/v1/namespaces/default/services/{service}/status");
        self.patch(&path, &json!({"status": {"conditions": [condition]}}))
    }

    /// The manager tells that the cloud does not know it, or that it does again.
    pub(crate) fn lose_identity(&self, lost: bool) -> anyhow::Result<()> {
        let (reason, message) = if lost {
            ("CloudIdentityLost", "401")
        } else {
            ("CloudIdentityFound", "changes are made again")
        };
        let lease = json!({"kind": "Lease", "namespace": "kube-system", "name": "cloud-controller-manager"});
        self.event(&lease, reason, message)
    }

    /// Writes an event of now about an object that this names. It occurred three times.
    pub(crate) fn event(&self, object: &Value, reason: &str, message: &str) -> anyhow::Result<()> {
        let namespace = object["namespace"].as_str().unwrap_or("default");
        self.seed(json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": reason.to_lowercase(), "namespace": namespace},
            "involvedObject": object, "reason": reason, "type": "Warning", "message": message, "count": 3,
            "lastTimestamp": Timestamp::now().to_string(),
        }))
    }

    /// Pauses the whole cluster for a reason, or ends that.
    pub(crate) fn pause(&self, why: Option<&str>) -> anyhow::Result<()> {
        self.patch(
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager",
            &json!({"metadata": {"annotations": {"bowline.dev/paused": why}}}),
        )
    }

    /// Makes a Service of type LoadBalancer with port 80.
    pub(crate) fn service(&self, name: &str) -> anyhow::Result<()> {
        let new = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "protocol": "TCP"}]},
        });
        self.create("/api/v1/namespaces/default/services", &new)
    }

    /// Runs a command with the cluster and the cloud of the stage.
    pub(crate) async fn run(&self, line: &str) -> anyhow::Result<Finished> {
        let conf = self.conf();
        self.run_with(line, Some(&conf)).await
    }

    /// The same with another cloud.conf, or with none.
    pub(crate) async fn run_with(&self, line: &str, conf: Option<&Path>) -> anyhow::Result<Finished> {
        self.run_by(&self.folder.path().join("kubeconfig"), line, conf).await
    }

    /// The same by somebody with another kubeconfig.
    pub(crate) async fn run_by(
        &self,
        kubeconfig: &Path,
        line: &str,
        conf: Option<&Path>,
    ) -> anyhow::Result<Finished> {
        let mut words: Vec<String> =
            std::iter::once("bowline").chain(line.split_whitespace()).map(str::to_owned).collect();
        words.push(format!("--kubeconfig={}", kubeconfig.display()));
        words.extend(conf.map(|conf| format!("--cloud-config={}", conf.display())));
        Self::run_words(words).await
    }

    /// Runs a command line as it is.
    pub(crate) async fn run_words(words: Vec<String>) -> anyhow::Result<Finished> {
        let line = words.join(" ");
        let command = Line::try_parse_from(words)?.command;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = bowline_cli::execute(command, Line::command(), &mut out, &mut err).await;
        Ok(Finished { line, code: code.into(), out: String::from_utf8(out)?, err: String::from_utf8(err)? })
    }

    fn access(&self) -> Access {
        Access {
            kubeconfig: Some(self.folder.path().join("kubeconfig")),
            cloud_config: Some(self.conf()),
            manager_namespace: "kube-system".to_owned(),
            lease: "cloud-controller-manager".to_owned(),
            ..Access::default()
        }
    }

    /// Does for a Service what the manager would, to the end.
    pub(crate) async fn settle(&self, name: &str) -> anyhow::Result<()> {
        let failed = |ending: bowline_cli::ending::Ending| anyhow::anyhow!(ending.why);
        let session = Session::open(&self.access()).await.map_err(failed)?;
        let cloud = session.cloud().await.map_err(failed)?;
        let balancers = cloud.load_balancers().map_err(anyhow::Error::msg)?;
        let nodes = session.cluster.nodes().await.map_err(failed)?;
        let wait = Wait::default().every(Duration::from_millis(20));
        wait.until(format!("{name} settles"), async || {
            let (view, _object) = session.cluster.service("default", name).await.map_err(failed)?;
            let policy = balancers.policy();
            let request =
                preview::request(policy.as_ref(), &session.cluster_name, &view, &nodes, session.now);
            let request = request.context("it wants no load balancer")?;
            let mut looked = balancers.observe(std::slice::from_ref(&request)).await;
            let observed = looked.pop().context("no answer")?.map_err(|doubt| anyhow::anyhow!("{doubt}"))?;
            match observed.plan(session.now) {
                Plan::Act(steps) => {
                    let first = steps.first().context("a plan without steps")?;
                    balancers
                        .execute(&first.step, &Unfenced)
                        .await
                        .map_err(|error| anyhow::anyhow!("{error}"))?;
                    Ok(None)
                }
                Plan::Wait(_) => Ok(None),
                Plan::Settled(status) => {
                    let notes = observed.annotations();
                    let noted: serde_json::Map<String, Value> =
                        notes.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
                    let path = format!("/api/v1/namespaces/default/services/{name}");
                    let finalizers = json!([bowline_cloud::service::FINALIZER]);
                    self.patch(
                        &path,
                        &json!({"metadata": {"annotations": noted, "finalizers": finalizers}}),
                    )?;
                    self.patch(&format!("{path}/status"), &json!({"status": {"loadBalancer": status}}))?;
                    Ok(Some(()))
                }
                other => bail!("{other:?}"),
            }
        })
        .await
    }
}

/// A ready Node.
pub(crate) fn node(name: &str, provider_id: Option<&str>, address: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "spec": {"providerID": provider_id},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": "2026-11-16T08:00:00Z"}],
        },
    })
}

/// A pod that runs a manager.
pub(crate) fn manager(name: &str, program: &str) -> Value {
    let command =
        if program == "bowline" { json!(["/bowline", "ccm"]) } else { json!([format!("/bin/{program}")]) };
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "serviceAccountName": "cloud-controller-manager",
            "containers": [{
                "name": "manager", "image": "r.example/bowline:v1", "command": command,
                "args": [format!("--cluster-name={CLUSTER}"), "--cloud-config=/etc/cloud/cloud.conf"],
                "env": [{"name": "SOMETHING", "value": "CANARY-of-the-pod"}],
                "volumeMounts": [{"name": "conf", "mountPath": "/etc/cloud"}],
            }],
            "volumes": [{"name": "conf", "secret": {"secretName": "cloud-config"}}],
        },
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "manager", "ready": true, "restartCount": 0, "image": "", "imageID": ""},
        ]},
    })
}

fn base64(bytes: &[u8]) -> Value {
    // As the API has it: a Secret's data is what this type writes.
    json!(k8s_openapi::ByteString(bytes.to_vec()))
}
