//! The instances on the simulated OpenStack, in virtual time; calls are counted by its log.

mod changes;
mod gone;
mod namesake;
mod steady;

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{AddressKind, Claim, ErrorClass, Evidence, Instances, NodeView, Power};
use futures::future::join_all;
use sim_openstack::compute::VmState;
use sim_openstack::network::{Port, SubPort, Trunk};
use sim_openstack::{Config, Fault, Rule, Service};

use super::Servers;
use super::labels::LabelRules;
use super::simulation::{Simulation, class, node, present};
use crate::config::Networking;
use crate::inventory::{AGE_LIMIT, Inventory};

#[tokio::test(start_paused = true)]
async fn five_thousand_nodes_are_initialised_with_at_most_twenty_calls() {
    // Neutron is often limited as Nova is.
    let config = Config { network_page_max: Some(1000), ..Config::default() };
    let simulation = Simulation::new(config, 5000);
    let servers = simulation.servers();
    let nodes: Vec<_> = (1..=5000).map(|number| Arc::new(node(&format!("node-{number}"), None))).collect();
    // As a burst: many small batches at the same time.
    let found = join_all(nodes.chunks(100).map(|chunk| servers.observe(chunk))).await;
    for (number, evidence) in found.iter().flatten().enumerate() {
        let instance = present(evidence);
        assert_eq!(instance.provider_id, format!("openstack:///{}", simulation.estate.servers[number]));
        assert_eq!(instance.addresses.len(), 1);
    }
    let calls = simulation.calls();
    assert!(calls <= 20, "{calls} calls: {:?}", simulation.counts());

    // The same again within the age limit is free, and after it costs another reading and no more.
    servers.observe(&nodes).await;
    assert_eq!(simulation.calls(), calls);
    tokio::time::advance(Duration::from_secs(61)).await;
    join_all(nodes.chunks(100).map(|chunk| servers.observe(chunk))).await;
    assert!(simulation.calls() - calls <= 12, "{:?}", simulation.counts());
}

#[tokio::test(start_paused = true)]
async fn a_server_tells_provider_id_type_zone_region_addresses_and_power() {
    let simulation = Simulation::new(Config::default(), 2);
    let [first, second] = [0, 1].map(|index| simulation.estate.servers[index].clone());
    simulation.edit(|state| {
        state.compute.servers.update(&second, |server| {
            server.vm_state = VmState::Stopped;
            server.zone = "room 2".into();
            server.access.0 = "192.0.2.5".into();
        });
    });
    let servers = simulation.servers();
    let found = servers.observe(&[Arc::new(simulation.of(0)), Arc::new(node("node-2", None))]).await;
    let instance = present(&found[0]);
    assert_eq!(instance.provider_id, format!("openstack:///{first}"));
    assert_eq!(instance.instance_type.as_deref(), Some("m1.tiny"));
    assert_eq!((instance.zone.as_deref(), instance.region.as_deref()), (Some("az1"), Some("RegionOne")));
    assert_eq!(instance.power, Power::Running);
    assert_eq!(instance.additional_labels.keys().collect::<Vec<_>>(), [super::labels::HOST_ID]);
    let instance = present(&found[1]);
    assert_eq!(instance.provider_id, format!("openstack:///{second}"));
    assert_eq!((instance.zone.as_deref(), instance.power), (Some("room-2"), Power::ShutDown));
    assert!(instance.addresses.iter().any(|a| a.kind == AddressKind::ExternalIP && a.address == "192.0.2.5"));
    // A direct read tells the same.
    assert_eq!(servers.confirm(&simulation.of(0)).await, found[0]);
    assert_eq!(servers.confirm(&node("node-2", None)).await, found[1]);
}

#[tokio::test(start_paused = true)]
async fn a_regional_provider_id_is_written_where_wanted_and_a_node_keeps_the_form_it_has() {
    let simulation = Simulation::new(Config::default(), 1);
    let servers = simulation.servers_with(&Networking::default(), true);
    let found = servers.observe(&[Arc::new(node("node-1", None)), Arc::new(simulation.of(0))]).await;
    let id = &simulation.estate.servers[0];
    assert_eq!(present(&found[0]).provider_id, format!("openstack://RegionOne/{id}"));
    assert_eq!(present(&found[1]).provider_id, format!("openstack:///{id}"));
}

#[tokio::test(start_paused = true)]
async fn nodes_of_other_clouds_and_regions_are_not_claimed_and_malformed_ids_are_told() {
    let (_simulation, servers) = Simulation::with_servers(1);
    for (id, ours) in [
        (None, true),
        (Some(""), true),
        (Some("openstack:///a"), true),
        (Some("openstack://RegionOne/a"), true),
        (Some("openstack://RegionTwo/a"), false),
        (Some("aws:///eu-1/i-1"), false),
        (Some("openstack://a"), true),
    ] {
        assert_eq!(servers.claims(&node("x", id)) == Claim::Ours, ours, "{id:?}");
    }
    let wrong = [node("node-1", Some("openstack://a")), node("node-1", Some("openstack://RegionTwo/a"))];
    for node in wrong {
        assert_eq!(class(&servers.observe(&[Arc::new(node.clone())]).await[0]), Some(ErrorClass::Invalid));
        assert_eq!(class(&servers.confirm(&node).await), Some(ErrorClass::Invalid));
    }
}

