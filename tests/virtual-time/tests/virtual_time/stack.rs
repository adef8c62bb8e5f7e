//! One process of Bowline without its lease and its flags: the cloud, the informers and the controllers, with the rates
//! that the manager has by default. A second one on the same world is the next leader.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::shadow::{DEFAULT_REPORT, Mode};
use bowline_cloud::{
    About, Cloud, CloudConfig, CloudContext, EventKind, EventSink, Fence, NoEvents, Unfenced,
};
use bowline_controllers::controller::{Controller, ControllerContext, Stopped};
use bowline_controllers::deadline::{CallDeadlines, Punctual};
use bowline_controllers::identity::{CloudIdentity, WatchedCloud};
use bowline_controllers::lifecycle::{LifecycleController, LifecycleOptions};
use bowline_controllers::metrics::ControllerMetrics;
use bowline_controllers::node::{NodeController, NodeOptions};
use bowline_controllers::rails::seen_machines::SeenMachines;
use bowline_controllers::registry::ControllerName;
use bowline_controllers::service::{ServiceController, ServiceOptions};
use bowline_controllers::shadow::{ShadowController, ShadowOptions};
use bowline_controllers::view::{node_informer, node_reference, service_informer, service_reference};
use bowline_kube::client::ClientFactory;
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::ledger::{Ledger, LedgerPlace};
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use bowline_manager::budget::{BudgetMetrics, SharedBudget};
use bowline_manager::flags::{FlagTable, parse};
use bowline_manager::options::Options;
use bowline_openstack::cloud::{Connect, OpenStackCloud, Surroundings};
use bowline_openstack::config::Environment;
use kube::{Api, Client};
use openstack_client::{Timeouts, Transport};
use prometheus_client::registry::Registry;
use sim_openstack::Config;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::world::{World, seconds, until};

/// A controller that cannot run is started again after this, as the manager does at first.
const AGAIN: Duration = Duration::from_secs(1);

pub(crate) struct Stack {
    cancel: CancellationToken,
    tasks: JoinSet<()>,
}

/// The options that the manager has without any flag.
pub(crate) fn defaults() -> Options {
    let flags = parse(&FlagTable::common(), ["--cloud-provider=openstack"]).unwrap();
    Options::from_parsed(&flags).unwrap()
}

struct CloudEvents(EventRecorder);

impl EventSink for CloudEvents {
    fn emit(&self, about: About<'_>, kind: EventKind, reason: &str, message: &str) {
        let object = match about {
            About::Node(node) => node_reference(node),
            About::Service(service) => service_reference(service),
        };
        self.0.event(&object, kind, reason, message);
    }
}

impl Stack {
    /// All controllers, from now on.
    pub(crate) async fn start(world: &World) -> Self {
        let factory = client_factory(&defaults());
        let events = events(world, &factory, "cloud", &Clock::simulated(world.cloud.sim.now()));
        Self::run(world, controllers(), events).await
    }

    /// A process that only looks: `--shadow`, in a cluster of this name.
    pub(crate) async fn shadow(world: &World, cluster: &str) -> Self {
        Self::run(world, vec![report(Mode::Shadow, cluster)], Arc::new(NoEvents)).await
    }

    /// A leader that only adopts: `--adopt-only`.
    pub(crate) async fn adopting(world: &World) -> Self {
        let [_node, _lifecycle, service, ..] = ControllerName::common();
        let options = ServiceOptions { adopt_only: true, ..ServiceOptions::default() };
        let controllers: Vec<Arc<dyn Controller>> =
            vec![report(Mode::AdoptOnly, "kubernetes"), Arc::new(ServiceController::new(service, options))];
        Self::run(world, controllers, Arc::new(NoEvents)).await
    }

    async fn run(world: &World, controllers: Vec<Arc<dyn Controller>>, events: Arc<dyn EventSink>) -> Self {
        let (options, clock) = (defaults(), Clock::simulated(world.cloud.sim.now()));
        let factory = client_factory(&options);
        let mut stack = Self { cancel: CancellationToken::new(), tasks: JoinSet::new() };
        let identity = CloudIdentity::default();
        let (cloud, context) = cloud(world, &options, &identity, events).await;
        let client = factory.wrap("shared-informers", world.kube.clone());
        let (nodes, node_task) = node_informer().build(client.clone(), Api::all);
        let (services, service_task) = service_informer().build(client, Api::all);
        stack.tasks.spawn(node_task.run(stack.cancel.clone()));
        stack.tasks.spawn(service_task.run(stack.cancel.clone()));
        let fence: Arc<dyn Fence> = identity.fence(Arc::new(Unfenced));
        let ledger = Ledger::default();
        let root = factory.wrap("ledger", world.kube.clone());
        let place = LedgerPlace::beside("kube-system", "cloud-controller-manager");
        ledger.read(&root, &place).await;
        stack.tasks.spawn(kept(ledger.clone(), root, fence.clone(), place, stack.cancel.clone()));
        let mut registry = Registry::default();
        let (queues, metrics) =
            (QueueMetrics::register(&mut registry), ControllerMetrics::register(&mut registry));
        let machines = SeenMachines::kept_in(ledger.clone());
        for controller in controllers {
            let client = factory.wrap(&controller.name().client, world.kube.clone());
            let context = ControllerContext {
                cloud: cloud.clone(),
                nodes: nodes.clone(),
                services: services.clone(),
                writer: Writer::new(client.clone(), fence.clone(), options.client.timeout),
                events: recorder(client, &controller.name().component, &clock),
                fence: fence.clone(),
                clock: clock.clone(),
                queues: queues.clone(),
                metrics: metrics.clone(),
                journal: bowline_cloud::Journal::default(),
                ledger: ledger.clone(),
                machines: machines.clone(),
                node_filter: bowline_controllers::rails::node_filter::NodeFilter::default(),
            };
            stack.tasks.spawn(supervised(controller, context, stack.cancel.clone()));
        }
        // The report is there before the cloud is: that it does not answer is worth telling.
        while let Err(error) = cloud.initialize(&context).await {
            println!("the cloud cannot be initialized yet: {error}");
            sleep(AGAIN).await;
        }
        stack
    }

