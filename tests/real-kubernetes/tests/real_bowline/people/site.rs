//! A cluster with the roles of the guide, a cloud, a manager with the rights that are shipped, and a Service that it has served.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::eventually;
use bowline_testkit::process::{Process, program};
use serde_json::{Value, json};

use crate::kubectl::Kubectl;
use crate::people::person::Person;
use bowline_testkit::cloud::Cloud;

/// What the cluster is called in the cloud.
pub(crate) const CLUSTER: &str = "prod-1";
/// Where the Service is, and what it is called.
pub(crate) const NAMESPACE: &str = "shop";
pub(crate) const SERVICE: &str = "web";
/// The pod of the manager, as the cluster knows it.
pub(crate) const POD: &str = "ccm-1";
/// The Role and the ClusterRole for people who look.
pub(crate) const ROLE: &str = "bowline-people";
const SYSTEM: &str = "kube-system";
const ACCOUNT: &str = "cloud-controller-manager";
const RBAC: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/rbac.yaml"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/rbac-viewer.yaml"),
];
const GUIDE: &str = include_str!("../../../../../docs/guides/command-line.md");
/// The files of the guide.
const ROLES: [&str; 2] = ["people.yaml", "people-who-write.yaml"];

pub(crate) struct Site {
    pub(crate) cloud: Cloud,
    pub(crate) cluster: Cluster,
    pub(crate) admin: Kubectl,
    /// The program.
    pub(crate) kubectl: PathBuf,
    conf: PathBuf,
    port: u16,
    manager: Option<Process>,
}

