//! A simulated project in which every setting can name something: further networks, subnets, ports, addresses, certificates,
//! flavors, zones, and Nodes with labels. The same in every simulation, ids included.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use openstack_client::network::{FloatingIpCreate, NewFixedIp, PortCreate};
use sim_openstack::key_manager::Secret;
use sim_openstack::load_balancer::{AvailabilityZone, Flavor, Profile};
use sim_openstack::network::{NewSubnet, Port, add_network, add_router, add_subnet, connect};
use sim_openstack::{Config, Latencies};

use super::super::stage::Stage;
use crate::config::{CloudConf, Source, decode};

/// Addresses that settings ask for: pictures show them, and no others.
pub(in super::super) const ASKED: [&str; 6] =
    ["172.24.4.201", "172.24.4.202", "172.24.4.203", "10.10.0.201", "10.10.0.202", "10.10.0.203"];

/// The names by which settings call things, as `{name}`, and their ids.
pub(in super::super) type Things = BTreeMap<&'static str, String>;

/// A project with all of it.
pub(in super::super) struct Estate {
    pub(in super::super) stage: Stage,
    pub(in super::super) things: Things,
}

fn config() -> Config {
    let second = Duration::from_secs(1);
    let latencies = Latencies { amphora_create: second, amphora_change: second, ..Latencies::default() };
    Config { latencies, ..Config::default() }
}

impl Estate {
    pub(in super::super) async fn new() -> Self {
        let mut stage = Stage::with(config(), |_conf| {});
        let mut things = lay_out(&stage);
        make(&stage, &mut things).await;
        stage.change_nodes(|nodes| {
            for (node, labels) in [("node-1", "zone=a,disk=ssd"), ("node-2", "zone=b,disk=ssd")] {
                let view = Arc::make_mut(nodes.get_mut(node).unwrap());
                let pairs = labels.split(',').map(|pair| pair.split_once('=').unwrap());
                view.labels = pairs.collect::<BTreeMap<&str, &str>>().into();
            }
        });
        Self { stage, things }
    }

    /// A text with the ids of the things that it names.
    pub(in super::super) fn filled(&self, text: &str) -> String {
        self.things.iter().fold(text.to_owned(), |text, (name, id)| text.replace(&format!("{{{name}}}"), id))
    }

    /// The configuration of this text, read as any other.
    pub(in super::super) fn conf(&self, text: &str) -> CloudConf {
        let base = "[LoadBalancer]\nsubnet-id = {subnet}\nfloating-network-id = {external}\n";
        let text = self.filled(&format!("{base}{text}"));
        decode(&[Source::new("cloud.conf", text)]).unwrap().conf
    }

    /// From now on this configuration counts: a new process reads it.
    pub(in super::super) fn configure(&mut self, conf: CloudConf) {
        let is = &self.stage.conf;
        if is.load_balancer != conf.load_balancer || is.classes != conf.classes {
            self.stage.conf = conf;
            self.stage.restart();
        }
    }
}

/// A certificate of the user.
pub(in super::super) fn secret(estate: &sim_openstack::Estate, id: &str) -> Secret {
    Secret {
        id: id.to_owned(),
        project_id: estate.project.clone(),
        creator_id: estate.user.clone(),
        kind: "opaque".to_owned(),
        payload: Some("x".to_owned()),
        content_type: "application/octet-stream".to_owned(),
        created: "2026-11-15T08:00:00".to_owned(),
        ..Secret::default()
    }
}

