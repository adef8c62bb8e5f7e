//! A stage for the status page: a simulated cluster and cloud, a whole manager between them, and what people do to both. For tests.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use bowline_cloud::{Cloud, CloudConfig};
use bowline_kube::client::ClientFactory;
use bowline_kube::clock::Clock;
use bowline_manager::exit::StopSignal;
use bowline_manager::flags::{FlagTable, parse};
use bowline_manager::options::Options;
use bowline_manager::replica::{Replica, Surroundings};
use bowline_manager::signals::Signals;
use bowline_manager::status::StatusPage;
use bowline_openstack::cloud::{OpenStackCloud, Surroundings as CloudSurroundings};
use bowline_openstack::config::Environment;
use bowline_testkit::cloud;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Service};
use openstack_client::{Timeouts, Transport};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use sim_kube::SimKube;
use sim_openstack::{Config, Faults, Latencies, MEMBER, Rule};
use tokio::task::JoinHandle;

/// The taint of Nodes that no cloud-controller-manager has seen yet.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// A cluster, a cloud, and a manager.
pub struct Stage {
    /// The cluster.
    pub kube: SimKube,
    /// The cloud.
    pub cloud: cloud::Cloud,
    /// What people see of the manager.
    pub page: StatusPage,
    registry: Arc<Registry>,
    signals: Signals,
    run: JoinHandle<()>,
}

/// How long a load balancer takes to be built here.
pub const BUILD: Duration = Duration::from_secs(3);

impl Stage {
    /// Everything runs, with so many servers and no Node yet; wall time begins at `start` and moves with tokio's clock.
    ///
    /// # Errors
    ///
    /// If the manager cannot be made.
    pub async fn set(start: Timestamp, servers: usize) -> Result<Self> {
        let latencies = Latencies {
            amphora_create: BUILD,
            amphora_change: Duration::from_secs(1),
            ..Latencies::default()
        };
        let config = Config { latencies, ..Config::default() };
        let cloud = cloud::Cloud::in_process(cloud::Options { servers, now: start, config });
        let mut config = sim_kube::Config::seeded(7);
        config.clock = sim_kube::Clock::virtual_from(start);
        // Two ports each for a thousand Services.
        config.node_ports = 20_000..=32_767;
        config.log_bodies = false;
        let kube = SimKube::new(config);
        let options = options()?;
        let nowhere = kube::Config::new(http::Uri::from_static("http://kubernetes.sim"));
        let clients =
            ClientFactory::new(nowhere, "bowline", "test", options.client.qps, options.client.burst)
                .with_deadline(options.client.timeout)
                .in_memory(kube.clone());
        let replica = Replica::new(Surroundings {
            options,
            cloud: provider(&cloud).await?,
            clients,
            clock: Clock::simulated(start),
            identity: "bowline-7d9c8f5b6d-x2x4q".to_owned(),
            seed: 7,
        })?;
        let (page, registry, signals) = (replica.status_page(), replica.registry(), Signals::default());
        let until = signals.clone();
        let run = tokio::spawn(async move {
            replica.run(until).await;
        });
        Ok(Self { kube, cloud, page, registry, signals, run })
    }

    /// What Prometheus is shown.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn scrape(&self) -> Result<String> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// Ends the manager.
    ///
    /// # Errors
    ///
    /// If it panicked.
    pub async fn end(self) -> Result<()> {
        self.signals.note(StopSignal::Terminate);
        self.run.await.context("the manager panicked")
    }

    /// The kubelets of these servers register their Nodes, `node-1` and so on.
    ///
    /// # Errors
    ///
    /// If the API server refuses one.
    pub fn register(&self, numbers: impl IntoIterator<Item = usize>) -> Result<()> {
        for number in numbers {
            let taint = json!({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"});
            let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""});
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("node-{number}")},
                "spec": {"taints": [taint]}, "status": {"conditions": [ready]}});
            self.kube.objects::<Node>("").create(&serde_json::from_value(node)?).map_err(refused)?;
        }
        Ok(())
    }

    /// A person applies a Service with these ports.
    ///
    /// # Errors
    ///
    /// If the API server refuses it.
    pub fn apply(&self, name: &str, ports: &[u16]) -> Result<()> {
        let ports: Vec<Value> = ports
            .iter()
            .map(|port| json!({"name": format!("port-{port}"), "protocol": "TCP", "port": port}))
            .collect();
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "ports": ports, "selector": {"app": name}}});
        self.services().create(&serde_json::from_value(service)?).map_err(refused)?;
        Ok(())
    }

    /// A person annotates a Service.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn annotate(&self, name: &str, key: &str, value: &str) -> Result<()> {
        let note = |service: &mut Service| {
            service.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        };
        self.services().edit(name, note).map_err(refused)?;
        Ok(())
    }

    /// A person deletes a Service.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.services().delete(name).map_err(refused)?;
        Ok(())
    }

    /// Something goes wrong in the cloud from now on.
    pub fn fault(&self, rule: Rule) {
        self.cloud.disturb(|faults| faults.add(rule));
    }

    /// Nothing goes wrong any more.
    pub fn mend(&self) {
        self.cloud.disturb(Faults::clear);
    }

    fn services(&self) -> sim_kube::Objects<Service> {
        self.kube.objects("default")
    }
}

fn refused(error: impl std::fmt::Debug) -> anyhow::Error {
    anyhow!("the API server refuses it: {error:?}")
}

fn options() -> Result<Options> {
    let flags = ["--cloud-provider=openstack", "--cluster-name=harbour", "--configure-cloud-routes=false"];
    Ok(Options::from_parsed(&parse(&FlagTable::common(), flags)?)?)
}

async fn provider(cloud: &cloud::Cloud) -> Result<Arc<dyn Cloud>> {
    let (sim, clock) = (cloud.sim.clone(), cloud.sim.clone());
    let around = CloudSurroundings {
        connect: Arc::new(move |_| Ok(Transport::new(sim.clone(), Timeouts::default()))),
        clock: Some(Arc::new(move || clock.now())),
        environment: Environment::default(),
        version: "test".to_owned(),
        user_agent: Vec::new(),
    };
    let config = CloudConfig::new(Some(cloud.conf(MEMBER, "create-monitor = true")));
    Ok(Arc::new(OpenStackCloud::from_config(&config, around).await?))
}
