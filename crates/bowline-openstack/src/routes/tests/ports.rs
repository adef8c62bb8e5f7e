//! The ports of the Nodes: opened before their routes are made, shut before they go, repaired in between.

use std::time::Duration;

use bowline_cloud::{ErrorClass, RouteChange};
use http::{Method, StatusCode};
use sim_openstack::network::{AddressPair, FixedIp};
use sim_openstack::{Fault, Rule, Service};

use super::bench::{Bench, classes, create, pods};
use super::{ATOMIC, WHOLE};

fn pair(range: &str, mac: &str) -> AddressPair {
    AddressPair { ip_address: range.to_owned(), mac_address: mac.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn the_pairs_of_others_stay_also_one_for_the_same_range_with_another_hardware_address() {
    let bench = Bench::new(ATOMIC, 1).await;
    let theirs = [pair("10.0.0.0/8", "aa:bb:cc:dd:ee:ff"), pair(&pods(0), "aa:bb:cc:dd:ee:ff")];
    bench.edit_port(0, |port| port.allowed_address_pairs = theirs.to_vec());
    bench.apply_all(&[bench.create(0)]).await;
    let own = pair(&pods(0), &bench.port(0).mac_address);
    assert_eq!(bench.port(0).allowed_address_pairs, [&theirs[..], &[own]].concat());
    bench.apply_all(&[bench.delete(&bench.route(0)).await]).await;
    assert_eq!(bench.port(0).allowed_address_pairs, theirs);
}

#[tokio::test(start_paused = true)]
async fn a_port_without_port_security_and_a_cloud_without_pairs_need_none() {
    for (missing, guarded) in [(ATOMIC, false), (&["allowed-address-pairs"][..], true)] {
        let bench = Bench::new(missing, 1).await;
        bench.edit_port(0, |port| port.port_security_enabled = guarded);
        bench.apply_all(&[bench.create(0)]).await;
        assert_eq!((bench.table(), bench.open_for(0)), (vec![bench.route(0)], vec![]));
        assert!(bench.list().await.iter().all(|route| route.incomplete.is_none()));
        bench.apply_all(&[bench.delete(&bench.route(0)).await]).await;
        assert_eq!(bench.table(), Vec::<String>::new());
        assert!(bench.calls().iter().all(|call| !call.contains("PUT /v2.0/ports")));
    }
}

#[tokio::test(start_paused = true)]
async fn without_its_port_a_route_is_not_made_but_one_that_is_there_goes() {
    for missing in [ATOMIC, WHOLE] {
        let bench = Bench::new(missing, 2).await;
        let nobodys = create(&pods(7), &["10.10.77.77".to_owned()]);
        let answers = bench.apply(&[nobodys, bench.create(1)]).await;
        assert_eq!(classes(&answers), [Some(ErrorClass::NotFound), None]);
        let text = answers[0].as_ref().unwrap_err().to_string();
        assert!(text.contains("no port in the networks of the router has the address 10.10.77.77"), "{text}");
        assert_eq!(bench.table(), [bench.route(1)], "nothing to undo");
        let gone = bench.delete(&bench.route(1)).await;
        bench.simulation.remove(1);
        bench.apply_all(&[gone]).await;
        assert_eq!(bench.table(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_that_lost_its_pair_is_told_and_opened_again() {
    let bench = Bench::new(ATOMIC, 2).await;
    bench.apply_all(&[bench.create(0), bench.create(1)]).await;
    bench.list().await;
    bench.edit_port(1, |port| port.allowed_address_pairs.clear());
    tokio::time::advance(Duration::from_secs(301)).await;
    let listed = bench.list().await;
    let incomplete: Vec<_> = listed.iter().filter(|route| route.incomplete.is_some()).collect();
    let [route] = incomplete.as_slice() else { panic!("{listed:?}") };
    let address = bench.address(1);
    assert_eq!(route.name, bench.route(1));
    assert_eq!(
        route.incomplete.as_deref(),
        Some(
            format!("the port with address {address} lacks the allowed address pair 10.244.1.0/24").as_str()
        )
    );
    // It is told until it is repaired, without another look.
    bench.calls();
    assert!(bench.list().await.iter().any(|route| route.incomplete.is_some()));
    assert_eq!(bench.calls(), ["1 GET /v2.0/routers/{id}"]);
    let RouteChange::Create { hint, route: mut wanted } = bench.create(1) else { panic!() };
    wanted.next_hop = route.next_hop;
    bench.apply_all(&[RouteChange::Create { hint, route: wanted }]).await;
    assert_eq!(bench.open_for(1), [pods(1)]);
    assert_eq!(bench.table(), [bench.route(0), bench.route(1)]);
    assert!(bench.list().await.iter().all(|route| route.incomplete.is_none()));
}

#[tokio::test(start_paused = true)]
async fn ports_that_cannot_be_looked_at_fail_no_list_and_are_looked_at_again_soon() {
    let bench = Bench::new(ATOMIC, 1).await;
    bench.add(&pods(0), &bench.address(0));
    let lists = Rule::new(Fault::status(StatusCode::INTERNAL_SERVER_ERROR)).on(Service::Network);
    bench.fault(lists.path("/v2.0/ports").times(1));
    assert_eq!(bench.list().await[0].incomplete, None);
    assert_eq!(bench.list().await[0].incomplete, None, "not with each list");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(bench.list().await[0].incomplete.is_some());
}

#[tokio::test(start_paused = true)]
async fn while_ports_cannot_be_read_nothing_is_changed_and_nothing_comes_back() {
    for missing in [ATOMIC, WHOLE] {
        let bench = Bench::new(missing, 2).await;
        bench.apply_all(&[bench.create(0)]).await;
        let changes = [bench.delete(&bench.route(0)).await, bench.create(1)];
        bench.fault(Rule::new(Fault::too_many_requests(7)).path("/v2.0/ports"));
        let answers = bench.apply(&changes).await;
        assert_eq!(classes(&answers), [Some(ErrorClass::Throttled); 2]);
        assert_eq!(answers[0].as_ref().unwrap_err().asked_to_wait(), Some(Duration::from_secs(7)));
        assert_eq!(bench.table(), [bench.route(0)]);
        bench.clear_faults();
        bench.apply_all(&changes).await;
        assert_eq!((bench.table(), bench.open_for(0)), (vec![bench.route(1)], vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_that_may_never_be_changed_keeps_no_route_and_gets_none() {
    let bench = Bench::new(ATOMIC, 2).await;
    bench.apply_all(&[bench.create(0)]).await;
    let changes = [bench.delete(&bench.route(0)).await, bench.create(1)];
    bench.fault(Rule::new(Fault::forbidden()).method(Method::PUT).path("/v2.0/ports/{id}"));
    assert_eq!(classes(&bench.apply(&changes).await), [None, Some(ErrorClass::Forbidden)]);
    assert_eq!(bench.table(), Vec::<String>::new());
    assert_eq!(bench.open_for(0), [pods(0)]);
}

#[tokio::test(start_paused = true)]
async fn a_port_stays_open_for_pods_that_it_serves_under_another_address() {
    let bench = Bench::new(ATOMIC, 1).await;
    bench.apply_all(&[bench.create(0)]).await;
    let subnet_id = bench.port(0).fixed_ips[0].subnet_id.clone();
    bench.edit_port(0, |port| {
        port.fixed_ips.push(FixedIp { subnet_id, ip_address: "10.10.50.50".to_owned() });
    });
    bench.add(&pods(0), "10.10.50.50");
    bench.apply_all(&[bench.delete(&bench.route(0)).await]).await;
    assert_eq!(bench.table(), [format!("{} via 10.10.50.50", pods(0))]);
    assert_eq!(bench.open_for(0), [pods(0)]);
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_the_router_got_later_is_found() {
    use sim_openstack::network::{NewSubnet, add_network, add_subnet, connect};
    let bench = Bench::new(ATOMIC, 1).await;
    bench.apply_all(&[bench.create(0)]).await;
    let first = bench.route(0);
    let estate = bench.simulation.estate.clone();
    let network = bench.simulation.sim.with(|cloud| {
        let world = cloud.world();
        let network = add_network(world, &estate.project, "second", false);
        let (name, network_id) = ("second".to_owned(), network.clone());
        let new = NewSubnet { name, network_id, cidr: "10.20.0.0/24".to_owned(), pool: None };
        let subnet = add_subnet(world, &estate.project, new).unwrap();
        connect(world, &estate.router, &subnet).unwrap();
        network
    });
    bench.simulation.edit(|state| {
        let old = state.network.ports.find("device_id", &estate.servers[0]).next().cloned().unwrap();
        let subnet_id = state.network.subnets.find("network_id", &network).next().unwrap().id.clone();
        let fixed_ips = vec![FixedIp { subnet_id, ip_address: "10.20.0.9".to_owned() }];
        let id = "00000000-0000-4000-8000-000000000009".to_owned();
        let allowed_address_pairs = Vec::new();
        let port =
            sim_openstack::network::Port { id, network_id: network, fixed_ips, allowed_address_pairs, ..old };
        state.network.ports.insert(port);
    });
    bench.apply_all(&[create(&pods(3), &["10.20.0.9".to_owned()])]).await;
    assert_eq!(bench.table(), [first, format!("{} via 10.20.0.9", pods(3))]);
}
