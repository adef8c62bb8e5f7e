//! What is in the cluster of a run: nodes, Services, the manager that was there, and our resource. And how it goes again.

use std::collections::BTreeMap;

use anyhow::ensure;
use bowline_operator::api::CloudControllerManager;
use bowline_testkit::Wait;
use bowline_testkit::nodes::{self, Nodes};
use bowline_testkit::objects::clear;
use bowline_testkit::services::{Services, service};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use real_kubernetes_tests::migration::balancers::Served;
use serde_json::{Value, json};
use sim_openstack::MEMBER;

use crate::agent::OLD;
use crate::cloud::Cloud;
use crate::cluster::SYSTEM;

/// The name of the cluster, as the manager that was there has it.
pub(crate) const CLUSTER: &str = "held";

/// The cluster of a run.
pub(crate) struct Harness {
    pub(crate) client: Client,
    pub(crate) resource: String,
}

impl Harness {
    fn services(&self) -> Services {
        Services::of(&self.client, "default")
    }

    fn resources(&self) -> Api<CloudControllerManager> {
        Api::all(self.client.clone())
    }

    /// The nodes of the machines, the first so many of the control plane. The very first is this machine, on which everything runs, so
    /// that the names in Leases are as in a cluster. `writer` is who has written their addresses.
    pub(crate) async fn add_nodes(
        &self,
        cloud: &Cloud,
        first: &str,
        control_plane: usize,
        writer: &str,
    ) -> anyhow::Result<()> {
        let nodes = Nodes::of(&self.client);
        for (place, (_name, id, address)) in cloud.machines().await?.into_iter().enumerate() {
            let name = node_name(first, place);
            let mut node = nodes::initialized(&name, &id, &[&address]);
            let status = json!({"status": node["status"].take()});
            let role = json!({"node-role.kubernetes.io/control-plane": ""});
            node["metadata"]["labels"] = if place < control_plane { role } else { json!({}) };
            nodes.create(node).await?;
            let by = PatchParams { field_manager: Some(writer.to_owned()), ..PatchParams::default() };
            nodes.api.patch_status(&name, &by, &Patch::Merge(status)).await?;
        }
        Ok(())
    }

    /// A person starts the kubelet of a node with another `--cloud-provider`, and says so.
    pub(crate) async fn declare_kubelet(&self, name: &str, provider: &str) -> anyhow::Result<()> {
        let said = json!({ "bowline.dev/kubelet-cloud-provider": provider });
        Nodes::of(&self.client).edit(name, &json!({ "metadata": { "annotations": said } })).await
    }

