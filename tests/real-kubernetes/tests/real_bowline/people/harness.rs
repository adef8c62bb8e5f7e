//! A cluster with the roles of the guide, a cloud, a manager with the rights that are shipped, and a Service that it has served.

use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use bowline_testkit::apiserver::Identity;
use bowline_testkit::kubectl::Kubectl;
use bowline_testkit::objects::{self, MANAGER, SYSTEM};
use bowline_testkit::process::Process;
use bowline_testkit::services::service;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::harness::Harness as Base;
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
const RBAC: [&str; 2] =
    [include_str!("../../../../../deploy/rbac.yaml"), include_str!("../../../../../deploy/rbac-viewer.yaml")];
const GUIDE: &str = include_str!("../../../../../docs/guides/command-line.md");
/// The files of the guide.
const ROLES: [&str; 2] = ["people.yaml", "people-who-write.yaml"];

/// A cluster, its cloud and its manager.
pub(crate) struct Harness {
    base: Base,
    pub(crate) admin: Kubectl,
    /// The program.
    pub(crate) kubectl: PathBuf,
    manager: Process,
}

impl Deref for Harness {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl Harness {
    pub(crate) async fn start(kubectl: &Path) -> anyhow::Result<Self> {
        let base = Base::start(Arc::new(Cloud::start(3).await?), &RBAC, NAMESPACE, "").await?;
        let folder = base.cluster.folder();
        let cache = folder.join("cache-of-kubectl");
        let admin = Kubectl::new(kubectl, base.cluster.kubeconfig(&Identity::Admin).await?, &cache);
        for name in ROLES {
            let path = folder.join(name);
            std::fs::write(&path, of_guide(name)?)?;
            admin.run(&["apply", "-f", &path.display().to_string()]).await?;
        }
        base.cloud.write_clouds_yaml(folder)?;
        let manager = base.manager(MANAGER).await?.flags([
            &format!("--cluster-name={CLUSTER}"),
            "--node-monitor-period=1s",
            "--new-node-grace-period=1s",
        ]);
        let manager = manager.start(&base.log)?;
        let harness = Self { manager, kubectl: kubectl.to_owned(), admin, base };
        harness.show_the_manager().await?;
        harness.services.create(&service(SERVICE, &[], &json!({}))).await?;
        harness.services.until_ready(SERVICE).await?;
        let is_told = "it has an event that it is ready";
        harness
            .wait
            .until(is_told, async || {
                let events = harness.services.events(SERVICE).await?;
                Ok(events
                    .iter()
                    .any(|event| event.reason.as_deref() == Some("EnsuredLoadBalancer"))
                    .then_some(()))
            })
            .await?;
        Ok(harness)
    }

    /// Says for a kubelet whether its Node is ready.
    pub(crate) async fn set_ready(&self, node: &str, status: &str) -> anyhow::Result<()> {
        let now = jiff::Timestamp::now().round(jiff::Unit::Second)?.to_string();
        let condition = json!({
            "type": "Ready", "status": status, "reason": "Test", "lastHeartbeatTime": now, "lastTransitionTime": now,
        });
        self.admin.patch_status(&format!("node/{node}"), &json!({"conditions": [condition]})).await
    }

    /// Gives the manager the pod that it would run in: on the host that leads. No kubelet is there, so nobody can reach into it.
    async fn show_the_manager(&self) -> anyhow::Result<()> {
        let leases = Api::namespaced(self.base.admin.clone(), SYSTEM);
        let holder = async || objects::lease_holder(&leases, MANAGER).await;
        let holder = self.wait.until("a manager leads", holder).await?;
        let host = holder.split('_').next().unwrap_or_default();
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "namespace": SYSTEM},
            "spec": {"serviceAccountName": MANAGER, "nodeName": host, "containers": [{
                "name": "manager", "image": "r.example/bowline:v1", "command": ["/bowline", "ccm"],
                "args": [format!("--cluster-name={CLUSTER}"), format!("--secure-port={}", self.port.0)],
            }]},
        });
        objects::apply(&self.base.admin, pod).await?;
        let state = json!({"name": "manager", "ready": true, "restartCount": 0, "image": "", "imageID": ""});
        let pods: Api<Pod> = Api::namespaced(self.base.admin.clone(), SYSTEM);
        let status = json!({"status": {"phase": "Running", "containerStatuses": [state]}});
        pods.patch_status(POD, &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    pub(crate) async fn service(&self) -> anyhow::Result<Value> {
        self.services.get(SERVICE).await
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
        format!("--url={} --insecure-skip-tls-verify", self.port.url())
    }

    /// The flags by which they reach the leader through a kubectl whose ways end at it: no kubelet is here that could make one.
    pub(crate) fn leader_flags(&self) -> anyhow::Result<String> {
        let path = self.cluster.folder().join("kubectl-to-the-leader");
        let text =
            format!("#!/bin/sh\necho 'Forwarding from 127.0.0.1:{} -> 10258'\nexec sleep 600\n", self.port.0);
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(format!("--kubectl={}", path.display()))
    }

    /// Ends the manager, which has to run until then.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        self.manager.terminate().await.map(drop)
    }
}

/// A file of the guide, as it stands there.
fn of_guide(name: &str) -> anyhow::Result<&'static str> {
    let fence = format!("```yaml file={name}\n");
    let rest = GUIDE.split_once(&fence).map(|(_before, rest)| rest);
    let text = rest.and_then(|rest| rest.split_once("```\n")).map(|(text, _after)| text);
    text.with_context(|| format!("the guide has no {name}"))
}
