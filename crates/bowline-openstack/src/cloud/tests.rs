//! The cloud on the simulated OpenStack, with a cloud.conf in a file that changes, in virtual time.

mod change;
mod limits;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{
    CallBudget, Capability, Cloud, CloudConfig, CloudContext, CloudError, ErrorClass, Instances, Reconcile,
    Reconciled, Urgency, async_trait,
};
use bowline_testkit::eventually_virtual;
use openstack_client::{Timeouts, Transport};
use parking_lot::Mutex;
use sim_openstack::{Config, Fault, MEMBER, Rule, Service};
use tempfile::TempDir;
use tower::ServiceExt;

use super::{Connect, OpenStackCloud, Surroundings, USER_AGENT_FLAG};
use crate::config::Environment;
use crate::instances::simulation::{Simulation, node, present};

/// A simulated cloud, a file that describes it, and what `User-Agent` said there.
struct Bench {
    simulation: Simulation,
    folder: TempDir,
    agents: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    fn new(servers: usize) -> Self {
        Self::with(Config::default(), servers)
    }

    fn with(config: Config, servers: usize) -> Self {
        let simulation = Simulation::new(config, servers);
        let bench = Self { simulation, folder: tempfile::tempdir().unwrap(), agents: Arc::default() };
        bench.write(MEMBER.password, "");
        bench
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("cloud.conf")
    }

    fn write(&self, password: &str, more: &str) {
        let global = format!(
            "[Global]\nauth-url=http://openstack.sim/identity/v3\nusername={}\npassword={password}\ntenant-name={}\n\
             domain-name=Default\nregion=RegionOne\n",
            MEMBER.user, MEMBER.project
        );
        std::fs::write(self.path(), global + more).unwrap();
    }

    fn surroundings(&self) -> Surroundings {
        let (sim, clock, agents) =
            (self.simulation.sim.clone(), self.simulation.sim.clone(), self.agents.clone());
        let connect: Connect = Arc::new(move |_| {
            let agents = agents.clone();
            let service = sim.clone().map_request(move |request: http::Request<openstack_client::Body>| {
                let agent = request.headers().get("user-agent").map(|agent| agent.to_str().unwrap());
                agents.lock().push(agent.unwrap_or_default().to_owned());
                request
            });
            Ok(Transport::new(service, Timeouts::default()))
        });
        Surroundings {
            connect,
            clock: Some(Arc::new(move || clock.now())),
            environment: Environment::default(),
            version: "v1".to_owned(),
            user_agent: Vec::new(),
        }
    }

    async fn try_start(&self, flags: BTreeMap<String, Vec<String>>) -> Result<OpenStackCloud, CloudError> {
        let config = CloudConfig::new(None).with_path(Some(self.path())).with_flags(flags);
        OpenStackCloud::from_config(&config, self.surroundings()).await
    }

    async fn start(&self) -> OpenStackCloud {
        self.try_start(BTreeMap::new()).await.unwrap()
    }

    /// A cloud that works.
    async fn working(&self) -> OpenStackCloud {
        let cloud = self.start().await;
        cloud.initialize(&CloudContext::new("kubernetes")).await.unwrap();
        cloud
    }

    async fn refused(&self, more: &str) -> String {
        self.write("p", more);
        let error = self.try_start(BTreeMap::new()).await.map(drop).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid);
        error.to_string()
    }
}

fn supported<T>(capability: Capability<T>) -> T {
    match capability {
        Capability::Supported(part) => part,
        Capability::Unsupported => panic!("not supported"),
        Capability::Unavailable(why) => panic!("not available: {why}"),
    }
}

fn why_not<T>(capability: Capability<T>) -> String {
    match capability {
        Capability::Unavailable(why) => why,
        Capability::Supported(_) => panic!("available"),
        Capability::Unsupported => panic!("not supported"),
    }
}

async fn found(
    instances: &Arc<dyn Instances>,
    name: &str,
) -> bowline_cloud::Evidence<bowline_cloud::Instance> {
    instances.observe(&[Arc::new(node(name, None))]).await.remove(0)
}

#[tokio::test(start_paused = true)]
async fn a_cloud_conf_becomes_a_cloud_with_instances_that_calls_nobody_before_it_leads() {
    let bench = Bench::new(1);
    let cloud = bench.start().await;
    assert_eq!((cloud.name(), cloud.has_cluster_id()), ("openstack", true));
    assert!(why_not(cloud.instances()).contains("not known"));
    assert_eq!(bench.simulation.calls(), 0);

    cloud.initialize(&CloudContext::new("kubernetes")).await.unwrap();
    let instances = supported(cloud.instances());
    let id = &bench.simulation.estate.servers[0];
    assert_eq!(present(&found(&instances, "node-1").await).provider_id, format!("openstack:///{id}"));
    assert_eq!(cloud.identity().await.unwrap(), Some(bench.simulation.estate.project.clone()));
    tokio::time::sleep(Duration::from_secs(600)).await;
    let logins = bench
        .simulation
        .sim
        .with(|cloud| cloud.log().count(Service::Identity, &http::Method::POST, "/v3/auth/tokens"));
    assert_eq!(logins, 1, "{:?}", bench.simulation.counts());
}

