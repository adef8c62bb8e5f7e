//! The lives of nodes: each joins, and then its machine changes, naps, sleeps, vanishes or comes back.

use std::time::Duration;

use bowline_testkit::eventually;
use bowline_testkit::nodes::{Nodes, UNINITIALIZED};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use rand::RngExt;
use rand::rngs::StdRng;
use real_kubernetes_tests::framework::protocol::Machine;
use serde_json::json;
use tokio::time::sleep;

use crate::kubelet::{SHUTDOWN, has_taint, join, machine, registration};
use crate::world::World;

pub(super) const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

/// What a node must be in the end.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) name: String,
    /// `None` if the Node must be gone.
    pub(super) machine: Option<Machine>,
    pub(super) down: bool,
    pub(super) zone: String,
    /// Not a node of this cloud: nobody may have touched it.
    pub(super) foreign: bool,
}

impl Expected {
    fn there(machine: &Machine) -> Self {
        let (name, zone) = (machine.name.clone(), machine.zone.clone());
        Self { name, machine: Some(machine.clone()), down: false, zone, foreign: false }
    }

    fn gone(machine: &Machine) -> Self {
        Self { machine: None, ..Self::there(machine) }
    }
}

fn ip(n: usize, generation: usize) -> String {
    format!("10.{generation}.{}.{}", n / 250, n % 250 + 1)
}

fn moment(rng: &mut StdRng, most_millis: u64) -> Duration {
    Duration::from_millis(rng.random_range(0..most_millis))
}

/// One life.
pub(super) async fn live(world: &World, n: usize, mut rng: StdRng) -> anyhow::Result<Expected> {
    let name = format!("node-{n:03}");
    sleep(moment(&mut rng, 12_000)).await;
    if n % 40 == 39 {
        return foreign(world, &name).await;
    }
    let mut machine = machine(&format!("m-{n}"), &name, &ip(n, 0));
    let node = joins(world, &machine, n.is_multiple_of(2)).await?;
    sleep(moment(&mut rng, 10_000)).await;
    match n % 10 {
        0 | 1 => {}
        2 => {
            machine.addresses[0].address = ip(n, 1).into();
            put(world, &machine);
        }
        3 => naps(world, &machine, moment(&mut rng, 3_000)).await?,
        4 => {
            machine.off = true;
            put(world, &machine);
            Nodes::of(&world.client).report_ready(&name, "False").await?;
            return Ok(Expected { down: true, ..Expected::there(&machine) });
        }
        5 | 6 => {
            vanishes(world, &machine, &node).await?;
            return Ok(Expected::gone(&machine));
        }
        7 => {
            is_moved_by_its_labels(world, &name).await?;
            return Ok(Expected { zone: "there-b".to_owned(), ..Expected::there(&machine) });
        }
        // Ready, so it stays, whatever the cloud says.
        8 => drop(world.cloud.with(|cloud| cloud.machines.remove(&machine.id))),
        _ => {
            vanishes(world, &machine, &node).await?;
            eventually(format!("the end of {name}"), async || Ok(world.node(&name).is_none().then_some(())))
                .await?;
            machine.id = format!("m-{n}-again");
            machine.addresses[0].address = ip(n, 2).into();
            joins(world, &machine, n % 20 == 9).await?;
        }
    }
    Ok(Expected::there(&machine))
}

fn put(world: &World, machine: &Machine) {
    world.cloud.with(|cloud| cloud.machines.insert(machine.id.clone(), machine.clone()));
}

/// Its machine is made, its kubelet registers, the manager initialises it.
async fn joins(world: &World, machine: &Machine, knows_its_id: bool) -> anyhow::Result<Node> {
    put(world, machine);
    let id = knows_its_id.then(|| machine.provider_id());
    let node = join(&world.client, &registration(&machine.name, id)).await?;
    let initialised = || world.node(&machine.name).filter(|now| !has_taint(now, UNINITIALIZED));
    eventually(format!("{} initialised", machine.name), async || {
        Ok(initialised().filter(|now| now.metadata.uid == node.metadata.uid))
    })
    .await
}

async fn naps(world: &World, machine: &Machine, long: Duration) -> anyhow::Result<()> {
    let name = &machine.name;
    let is_tainted = || world.node(name).is_some_and(|node| has_taint(&node, SHUTDOWN));
    put(world, &Machine { off: true, ..machine.clone() });
    Nodes::of(&world.client).report_ready(name, "False").await?;
    eventually(format!("{name} tainted"), async || Ok(is_tainted().then_some(()))).await?;
    sleep(long).await;
    put(world, machine);
    Nodes::of(&world.client).report_ready(name, "True").await
}

async fn vanishes(world: &World, machine: &Machine, node: &Node) -> anyhow::Result<()> {
    world.cloud.with(|cloud| cloud.machines.remove(&machine.id));
    world.may_go(node);
    Nodes::of(&world.client).report_ready(&machine.name, "False").await
}

/// A person takes it out of the load balancers, and moves it to another zone by the old label: the new one follows.
async fn is_moved_by_its_labels(world: &World, name: &str) -> anyhow::Result<()> {
    let labels = json!({"metadata": {"labels": {EXCLUDE: "true", BETA_ZONE: "there-b"}}});
    Api::<Node>::all(world.client.clone())
        .patch(name, &PatchParams::default(), &Patch::Merge(labels))
        .await?;
    Ok(())
}

/// Somebody else's node, not ready: left alone.
async fn foreign(world: &World, name: &str) -> anyhow::Result<Expected> {
    let mut node = registration(name, Some(format!("metal://{name}")));
    if let (Some(spec), Some(status)) = (&mut node.spec, &mut node.status) {
        spec.taints = None;
        status.addresses = Some(vec![k8s_openapi::api::core::v1::NodeAddress {
            type_: "InternalIP".to_owned(),
            address: "192.0.2.200".to_owned(),
        }]);
    }
    join(&world.client, &node).await?;
    Nodes::of(&world.client).report_ready(name, "False").await?;
    let machine = machine(name, name, "192.0.2.200");
    Ok(Expected { foreign: true, ..Expected::there(&machine) })
}