#[tokio::test(start_paused = true)]
async fn two_servers_of_one_name_are_no_answer_and_no_absence() {
    let simulation = Simulation::new(Config::default(), 1);
    simulation.boot("node-1");
    simulation.boot("Node-7");
    let servers = simulation.servers();
    let found = servers.observe(&[Arc::new(node("node-1", None)), Arc::new(node("node-7", None))]).await;
    assert_eq!(class(&found[0]), Some(ErrorClass::Invalid));
    assert_eq!(class(&servers.confirm(&node("node-1", None)).await), Some(ErrorClass::Invalid));
    // A host writes its name small.
    present(&found[1]);
    assert_eq!(servers.confirm(&node("node-7", None)).await, found[1]);
    // By its id each is found.
    present(&servers.observe(&[Arc::new(simulation.of(0))]).await[0]);
}

#[tokio::test(start_paused = true)]
async fn sub_ports_of_a_trunk_are_found_in_the_snapshot_and_directly() {
    let simulation = Simulation::new(Config::default(), 1);
    let server = simulation.estate.servers[0].clone();
    simulation.edit(|state| {
        let parent = state.network.ports.find("device_id", &server).next().cloned().unwrap();
        let mut carried = Port { id: uuid(7), device_id: String::new(), ..parent.clone() };
        carried.fixed_ips[0].ip_address = "10.10.77.1".into();
        let sub_ports = vec![SubPort { port_id: carried.id.clone(), ..SubPort::default() }];
        state.network.trunks.insert(Trunk {
            id: uuid(8),
            project_id: parent.project_id.clone(),
            port_id: parent.id.clone(),
            sub_ports,
            ..Trunk::default()
        });
        state.network.ports.insert(carried);
    });
    let servers = simulation.servers();
    let found = servers.observe(&[Arc::new(simulation.of(0))]).await;
    let addresses: Vec<_> = present(&found[0]).addresses.iter().map(|a| a.address.to_string()).collect();
    assert_eq!(addresses.len(), 2, "{addresses:?}");
    assert_eq!(addresses[1], "10.10.77.1");
    assert_eq!(servers.confirm(&simulation.of(0)).await, found[0]);
}

fn uuid(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

#[tokio::test(start_paused = true)]
async fn a_flavor_whose_name_is_no_label_is_told_by_its_id() {
    let simulation = Simulation::new(Config::default(), 1);
    simulation.edit(|state| state.compute.flavors.get_mut("1").unwrap().name = "very tiny".into());
    let servers = simulation.servers();
    let found = servers.observe(&[Arc::new(simulation.of(0))]).await;
    assert_eq!(present(&found[0]).instance_type.as_deref(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_reading_that_fails_shares_its_failure_and_the_next_reads_again() {
    let (simulation, servers) = Simulation::with_servers(3);
    let lists = Rule::new(Fault::too_many_requests(7)).on(Service::Compute).path("*/servers/detail");
    simulation.fault(lists.times(1));
    let nodes: Vec<Arc<NodeView>> = (0..3).map(|index| Arc::new(simulation.of(index))).collect();
    let found = join_all(nodes.chunks(1).map(|chunk| servers.observe(chunk))).await;
    for evidence in found.iter().flatten() {
        let Evidence::Unknown(doubt) = evidence else { panic!("{evidence:?}") };
        assert_eq!((doubt.class, doubt.retry_after), (ErrorClass::Throttled, Some(Duration::from_secs(7))));
    }
    present(&servers.observe(&nodes).await[2]);
}

#[tokio::test(start_paused = true)]
async fn configured_flavor_properties_are_labels_and_cost_no_call() {
    let plain = Simulation::new(Config::default(), 1);
    plain.servers().observe(&[Arc::new(plain.of(0))]).await;
    let simulation = Simulation::new(Config::default(), 1);
    simulation.edit(|state| {
        for flavor in state.compute.flavors.values_mut() {
            flavor.extra_specs = [("hw:cpu_policy".to_owned(), "dedicated".to_owned())].into();
        }
    });
    let rules = LabelRules::parse(&["hw:cpu_policy=example.org/cpu".to_owned()]).unwrap();
    let inventory = Arc::new(Inventory::new(simulation.client.clone(), AGE_LIMIT).labelled(rules));
    let servers = Servers::new(inventory, &Networking::default(), "RegionOne", false);
    let found = servers.observe(&[Arc::new(simulation.of(0))]).await;
    let labels = &present(&found[0]).additional_labels;
    assert_eq!(labels.get("example.org/cpu").map(String::as_str), Some("dedicated"));
    assert_eq!(labels.get(super::labels::HOST_ID).map(String::len), Some(56), "a SHA-224 in hexadecimal");
    assert_eq!(simulation.calls(), plain.calls(), "{:?}", simulation.counts());
}