/// Networks, certificates, flavors and zones.
fn lay_out(stage: &Stage) -> Things {
    let estate = stage.simulation.estate.clone();
    let mut things = Things::from([
        ("network", estate.network.clone()),
        ("subnet", estate.subnet.clone()),
        ("external", estate.external_network.clone()),
        ("external-subnet", estate.external_subnet.clone()),
    ]);
    stage.simulation.sim.with(|cloud| {
        let world = cloud.world();
        let subnet = |world: &mut _, project: &str, name: &str, network: &str, cidr: &str| {
            let new = NewSubnet {
                name: name.to_owned(),
                network_id: network.to_owned(),
                cidr: cidr.to_owned(),
                pool: None,
            };
            add_subnet(world, project, new).unwrap()
        };
        let (project, admin) = (&estate.project, &estate.admin_project);
        things.insert("subnet-2", subnet(world, project, "two", &estate.network, "10.2.0.0/24"));
        things.insert("subnet-6", subnet(world, project, "six", &estate.network, "2001:db8:7::/64"));
        for (network, subnet_name, cidr) in
            [("network-3", "subnet-3", "10.3.0.0/24"), ("network-4", "subnet-4", "10.4.0.0/24")]
        {
            let id = add_network(world, project, network, false);
            things.insert(subnet_name, subnet(world, project, subnet_name, &id, cidr));
            connect(world, &estate.router, &things[subnet_name]).unwrap();
            things.insert(network, id);
        }
        connect(world, &estate.router, &things["subnet-2"]).unwrap();
        let second = add_network(world, admin, "public-2", true);
        subnet(world, admin, "public-2", &second, "192.0.2.0/24");
        let router = add_router(world, project, "second", Some(&second));
        // A second way out of the subnet, at another address than its gateway.
        let ports = &mut world.state.network.ports;
        let way_out = |port: &&Port| port.fixed_ips.iter().any(|fixed| fixed.subnet_id == estate.subnet);
        let mut port = ports.find("device_id", &estate.router).find(way_out).unwrap().clone();
        (port.id, port.device_id) = ("second-way-out".to_owned(), router);
        port.fixed_ips[0].ip_address = "10.10.255.250".to_owned();
        ports.insert(port);
        things.insert("external-2", second);
        let gold = subnet(world, admin, "gold", &estate.external_network, "198.51.100.0/24");
        let silver = subnet(world, admin, "silver", &estate.external_network, "203.0.113.0/24");
        for (id, tag) in [(&gold, "fast"), (&silver, "slow")] {
            world.state.network.subnets.update(id, |subnet| subnet.tags = vec![tag.to_owned()]).unwrap();
        }
        things.extend([("gold", gold), ("silver", silver)]);
        for (name, id) in [("certificate-1", 1), ("certificate-2", 2)] {
            let id = format!("00000000-0000-4000-8000-00000000000{id}");
            world.state.key_manager.secrets.insert(secret(&estate, &id));
            things.insert(name, format!("http://openstack.sim/key-manager/v1/secrets/{id}"));
        }
        let octavia = &mut world.state.load_balancer;
        let profile =
            Profile { id: "p".to_owned(), provider_name: "amphora".to_owned(), ..Profile::default() };
        octavia.flavor_profiles.insert("p".to_owned(), profile);
        for name in ["small", "large"] {
            let id = name.to_owned();
            let flavor = Flavor { id, enabled: true, flavor_profile_id: "p".to_owned(), ..Flavor::default() };
            octavia.flavors.insert(name.to_owned(), flavor);
            let zone =
                AvailabilityZone { name: name.to_owned(), enabled: true, ..AvailabilityZone::default() };
            octavia.zones.insert(name.to_owned(), zone);
        }
    });
    things
}

/// What a user has made: ports to stand on, and floating IPs that lead nowhere.
async fn make(stage: &Stage, things: &mut Things) {
    let network = stage.simulation.client.network();
    for name in ["port-1", "port-2"] {
        let subnet_id = Some(things["subnet-2"].parse().unwrap());
        let new = PortCreate {
            network_id: things["network"].parse().unwrap(),
            name: name.to_owned(),
            description: String::new(),
            fixed_ips: vec![NewFixedIp { subnet_id, ip_address: None }],
            security_groups: None,
        };
        things.insert(name, network.create_port(&new).await.unwrap().id.to_string());
    }
    for address in &ASKED[..3] {
        let new = FloatingIpCreate {
            floating_network_id: things["external"].parse().unwrap(),
            subnet_id: None,
            floating_ip_address: None,
            port_id: None,
            description: "a user's".to_owned(),
        };
        let made = network.create_floating_ip(&new).await.unwrap();
        // Only an administrator can choose an address.
        stage.simulation.edit(|state| {
            let all = &mut state.network.floating_ips;
            all.update(made.id.as_str(), |one| one.floating_ip_address = (*address).to_owned()).unwrap();
        });
    }
}
