//! What a real OCCM left in a real cloud for 23 Services, with amphorae and with OVN: the same is wanted here.
//!
//! `recorded.json` has of each the Service and what the APIs of the cloud said about it, less ids, times and fields that nobody sets.

use bowline_cloud::TrafficPolicy;
use serde_json::{Value, json};

use super::*;

/// Of both clouds.
const SUBNET: &str = "161ee379-92bf-4189-817f-023331184957";

fn recorded() -> Vec<Value> {
    serde_json::from_str(include_str!("recorded.json")).unwrap()
}

/// Each of them, with what is wanted for it and the configuration that it was recorded with.
pub(in crate::loadbalancer) fn wishes() -> Vec<(Value, Intent, LoadBalancer)> {
    let wish = |record: Value| {
        let case = case(&record);
        (record, case.intent(), case.conf.load_balancer.clone())
    };
    recorded().into_iter().map(wish).collect()
}

fn number(value: &Value) -> Option<u16> {
    value.as_u64().map(|number| u16::try_from(number).unwrap())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn case(record: &Value) -> Case {
    let mut case = Case::new().conf(|conf| {
        conf.lb_provider = text(&record["provider"]).to_owned();
        let ovn = conf.lb_provider == "ovn";
        conf.lb_method = if ovn { "SOURCE_IP_PORT" } else { "ROUND_ROBIN" }.to_owned();
        conf.subnet_id = SUBNET.to_owned();
        conf.floating_network_id = "1cc39393-53d1-4727-b4da-5f10027aca8c".to_owned();
        conf.create_monitor = true;
    });
    for (key, value) in record["annotations"].as_object().unwrap() {
        case = case.with(key, text(value));
    }
    case.service(|service| {
        service.name = text(&record["name"]).into();
        service.uid = text(&record["uid"]).into();
        service.health_check_node_port = number(&record["health_check_node_port"]);
        let policy = if record["local"] == true { TrafficPolicy::Local } else { TrafficPolicy::Cluster };
        service.external_traffic_policy = Some(policy);
        let ranges = record["source_ranges"].as_array().unwrap();
        service.source_ranges = ranges.iter().map(|range| text(range).into()).collect();
        let ports = record["ports"].as_array().unwrap().iter().map(|port| ServicePort {
            protocol: text(&port["protocol"]).into(),
            port: number(&port["port"]).unwrap(),
            node_port: number(&port["node_port"]),
            ..ServicePort::default()
        });
        service.ports = ports.collect();
    })
}

/// What a wish looks like in the cloud when it is fulfilled.
fn fulfilled(intent: &Intent) -> Value {
    let names = &intent.names;
    let VipPlace::Given { subnet: Some(vip_subnet), network: None } = &intent.vip else {
        panic!("{:?}", intent.vip)
    };
    json!({
        "id": intent.load_balancer,
        "load_balancer": names.load_balancer(),
        "description": names.load_balancer_description(),
        "tags": [names.tag()],
        "vip_subnet": vip_subnet,
        "floating": intent.floating.iter().map(|_| names.floating_ip_description()).collect::<Vec<_>>(),
        "ports": intent.ports.iter().map(|port| fulfilled_port(intent, port)).collect::<Vec<_>>(),
    })
}

fn fulfilled_port(intent: &Intent, port: &PortIntent) -> Value {
    let (names, place) = (&intent.names, port.place);
    // Octavia's own, where they cannot be set.
    let unset = Timeouts { client_data: 50_000, member_connect: 5_000, member_data: 50_000, tcp_inspect: 0 };
    let timeouts = intent.timeouts.unwrap_or(unset);
    let ranges: Vec<_> = intent.source_ranges.iter().map(ToString::to_string).collect();
    let MemberSubnet::Given(member_subnet) = &intent.member_subnet else {
        panic!("{:?}", intent.member_subnet)
    };
    json!({
        "listener": names.listener(place),
        "protocol": port.listener_protocol,
        "port": port.port,
        "connection_limit": intent.connection_limit,
        "timeouts": [timeouts.client_data, timeouts.member_connect, timeouts.member_data, timeouts.tcp_inspect],
        "allowed_cidrs": intent.allowed_cidrs.then_some(ranges),
        "insert_headers": port.insert_headers,
        "tags": [names.tag()],
        "pool": names.pool(place),
        "pool_protocol": port.pool_protocol,
        "algorithm": intent.algorithm,
        "monitor": intent.monitor.map(|values| json!({
            "name": names.monitor(place),
            "type": port.monitor,
            "values": [values.delay, values.timeout, values.max_retries, values.max_retries_down],
        })),
        "member_ports": [port.node_port],
        "monitor_ports": [port.monitor_port],
        "member_subnets": [member_subnet],
    })
}

#[test]
fn what_is_wanted_is_what_occm_left_in_the_cloud() {
    let records = recorded();
    assert_eq!(records.len(), 23);
    for record in records {
        let intent = case(&record).intent();
        assert_eq!(fulfilled(&intent), record["cloud"], "{} {}", record["provider"], record["name"]);
    }
}

#[test]
fn the_status_is_what_occm_wrote() {
    for record in recorded() {
        let address = text(&record["annotations"][annotations::LOAD_BALANCER_ADDRESS.key]).parse().unwrap();
        let status = case(&record).intent().publication.status(address);
        assert_eq!(serde_json::to_value(status).unwrap(), record["status"], "{}", record["name"]);
    }
}