impl Site {
    pub(crate) async fn start(kubectl: &Path) -> anyhow::Result<Self> {
        let (cluster, cloud) = (Cluster::start().await?, Cloud::start(3).await?);
        let folder = cluster.folder().to_owned();
        let admin = Kubectl::new(
            kubectl,
            cluster.kubeconfig(&Identity::Admin).await?,
            &folder.join("cache-of-kubectl"),
        );
        for rights in RBAC {
            admin.run(&["apply", "-f", rights]).await?;
        }
        for name in ROLES {
            let path = folder.join(name);
            std::fs::write(&path, of_guide(name)?)?;
            admin.run(&["apply", "-f", &path.display().to_string()]).await?;
        }
        cloud.write_clouds_yaml(&folder)?;
        let mut site = Self {
            conf: cloud.write_conf(&folder, "")?,
            // Free now, and for the moment until the manager takes it.
            port: TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
            manager: None,
            kubectl: kubectl.to_owned(),
            admin,
            cloud,
            cluster,
        };
        for (name, id, address) in site.cloud.machines().await? {
            site.add_node(&name, &id, &address).await?;
        }
        site.manager = Some(site.run().await?);
        site.show_the_manager().await?;
        site.admin.run(&["create", "namespace", NAMESPACE]).await?;
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": NAMESPACE},
            "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]},
        });
        site.admin.apply(&service).await?;
        site.until("the Service is ready, and told to be", async || {
            let service = site.service().await?;
            let mut conditions = service["status"]["conditions"].as_array().into_iter().flatten();
            let is_ready =
                |one: &Value| one["type"] == "bowline.dev/LoadBalancerReady" && one["status"] == "True";
            let fields = "--field-selector=reason=EnsuredLoadBalancer";
            let events = site.json(&["get", "events", "--namespace", NAMESPACE, fields]).await?;
            let is_told = events["items"].as_array().is_some_and(|events| !events.is_empty());
            Ok((conditions.any(is_ready) && is_told).then_some(()))
        })
        .await?;
        Ok(site)
    }

    async fn add_node(&self, name: &str, id: &str, address: &str) -> anyhow::Result<()> {
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "spec": {"providerID": format!("openstack:///{id}")},
        });
        self.admin.apply(&node).await?;
        let addresses =
            json!([{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]);
        self.patch_status("node", name, &json!({"addresses": addresses})).await?;
        self.set_ready(name, "True").await
    }

    /// Says for a kubelet whether its Node is ready.
    pub(crate) async fn set_ready(&self, node: &str, status: &str) -> anyhow::Result<()> {
        let now = jiff::Timestamp::now().round(jiff::Unit::Second)?.to_string();
        let condition = json!({
            "type": "Ready", "status": status, "reason": "Test", "lastHeartbeatTime": now, "lastTransitionTime": now,
        });
        self.patch_status("node", node, &json!({"conditions": [condition]})).await
    }

    async fn patch_status(&self, kind: &str, name: &str, status: &Value) -> anyhow::Result<()> {
        let patch = json!({"status": status}).to_string();
        let words = ["patch", kind, name, "--subresource=status", "--type=merge", "-p", &patch];
        self.admin.run(&[&words[..], &["--namespace", SYSTEM]].concat()).await.map(drop)
    }

    async fn run(&self) -> anyhow::Result<Process> {
        let kubeconfig = self.cluster.kubeconfig(&Identity::service_account(SYSTEM, ACCOUNT)).await?;
        let mut command = Command::new(program("bowline")?);
        command
            .args(["ccm", "--cloud-provider=openstack", "--bind-address=127.0.0.1"])
            .args(["--node-monitor-period=1s", "--new-node-grace-period=1s"])
            .arg(format!("--cluster-name={CLUSTER}"))
            .arg(format!("--secure-port={}", self.port))
            .arg(format!("--cloud-config={}", self.conf.display()))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--authentication-kubeconfig={}", kubeconfig.display()))
            .arg(format!("--authorization-kubeconfig={}", kubeconfig.display()));
        Process::start(command, self.cluster.folder().join("bowline.log"))
    }

    /// Gives the manager the pod that it would run in: on the host that leads. No kubelet is there, so nobody can reach into it.
    async fn show_the_manager(&self) -> anyhow::Result<()> {
        let holder = self.until("somebody leads", async || {
            let lease =
                self.json(&["get", "lease", "--ignore-not-found", "--namespace", SYSTEM, ACCOUNT]).await?;
            Ok(lease["spec"]["holderIdentity"]
                .as_str()
                .filter(|holder| !holder.is_empty())
                .map(str::to_owned))
        });
        let holder = holder.await?;
        let host = holder.split('_').next().unwrap_or_default();
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "namespace": SYSTEM},
            "spec": {"serviceAccountName": ACCOUNT, "nodeName": host, "containers": [{
                "name": "manager", "image": "r.example/bowline:v1", "command": ["/bowline", "ccm"],
                "args": [format!("--cluster-name={CLUSTER}"), format!("--secure-port={}", self.port)],
            }]},
        });
        self.admin.apply(&pod).await?;
        let state = json!({"name": "manager", "ready": true, "restartCount": 0, "image": "", "imageID": ""});
        self.patch_status("pod", POD, &json!({"phase": "Running", "containerStatuses": [state]})).await
    }

    /// An object, or null.
    pub(crate) async fn json(&self, words: &[&str]) -> anyhow::Result<Value> {
        let text = self.admin.run(&[words, &["--output=json"]].concat()).await?;
        if text.trim().is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
    }

    pub(crate) async fn service(&self) -> anyhow::Result<Value> {
        self.json(&["get", "service", "--namespace", NAMESPACE, SERVICE]).await
    }

    /// How many members the load balancers have.
    pub(crate) async fn members(&self) -> anyhow::Result<usize> {
        let contents = self.cloud.contents().await?;
        let pools = contents["members"].as_object().into_iter().flatten();
        Ok(pools.filter_map(|(_pool, members)| members.as_array()).map(Vec::len).sum())
    }

    /// Somebody whom the API server knows by this identity.
    pub(crate) async fn person(&self, identity: &Identity) -> anyhow::Result<Person> {
        Ok(Person::with(self.cluster.kubeconfig(identity).await?, self.cluster.folder()))
    }

    /// Somebody who looks: of a group with the roles of the guide, known by a certificate.
    pub(crate) async fn reader(&self) -> anyhow::Result<Person> {
        self.bind("looks", "--group=platform-team", ROLE, &[ROLE]).await?;
        let group = Some("platform-team".to_owned());
        self.person(&Identity::User { name: "ann".to_owned(), group }).await
    }

    /// Somebody who writes, too: an account, known by a token.
    pub(crate) async fn writer(&self) -> anyhow::Result<Person> {
        let person = self.person(&Identity::service_account("default", "bob")).await?;
        let roles = [ROLE, "bowline-people-services", "bowline-people-nodes"];
        self.bind("writes", "--serviceaccount=default:bob", ROLE, &roles).await?;
        Ok(person)
    }

    /// Gives somebody this Role in the namespace of the manager, and these ClusterRoles.
    pub(crate) async fn bind(
        &self,
        name: &str,
        whom: &str,
        role: &str,
        roles: &[&str],
    ) -> anyhow::Result<()> {
        let (role, namespace) = (format!("--role={role}"), format!("--namespace={SYSTEM}"));
        self.admin.run(&["create", "rolebinding", name, &role, whom, &namespace]).await?;
        for role in roles {
            let (name, role) = (format!("{name}-{role}"), format!("--clusterrole={role}"));
            self.admin.run(&["create", "clusterrolebinding", &name, &role, whom]).await?;
        }
        Ok(())
    }

    /// The flags by which people give the cloud's configuration.
    pub(crate) fn cloud_flag(&self) -> String {
        format!("--cloud-config={}", self.conf.display())
    }

    /// The flags by which they reach the manager, which made its certificate itself.
    pub(crate) fn way_flags(&self) -> String {
        format!("--url=https://127.0.0.1:{} --insecure-skip-tls-verify", self.port)
    }

    /// The flags by which they reach the leader through a kubectl whose ways end at it: no kubelet is here that could make one.
    pub(crate) fn leader_flags(&self) -> anyhow::Result<String> {
        let path = self.cluster.folder().join("kubectl-to-the-leader");
        let text =
            format!("#!/bin/sh\necho 'Forwarding from 127.0.0.1:{} -> 10258'\nexec sleep 600\n", self.port);
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(format!("--kubectl={}", path.display()))
    }

    /// What the Secret of the manager would hold.
    pub(crate) fn conf(&self) -> &Path {
        &self.conf
    }

    /// Waits until an answer comes out of `look`.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        let log = || self.manager.as_ref().map(Process::tail).unwrap_or_default();
        eventually(what, look).await.with_context(log)
    }

    /// Ends the manager, which has to run until then.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        let manager = self.manager.take().context("no manager")?;
        manager.terminate().await.map(drop)
    }
}

/// A file of the guide, as it stands there.
fn of_guide(name: &str) -> anyhow::Result<&'static str> {
    let fence = format!("```yaml file={name}\n");
    let rest = GUIDE.split_once(&fence).map(|(_before, rest)| rest);
    let text = rest.and_then(|rest| rest.split_once("```\n")).map(|(text, _after)| text);
    text.with_context(|| format!("the guide has no {name}"))
}