    /// Ends it: work that has begun is finished.
    pub(crate) async fn stop(mut self) {
        self.cancel.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

/// Keeps the ledger to the end.
async fn kept(
    ledger: Ledger,
    client: Client,
    fence: Arc<dyn Fence>,
    place: LedgerPlace,
    cancel: CancellationToken,
) {
    let writer = Writer::new(client.clone(), fence, defaults().client.timeout);
    ledger.keep(&client, &writer, &place, &cancel).await;
}

fn client_factory(options: &Options) -> ClientFactory {
    let nowhere = kube::Config::new(http::Uri::from_static("http://kubernetes.sim"));
    ClientFactory::new(nowhere, "bowline", "test", options.client.qps, options.client.burst)
        .with_deadline(options.client.timeout)
}

fn recorder(client: Client, component: &str, clock: &Clock) -> EventRecorder {
    EventRecorder::new(client, component, "", clock.clone(), EventMetrics::default())
}

fn events(world: &World, factory: &ClientFactory, component: &str, clock: &Clock) -> Arc<dyn EventSink> {
    let client = factory.wrap(component, world.kube.clone());
    Arc::new(CloudEvents(recorder(client, component, clock)))
}

/// The cloud as the manager has it: with deadlines, watched for a lost identity, and with its budget.
async fn cloud(
    world: &World,
    options: &Options,
    identity: &CloudIdentity,
    events: Arc<dyn EventSink>,
) -> (Arc<dyn Cloud>, CloudContext) {
    let (sim, clock) = (world.cloud.sim.clone(), world.cloud.sim.clone());
    let connect: Connect = Arc::new(move |_| Ok(Transport::new(sim.clone(), Timeouts::default())));
    let around = Surroundings {
        connect,
        clock: Some(Arc::new(move || clock.now())),
        environment: Environment::default(),
        version: "test".to_owned(),
        user_agent: Vec::new(),
    };
    let config = CloudConfig::new(Some(world.cloud_conf()));
    let cloud = OpenStackCloud::from_config(&config, around).await.unwrap();
    let cloud = Punctual::new(Arc::new(cloud) as Arc<dyn Cloud>, CallDeadlines::default());
    let cloud = WatchedCloud::new(Arc::new(cloud), identity.clone());
    let limits = &options.cloud;
    let budget = SharedBudget::new(limits.api_qps, limits.api_burst, BudgetMetrics::default());
    let context = CloudContext::new("kubernetes")
        .with_cluster_uid(Some("cluster-1"))
        .with_budget(Arc::new(budget))
        .with_events(events);
    (Arc::new(cloud), context)
}

fn report(mode: Mode, cluster: &str) -> Arc<dyn Controller> {
    let (namespace, name) = DEFAULT_REPORT;
    Arc::new(ShadowController::new(ShadowOptions {
        mode,
        version: "test".to_owned(),
        cluster_name: cluster.into(),
        holder: "host_1".to_owned(),
        report: (namespace.to_owned(), name.to_owned()),
        period: Duration::from_secs(60),
        batch: 256,
    }))
}

fn controllers() -> Vec<Arc<dyn Controller>> {
    let [_node, lifecycle, service, ..] = ControllerName::common();
    vec![
        Arc::new(NodeController::new(NodeOptions::default())),
        Arc::new(LifecycleController::new(lifecycle, LifecycleOptions::default()).unwrap()),
        Arc::new(ServiceController::new(service, ServiceOptions::default())),
    ]
}

async fn supervised(controller: Arc<dyn Controller>, context: ControllerContext, cancel: CancellationToken) {
    while let Err(stopped) = controller.run(context.clone(), cancel.clone()).await {
        match stopped {
            Stopped::NotWanted(why) => panic!("{}: {why}", controller.name().canonical),
            Stopped::Unavailable(_) => {
                if cancel.run_until_cancelled(sleep(AGAIN)).await.is_none() {
                    return;
                }
            }
        }
    }
}

/// Three Nodes and a first Service, at rest: logins, endpoints and versions are asked for once.
pub(crate) async fn settled(config: Config, servers: usize) -> (World, Stack) {
    let world = World::new(config, servers);
    world.register(1..=3);
    let stack = Stack::start(&world).await;
    let minutes = Duration::from_secs(300);
    until("three Nodes", minutes, || world.initialised() == 3).await;
    world.apply("first", 1);
    until("the first Service", minutes, || world.address("first").is_some()).await;
    seconds(60).await;
    (world, stack)
}
