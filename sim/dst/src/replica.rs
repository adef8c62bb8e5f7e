//! A process of Bowline in the world: the manager as it is shipped, with all controllers and the OpenStack provider, over the links.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{Cloud, CloudConfig};
use bowline_kube::client::ClientFactory;
use bowline_kube::clock::Clock;
use bowline_manager::exit::Exit;
use bowline_manager::flags::{FlagTable, parse};
use bowline_manager::options::Options;
use bowline_manager::replica::{Replica, Surroundings};
use bowline_manager::signals::Signals;
use bowline_openstack::cloud::{OpenStackCloud, Surroundings as CloudSurroundings};
use bowline_openstack::config::{ConfigSource, Configuration, Environment, LoadError, Site};
use openstack_client::{Timeouts, Transport};
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::cloud_link::CloudLink;
use crate::invariants::Judge;
use crate::museum::{self, KubeWay, Piece, Workshop};
use crate::world::World;

/// How often a leader renews its lease: seldom, for the sake of speed. The ratios are those of the defaults.
const LEASE: [&str; 3] = [
    "--leader-elect-lease-duration=60s",
    "--leader-elect-renew-deadline=40s",
    "--leader-elect-retry-period=20s",
];

/// A cloud.conf that changes while processes run, as a mounted file does.
#[derive(Clone)]
pub struct CloudConf(watch::Sender<String>);

impl CloudConf {
    /// A file with this text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(watch::Sender::new(text))
    }

    /// Writes it anew.
    pub fn write(&self, text: String) {
        self.0.send_replace(text);
    }
}

struct Mounted {
    texts: watch::Sender<String>,
    seen: Mutex<watch::Receiver<String>>,
    /// What a bug that is built in adds.
    end: &'static str,
}

#[async_trait]
impl ConfigSource for Mounted {
    async fn read(&self) -> Result<Configuration, LoadError> {
        let text = self.seen.lock().borrow_and_update().clone();
        let text = format!("{text}{}", self.end);
        let site = Site::of(&CloudConfig::new(Some(text)), Environment::default());
        ConfigSource::read(&site).await
    }

    async fn changed(&self) {
        let mut news = self.seen.lock().clone();
        if news.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        drop(self.texts.borrow());
    }
}

/// What a process needs to be told.
pub struct Birth {
    /// Where it lives.
    pub judge: Arc<Judge>,
    /// Its name.
    pub name: String,
    /// How wrong its clock is.
    pub skew: Duration,
    /// Seeds its pauses.
    pub seed: u64,
    /// What is built into it on purpose.
    pub piece: Option<Piece>,
}

/// Starts a process. Gives its end, and what it counts; nothing if its configuration cannot be used, as a process that ends at once.
pub async fn start(
    birth: Birth,
) -> Option<(impl Future<Output = Exit> + Send + use<>, Arc<Registry>, Signals)> {
    let Birth { judge, name, skew, seed, piece } = birth;
    let world = &judge.world;
    let options = options(world, piece);
    let workshop = Workshop::new(piece, Arc::clone(&judge));
    let cloud = cloud(&judge, &name, workshop.clone()).await?;
    let kube = KubeWay::new(world.kube.clone(), workshop);
    let nowhere = kube::Config::new(http::Uri::from_static("http://kubernetes.sim"));
    let clients = ClientFactory::new(nowhere, &name, "dst", options.client.qps, options.client.burst)
        .with_deadline(options.client.timeout)
        .in_memory(kube);
    let now = world.cloud.now().checked_add(jiff::SignedDuration::try_from(skew).expect("a skew is short"));
    let clock = Clock::simulated(now.expect("within time"));
    let around = Surroundings { options, cloud, clients, clock, identity: name, seed };
    let replica = Replica::new(around).expect("a replica in memory needs nothing");
    let (registry, signals) = (replica.registry(), Signals::default());
    Some((replica.run(signals.clone()), registry, signals))
}

fn options(world: &World, piece: Option<Piece>) -> Options {
    let mut arguments = vec!["--cloud-provider=openstack"];
    arguments.extend(LEASE);
    if world.setting.routes {
        arguments.extend([
            "--configure-cloud-routes=true",
            "--cluster-cidr=10.244.0.0/16",
            "--allocate-node-cidrs=true",
        ]);
    } else {
        arguments.push("--configure-cloud-routes=false");
    }
    let repair =
        world.setting.repair.map(|period| format!("--load-balancer-repair-period={}s", period.as_secs()));
    arguments.extend(repair.as_deref());
    arguments.extend(museum::flags(piece));
    let flags = parse(&FlagTable::common(), arguments).expect("these flags exist");
    Options::from_parsed(&flags).expect("these flags are right")
}

async fn cloud(judge: &Arc<Judge>, name: &str, workshop: Workshop) -> Option<Arc<dyn Cloud>> {
    let world = &judge.world;
    let end = museum::configuration(workshop.piece());
    let link = CloudLink::new(Arc::clone(judge), name, workshop);
    let lying = link.clone();
    let clock = world.cloud.clone();
    let around = CloudSurroundings {
        connect: Arc::new(move |_| Ok(Transport::new(link.clone(), Timeouts::default()))),
        clock: Some(Arc::new(move || clock.now())),
        environment: Environment::default(),
        version: "dst".to_owned(),
        user_agent: Vec::new(),
    };
    let texts = world.conf.0.clone();
    let seen = Mutex::new(texts.subscribe());
    let source = Arc::new(Mounted { texts, seen, end });
    let cloud = OpenStackCloud::start(source, around).await.ok()?;
    Some(museum::over_cloud(lying, Arc::new(cloud)))
}