    /// The manager that was there.
    pub(crate) async fn add_old(&self, cloud: &Cloud, replicas: i32) -> anyhow::Result<()> {
        self.add_conf("cloud-config", &cloud.conf(MEMBER)).await?;
        let labels = json!({ "k8s-app": OLD });
        let deployment = json!({
            "metadata": { "name": OLD, "labels": labels },
            "spec": { "replicas": replicas, "selector": { "matchLabels": labels }, "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "containers": [{
                        "name": OLD, "image": format!("registry.k8s.io/provider-os/{OLD}:v1.36.0"),
                        "args": [format!("/bin/{OLD}"), "--v=2", "--cloud-config=/etc/config/cloud.conf",
                            format!("--cluster-name={CLUSTER}"), "--cloud-provider=openstack",
                            "--use-service-account-credentials=false", "--secure-port=10258"],
                        "volumeMounts": [{ "name": "cloud-config", "mountPath": "/etc/config" }],
                    }],
                    "volumes": [{ "name": "cloud-config", "secret": { "secretName": "cloud-config" } }],
                },
            } },
        });
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), SYSTEM);
        api.create(&PostParams::default(), &serde_json::from_value(deployment)?).await?;
        Ok(())
    }

    /// A Secret with a cloud.conf.
    pub(crate) async fn add_conf(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), SYSTEM);
        let secret = json!({ "metadata": { "name": name }, "stringData": { "cloud.conf": text } });
        secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
        Ok(())
    }

    /// A Service that wants a load balancer.
    pub(crate) async fn add_service(&self, name: &str) -> anyhow::Result<()> {
        let ports = json!({"ports": [{"name": "first", "port": 80}]});
        self.services().create(&service(name, &[], &ports)).await.map(drop)
    }

    /// One more port for a Service.
    pub(crate) async fn edit_service(&self, name: &str, port: u16) -> anyhow::Result<()> {
        let port = json!({ "name": format!("port-{port}"), "port": port, "protocol": "TCP" });
        let patch = Patch::Strategic(json!({ "spec": { "ports": [port] } }));
        self.services().api.patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Another value for something of a Service that is one request to the cloud.
    pub(crate) async fn touch_service(&self, name: &str, seconds: u32) -> anyhow::Result<()> {
        let timeout = (seconds * 1000).to_string();
        self.services().annotate(name, "loadbalancer.openstack.org/timeout-client-data", Some(&timeout)).await
    }

    pub(crate) async fn delete_service(&self, name: &str) -> anyhow::Result<()> {
        self.services().request_delete(name).await
    }

    /// Our resource.
    pub(crate) async fn add_resource(&self, cluster: &str, replicas: i32) -> anyhow::Result<()> {
        let resource = json!({
            "apiVersion": "bowline.dev/v1alpha1", "kind": "CloudControllerManager", "metadata": { "name": self.resource },
            "spec": {
                "platform": "OpenStack", "clusterName": cluster, "replicas": replicas,
                "cloudConfig": { "secret": { "name": "new-cloud-config" } },
            },
        });
        self.resources().create(&PostParams::default(), &serde_json::from_value(resource)?).await?;
        Ok(())
    }

    /// Asks for the way back.
    pub(crate) async fn roll_back(&self) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({ "spec": { "migration": { "rollback": true } } }));
        self.resources().patch(&self.resource, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Takes the operator's status away.
    pub(crate) async fn lose_status(&self) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({ "status": null }));
        self.resources().patch_status(&self.resource, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// What is told of our resource.
    pub(crate) async fn status(&self) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.resources().get(&self.resource).await?.status)?)
    }

    /// Waits until all Services, and no others, have load balancers and addresses; which.
    pub(crate) async fn until_served(
        &self,
        cloud: &Cloud,
        wait: Wait,
    ) -> anyhow::Result<BTreeMap<String, Served>> {
        let mut last = String::new();
        let seen = wait.until("all Services are served", async || {
            let (found, why) = self.served(cloud).await?;
            last = why;
            Ok(last.is_empty().then_some(found))
        });
        let seen = seen.await;
        seen.map_err(|error| error.context(last))
    }

    /// The Services with their load balancers, and what is missing.
    async fn served(&self, cloud: &Cloud) -> anyhow::Result<(BTreeMap<String, Served>, String)> {
        let balancers = cloud.balancers();
        let services = self.services().list().await?;
        let services: Vec<&Service> = services.iter().filter(|service| wants_balancer(service)).collect();
        let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
        for service in &services {
            let name = service.name_any();
            let names = balancer_names(service);
            let ids: Vec<&String> =
                balancers.iter().filter(|(name, _)| names.contains(name)).map(|(_, id)| id).collect();
            ensure!(ids.len() < 2, "there are two load balancers of {name}, {names:?}: {ids:?}");
            let addresses = addresses(service);
            let is_going = service.metadata.deletion_timestamp.is_some();
            match ids.first() {
                Some(id) if !addresses.is_empty() && !is_going => {
                    found.insert(name, Served { id: (*id).clone(), addresses });
                }
                _ => missing.push(format!(
                    "Service {name}: load balancers {ids:?}, addresses {addresses:?}, going {is_going}"
                )),
            }
        }
        if balancers.len() != services.len() {
            missing.push(format!("{} load balancers for {} Services", balancers.len(), services.len()));
        }
        Ok((found, missing.join("; ")))
    }

    /// The Services, by what the provider inside calls their load balancers: no other name tells whose they are.
    pub(crate) async fn by_old_name(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let services = self.services().list().await?;
        Ok(services.iter().map(balancer_names).map(|[new, old]| (old, new)).collect())
    }

    /// Removes everything, by force.
    pub(crate) async fn clear(&self) -> anyhow::Result<()> {
        let nothing = |_name: &str| false;
        clear::<CloudControllerManager>(&Api::all(self.client.clone()), nothing).await?;
        clear::<Deployment>(&Api::namespaced(self.client.clone(), SYSTEM), nothing).await?;
        clear::<Pod>(&Api::namespaced(self.client.clone(), SYSTEM), nothing).await?;
        clear::<Lease>(&Api::namespaced(self.client.clone(), SYSTEM), nothing).await?;
        clear::<Lease>(&Api::namespaced(self.client.clone(), "bowline-system"), nothing).await?;
        clear::<Secret>(&Api::namespaced(self.client.clone(), SYSTEM), nothing).await?;
        clear::<Service>(&Api::namespaced(self.client.clone(), "default"), nothing).await?;
        clear::<Node>(&Api::all(self.client.clone()), nothing).await?;
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        maps.delete_collection(
            &DeleteParams::default(),
            &ListParams::default().labels("bowline.dev/managed-by"),
        )
        .await?;
        Ok(())
    }
}

/// What the nodes are called.
pub(crate) fn node_name(first: &str, place: usize) -> String {
    if place == 0 { first.to_owned() } else { format!("worker-{place}") }
}

/// What the load balancer of a Service can be called: by cloud-controller-managers, and by the provider inside.
fn balancer_names(service: &Service) -> [String; 2] {
    let uid = service.uid().unwrap_or_default();
    [format!("kube_service_{CLUSTER}_default_{}", service.name_any()), old_balancer_name(&uid)]
}

/// What the provider inside calls the load balancer of a Service.
pub(crate) fn old_balancer_name(uid: &str) -> String {
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}

pub(crate) fn wants_balancer(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some("LoadBalancer")
}

/// The addresses that a Service's status tells.
pub(crate) fn addresses(service: &Service) -> Vec<String> {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let ingress = status.and_then(|balancer| balancer.ingress.clone()).unwrap_or_default();
    ingress.into_iter().filter_map(|each| each.ip.or(each.hostname)).collect()
}
