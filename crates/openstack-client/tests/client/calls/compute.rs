//! Nova.

use openstack_client::{
    FlavorId, ProjectId, ServerId,
    compute::{AddressType, Microversion, PowerState, ServerQuery, ServerStatus},
};
use serde_json::{Value, json};

use super::{address, answering, last};
use crate::cloud::{Cloud, PROJECT, Reply};

/// A server as Nova shows it at 2.1.
fn server() -> Value {
    json!({
        "accessIPv4": "", "accessIPv6": "",
        "addresses": {"k8s-net": [
            {"version": 6, "addr": "fd00:10::3c7", "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:b0:65:0f"},
            {"version": 4, "addr": "203.0.113.9", "OS-EXT-IPS:type": "floating", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:b0:65:0f"}]},
        "created": "2026-11-15T07:51:40Z", "flavor": {"id": "1", "links": []}, "hostId": "5c1c", "id": "s1", "image": "",
        "links": [], "metadata": {"role": "worker"}, "name": "node-1", "status": "ACTIVE", "tenant_id": PROJECT,
        "OS-EXT-AZ:availability_zone": "az1", "key_name": null, "OS-EXT-STS:task_state": null,
        "OS-EXT-STS:vm_state": "active", "OS-EXT-STS:power_state": 1, "os-extended-volumes:volumes_attached": [],
    })
}

#[tokio::test(start_paused = true)]
async fn a_server_is_read_with_addresses_zone_and_flavor() {
    let cloud = answering(json!({"server": server()}));
    let found = cloud.client().compute().server(&ServerId::new("s1").unwrap()).await.unwrap();
    assert_eq!(last(&cloud).line(), "GET nova.test/v2.1/servers/s1");
    assert_eq!(last(&cloud).header("openstack-api-version"), "");
    assert_eq!((found.status, found.power_state), (ServerStatus::Active, Some(PowerState::Running)));
    assert_eq!((found.availability_zone.as_deref(), found.access_ipv4), (Some("az1"), None));
    let addresses = &found.addresses["k8s-net"];
    assert_eq!((addresses[0].addr, &addresses[0].kind), (address("fd00:10::3c7"), &AddressType::Fixed));
    assert_eq!(addresses[1].kind, AddressType::Floating);
    assert_eq!(found.flavor.id, Some(FlavorId::new("1").unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_server_in_the_making_and_one_with_unknown_words_are_read() {
    for (change, check) in [
        (
            json!({"addresses": {}, "status": "BUILD", "OS-EXT-AZ:availability_zone": "", "flavor": null}),
            "BUILD",
        ),
        (
            json!({"status": "TELEPORTING", "OS-EXT-STS:power_state": 99, "metadata": null, "addresses": null}),
            "TELEPORTING",
        ),
    ] {
        let mut body = server();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let cloud = answering(json!({"server": body}));
        let found = cloud.client().compute().server(&ServerId::new("s1").unwrap()).await.unwrap();
        assert_eq!(found.status.as_str(), check);
    }
    let least = answering(json!({"server": {"id": "s1"}}));
    least.client().compute().server(&ServerId::new("s1").unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_matters_must_be_there_and_be_right() {
    for body in [
        json!({"server": {"name": "no id"}}),
        json!({"server": {"id": ""}}),
        json!({"server": {"id": "s1", "addresses": {"n": [{"addr": "10.0.0.300"}]}}}),
        json!({"server": null}),
        json!({"servers": []}),
        json!([]),
    ] {
        let shown = body.to_string();
        let error =
            answering(body).client().compute().server(&ServerId::new("s1").unwrap()).await.expect_err(&shown);
        assert!(!error.is_not_found(), "{error}");
        assert_eq!(error.request_id(), Some("req-1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_is_searched_for_exactly_although_nova_takes_patterns() {
    let cloud = answering(json!({"servers": [server()]}));
    let query = ServerQuery::by_name("node-1.example");
    assert_eq!(cloud.client().compute().servers(&query).all().await.unwrap().len(), 1);
    assert_eq!(
        last(&cloud).line(),
        "GET nova.test/v2.1/servers/detail?name=%5Enode-1%5C.example%24&limit=500"
    );
}

#[tokio::test(start_paused = true)]
async fn a_microversion_is_sent_with_each_call_and_the_range_is_known() {
    let mut body = server();
    body["flavor"] = json!({"vcpus": 1, "original_name": "m1.tiny", "extra_specs": {}});
    let cloud = Cloud::new(move |asked| match asked.path.as_str() {
        "/v2.1/" => Reply::ok(
            &json!({"version": {"id": "v2.1", "status": "CURRENT", "version": "2.104", "min_version": "2.1"}}),
        ),
        _ => Reply::ok(&json!({"server": body})),
    });
    let compute = cloud.client().compute();
    let (low, high) = compute.microversions().await.unwrap().unwrap();
    assert!(low < Microversion::FLAVOR_IN_SERVER && Microversion::FLAVOR_IN_SERVER < high);
    let compute = compute.at(Microversion::FLAVOR_IN_SERVER);
    let found = compute.server(&ServerId::new("s1").unwrap()).await.unwrap();
    assert_eq!(found.flavor.original_name.as_deref(), Some("m1.tiny"));
    assert_eq!(last(&cloud).header("openstack-api-version"), "compute 2.47");
}

#[tokio::test(start_paused = true)]
async fn flavors_zones_and_interfaces_are_read() {
    let cloud = Cloud::new(|asked| match asked.path.as_str() {
        "/v2.1/flavors/1" => Reply::ok(
            &json!({"flavor": {"id": "1", "name": "m1.tiny", "ram": 512, "disk": 1, "vcpus": 1, "swap": ""}}),
        ),
        "/v2.1/flavors/detail" => {
            Reply::ok(&json!({"flavors": [{"id": "1", "name": "m1.tiny", "extra_specs": {"a": "b"}}]}))
        }
        "/v2.1/os-availability-zone" => Reply::ok(&json!({"availabilityZoneInfo": [
            {"zoneName": "az1", "zoneState": {"available": true}, "hosts": null}]})),
        "/v2.1/servers/s1/os-interface" => {
            Reply::ok(&json!({"interfaceAttachments": [{"net_id": "n1", "port_id": "p1",
            "mac_addr": "fa:16", "port_state": "ACTIVE", "fixed_ips": [{"subnet_id": "sn", "ip_address": "10.10.0.95"}]}]}))
        }
        "/v2.1/os-quota-sets/05a2ca643f9c4ec88c197cde22941c01" => {
            Reply::ok(&json!({"quota_set": {"id": "x", "cores": 20, "instances": -1}}))
        }
        other => panic!("{other}"),
    });
    let compute = cloud.client().compute();
    let flavor = compute.flavor(&FlavorId::new("1").unwrap()).await.unwrap();
    assert_eq!((flavor.name.as_str(), flavor.ram, flavor.vcpus), ("m1.tiny", 512, 1));
    assert_eq!(compute.flavors().all().await.unwrap()[0].extra_specs["a"], "b");
    let zones = compute.availability_zones().await.unwrap();
    assert_eq!((zones[0].name.as_str(), zones[0].available), ("az1", true));
    let interfaces = compute.interfaces(&ServerId::new("s1").unwrap()).await.unwrap();
    assert_eq!(interfaces[0].fixed_ips[0].ip_address, address("10.10.0.95"));
    let quota = compute.quota(&ProjectId::new(PROJECT).unwrap()).await.unwrap();
    assert_eq!(quota, [("cores".to_owned(), 20), ("instances".to_owned(), -1)]);
}