#[tokio::test(start_paused = true)]
async fn provider_ids_are_regional_where_the_environment_wants_it() {
    let bench = Bench::new(1);
    let set = |name: &str| (name == "OS_CCM_REGIONAL").then(|| "true".to_owned());
    let around = Surroundings { environment: Environment::from_variables(set), ..bench.surroundings() };
    let config = CloudConfig::new(None).with_path(Some(bench.path()));
    let cloud = OpenStackCloud::from_config(&config, around).await.unwrap();
    cloud.initialize(&CloudContext::new("kubernetes")).await.unwrap();
    let id = &bench.simulation.estate.servers[0];
    let instance = found(&supported(cloud.instances()), "node-1").await;
    assert_eq!(present(&instance).provider_id, format!("openstack://RegionOne/{id}"));
}

#[tokio::test(start_paused = true)]
async fn what_the_configuration_does_not_want_is_not_supported() {
    let bench = Bench::new(0);
    bench.write(MEMBER.password, "[LoadBalancer]\nenabled=false\n");
    let cloud = bench.working().await;
    assert!(matches!(cloud.load_balancers(), Capability::Unsupported));
    assert!(matches!(cloud.routes(), Capability::Unsupported), "there is no router-id");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_the_catalog_does_not_have_is_named_and_waited_for() {
    let mut config = Config::default();
    let region = config.regions[0].clone();
    for service in [Service::Compute, Service::LoadBalancer] {
        config.regions[0].endpoints.remove(&service);
    }
    let bench = Bench::with(config, 1);
    bench.write(MEMBER.password, "[Route]\nrouter-id=r\n");
    let cloud = bench.working().await;
    let why = why_not(cloud.load_balancers());
    for part in ["load-balancer", "Octavia", "RegionOne", "public", "enabled=false"] {
        assert!(why.contains(part), "{why}");
    }
    assert!(why_not(cloud.instances()).contains("compute"));
    bench.simulation.sim.with(|cloud| cloud.world().config.regions[0] = region);
    eventually_virtual("a new catalog", || matches!(cloud.instances(), Capability::Supported(_))).await;
    present(&found(&supported(cloud.instances()), "node-1").await);
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_is_wrong_is_refused_with_file_line_and_key() {
    let bench = Bench::new(0);
    for (more, parts) in [
        ("[Route\n", ["cloud.conf", "8"].as_slice()),
        ("[LoadBalancer]\nmonitor-delay=5\n", &["cloud.conf", "[LoadBalancer] monitor-delay"]),
        ("[LoadBalancer]\nlb-version=v1\n", &["[LoadBalancer] lb-version", "wanted v2", "\"v1\""]),
        ("[Global]\nos-endpoint-type=internet\n", &["os-endpoint-type", "wanted public"]),
        ("[Global]\nca-file=/nowhere/ca.pem\n", &["/nowhere/ca.pem"]),
    ] {
        let error = bench.refused(more).await;
        assert!(parts.iter().all(|part| error.contains(part)), "{more}: {error}");
        assert!(!error.contains("password=p"), "{error}");
    }
    std::fs::remove_file(bench.path()).unwrap();
    assert!(bench.try_start(BTreeMap::new()).await.is_err());
    let nothing = OpenStackCloud::from_config(&CloudConfig::new(None), bench.surroundings()).await;
    assert!(nothing.map(drop).unwrap_err().to_string().contains("--cloud-config"));
}

#[tokio::test(start_paused = true)]
async fn credentials_that_are_refused_are_told_at_once_and_the_process_may_try_again() {
    let bench = Bench::new(1);
    bench.write("wrong", "");
    let cloud = bench.start().await;
    let context = CloudContext::new("kubernetes");
    let error = cloud.initialize(&context).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unauthenticated);
    assert!(why_not(cloud.instances()).contains("401"), "{:?}", why_not(cloud.instances()));
    // The file is repaired while the process waits.
    bench.write(MEMBER.password, "");
    eventually_virtual("the new file", || cloud.current.reloader.status().generation == 2).await;
    cloud.initialize(&context).await.unwrap();
    present(&found(&supported(cloud.instances()), "node-1").await);
}

#[tokio::test(start_paused = true)]
async fn requests_name_the_product_and_what_the_flag_puts_before_it() {
    let bench = Bench::new(0);
    let flags = |parts: &[&str]| {
        BTreeMap::from([(USER_AGENT_FLAG.to_owned(), parts.iter().map(|&part| part.to_owned()).collect())])
    };
    let cloud = bench.try_start(flags(&["one/1", "two, 2"])).await.unwrap();
    cloud.initialize(&CloudContext::new("kubernetes")).await.unwrap();
    let agents = bench.agents.lock().clone();
    assert!(!agents.is_empty());
    for agent in agents {
        assert!(agent.starts_with("two, 2 one/1 openstack-cloud-controller-manager/v1 "), "{agent}");
    }
    assert!(bench.try_start(flags(&["a\nb"])).await.is_err());
}

/// Keeps what it is asked for.
#[derive(Default)]
struct Notebook {
    asked: Mutex<Vec<(&'static str, Urgency)>>,
    throttled: Mutex<Vec<(&'static str, Duration)>>,
}

#[async_trait]
impl CallBudget for Notebook {
    async fn acquire(&self, service: &'static str, urgency: Urgency) {
        self.asked.lock().push((service, urgency));
    }

    fn throttled(&self, service: &'static str, pause: Duration) {
        self.throttled.lock().push((service, pause));
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_asks_the_budget_of_the_framework_and_a_cloud_that_is_busy_is_told_to_it() {
    let bench = Bench::new(1);
    let cloud = bench.start().await;
    let notebook = Arc::new(Notebook::default());
    let context = CloudContext::new("kubernetes").with_budget(notebook.clone());
    cloud.initialize(&context).await.unwrap();
    let instances = supported(cloud.instances());
    let busy = Rule::new(Fault::too_many_requests(7)).on(Service::Network).times(1);
    bench.simulation.fault(busy);
    assert!(crate::instances::simulation::class(&found(&instances, "node-1").await).is_some());
    present(&found(&instances, "node-1").await);
    let asked = notebook.asked.lock().clone();
    assert!(u64::try_from(asked.len()).unwrap() >= bench.simulation.calls(), "{asked:?}");
    for service in ["identity", "compute", "network"] {
        assert!(asked.contains(&(service, Urgency::User)), "{service}: {asked:?}");
    }
    assert_eq!(*notebook.throttled.lock(), [("network", Duration::from_secs(7))]);
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_under_the_names_that_dashboards_know() {
    let bench = Bench::new(1);
    let cloud = bench.start().await;
    let mut registry = prometheus_client::registry::Registry::default();
    cloud.register_metrics(&mut registry);
    cloud.initialize(&CloudContext::new("kubernetes")).await.unwrap();
    present(&found(&supported(cloud.instances()), "node-1").await);
    for (what, took, failed) in
        [(Reconcile::Ensure, 40, false), (Reconcile::Ensure, 1, true), (Reconcile::Delete, 3, false)]
    {
        cloud.concluded(Reconciled { what, took: Duration::from_secs(took), failed });
    }
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    for line in [
        "openstack_api_requests_total{request=\"server_list\"} 1",
        "openstack_api_request_duration_seconds_count{request=\"server_list\"} 1",
        "cloudprovider_openstack_reconcile_total{operation=\"loadbalancer_ensure\"} 2",
        "cloudprovider_openstack_reconcile_total{operation=\"loadbalancer_delete\"} 1",
        "cloudprovider_openstack_reconcile_errors_total{operation=\"loadbalancer_ensure\"} 1",
        "cloudprovider_openstack_reconcile_duration_seconds_sum{operation=\"loadbalancer_ensure\"} 41",
        "cloudprovider_openstack_reconcile_duration_seconds_bucket{le=\"30.0\",operation=\"loadbalancer_ensure\"} 1",
        "cloudprovider_openstack_reconcile_duration_seconds_bucket{le=\"50.0\",operation=\"loadbalancer_ensure\"} 2",
        "bowline_openstack_config_generation",
        "bowline_openstack_config_refused 0",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let differences = bowline_cloud::reference::differences(crate::reference::METRICS, &registry, &[]);
    assert!(differences.is_empty(), "the table of metrics in reference.rs: {differences:?}");
}

#[tokio::test(start_paused = true)]
async fn a_catalog_without_tls_under_a_keystone_with_tls_is_used_only_if_cloud_conf_allows_it() {
    let bench = Bench::new(1);
    let write = |more: &str| {
        bench.write(MEMBER.password, more);
        let text = std::fs::read_to_string(bench.path()).unwrap();
        std::fs::write(bench.path(), text.replace("auth-url=http:", "auth-url=https:")).unwrap();
    };
    write("");
    let cloud = bench.working().await;
    for why in [why_not(cloud.instances()), why_not(cloud.load_balancers())] {
        assert!(why.contains("without TLS") && why.contains("allow-insecure-endpoints=true"), "{why}");
    }
    assert!(cloud.identity().await.unwrap().is_some(), "Keystone itself has TLS");
    write("allow-insecure-endpoints=yes\n");
    let cloud = bench.working().await;
    supported(cloud.instances());
    supported(cloud.load_balancers());
}
