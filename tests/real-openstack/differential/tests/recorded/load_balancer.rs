//! Octavia, in the order in which it was recorded: refusals, then both providers, then the rest.

use serde_json::{Value, json};
use sim_openstack::load_balancer;

use crate::player::Player;

const OCTAVIA: &str = "http://127.0.0.1:9876/v2/lbaas";
/// The recorded subnet of IPv6 addresses.
const SUBNET6: &str = "4aaa7064-e82d-4492-9cd3-4e487224523b";
/// Longer than any operation takes.
const LONG: u64 = 70;

pub(crate) fn replay(player: &mut Player) {
    play(player, "", &["providers"]);
    player.play_as_admin("octavia-providers-admin");
    play(player, "", &["flavors-empty", "azs-empty", "flavor-404", "quota-defaults-403", "quota-get"]);
    player.play_as_admin("octavia-provider-flavor-capabilities");
    play(player, "", &["provider-flavor-capabilities-member-403"]);
    player.play_as_admin("octavia-provider-flavor-capabilities-ovn");
    play(
        player,
        "",
        &[
            "lb-create-invalid-provider-400",
            "lb-create-subnet-unknown-400",
            "lb-create-no-vip-400",
            "lb-create-unknown-field-400",
            "lb-create-bad-flavor-400",
            "lb-create-bad-az-400",
            "lb-create-vip-in-use-409",
            "lb-create-vip-outside-subnet-500",
            "lb-404",
            "listener-404",
            "pool-404",
            "hm-404",
            "member-404",
            "lb-delete-404",
            "lb-get-baduuid-404",
        ],
    );
    player.play_as_admin("octavia-quota-put");
    play(player, "", &["lb-create-quota-403"]);
    player.play_as_admin("octavia-quota-reset-delete");
    play(player, "", &["lb-create-forbidden-403"]);
    for provider in ["ovn", "amphora"] {
        whole_life(player, provider);
    }
    pages(player);
    flavors(player);
    for provider in ["ovn", "amphora"] {
        addresses(player, provider);
    }
    two_addresses(player);
    stuck(player);
    child_quotas(player);
    health(player);
    play(
        player,
        "",
        &[
            "failover-404",
            "lbs-trailing-slash",
            "path-v2.0",
            "path-v2.0-unknown-404",
            "v2-authenticated",
            "v2.0-authenticated",
            "method-not-allowed",
            "bad-json-500",
        ],
    );
}

fn play(player: &mut Player, prefix: &str, names: &[&str]) {
    for name in names {
        player.play(&format!("octavia-{prefix}{name}"));
    }
}

/// Plays one exchange and waits until the load balancer can be changed again.
fn settled(player: &mut Player, provider: &str, name: &str) -> Value {
    let body = player.play(&format!("octavia-{provider}-{name}"));
    player.pass(LONG);
    body
}

fn unrecorded(player: &mut Player, method: &str, path: &str, body: &Value) -> Value {
    let token = player.member.clone();
    player.ask(&token, method, &format!("{OCTAVIA}/{path}"), &[], body).body
}

fn as_admin(player: &mut Player, method: &str, path: &str, body: &Value) {
    let token = player.admin.clone();
    player.ask(&token, method, &format!("{OCTAVIA}/{path}"), &[], body);
}

/// Sets a status behind the API's back, as the recording did in the database.
fn pin(player: &mut Player, id: &str, status: &str) {
    player.edit(|state| {
        state
            .load_balancer
            .load_balancers
            .update(id, |balancer| status.clone_into(&mut balancer.provisioning_status));
    });
}

fn gone(player: &mut Player, id: &str) {
    unrecorded(player, "DELETE", &format!("loadbalancers/{id}?cascade=true"), &Value::Null);
    player.pass(LONG);
}

fn whole_life(player: &mut Player, provider: &str) {
    let prefix = format!("{provider}-");
    let prefix = prefix.as_str();
    let made = player.play(&format!("octavia-{provider}-lb-create"));
    let id = made["loadbalancer"]["id"].as_str().unwrap().to_owned();
    play(
        player,
        prefix,
        &["lb-update-pending-409", "listener-create-on-pending-409", "pool-create-on-pending-409"],
    );
    player.pass(LONG);
    play(player, prefix, &["lb-get-ACTIVE"]);
    for status in ["PENDING_UPDATE", "PENDING_DELETE", "PENDING_CREATE"] {
        pin(player, &id, status);
        let names = ["lb-update", "listener-create", "pool-create", "lb-delete", "lb-delete-cascade"];
        for name in names {
            play(player, prefix, &[&format!("{name}-{status}-409")]);
        }
        if status != "PENDING_DELETE" {
            play(player, prefix, &[&format!("lb-get-{status}")]);
        }
    }
    pin(player, &id, "ERROR");
    play(player, prefix, &["lb-get-ERROR", "listener-create-ERROR-409", "lb-update-ERROR-409"]);
    pin(player, &id, "ACTIVE");
    listeners_and_pools(player, provider, prefix);
    members_and_monitor(player, provider, prefix, &id);
    options(player, provider, prefix);
    play(
        player,
        prefix,
        &[
            "lb-status-tree",
            "lb-stats",
            "listeners-of-lb",
            "pools-of-lb",
            "lb-by-name",
            "lb-by-name-none",
            "lb-by-tag",
            "lb-by-tags-any",
            "lb-by-not-tags",
            "lb-by-vip",
            "lb-by-vip-port",
            "lb-fields",
            "lb-unknown-filter-400",
        ],
    );
    settled(player, provider, "lb-update-tags");
    play(player, prefix, &["vip-port-in-neutron", "fip-on-vip"]);
    player.pass(2);
    play(
        player,
        prefix,
        &["fip-on-vip-get", "lb-delete-not-empty-400", "pool-delete", "pool-delete-while-pending-409"],
    );
    player.pass(LONG);
    play(
        player,
        prefix,
        &[
            "pool-deleted-404",
            "lb-delete-cascade-204",
            "lb-get-PENDING_DELETE",
            "lb-delete-again-while-PENDING_DELETE-409",
        ],
    );
    player.pass(LONG);
    play(player, prefix, &["lb-get-after-delete-404", "lb-delete-after-delete-404", "fip-after-lb-delete"]);
    lost_port(player, provider, prefix);
    fully_populated(player, prefix);
}

fn listeners_and_pools(player: &mut Player, provider: &str, prefix: &str) {
    play(player, prefix, &["listener-create", "listener-create-while-pending-update-409"]);
    player.pass(LONG);
    play(
        player,
        prefix,
        &[
            "listener-duplicate-port-409",
            "listener-create-lb-404",
            "listener-create-bad-protocol-400",
            "listener-create-bad-port-400",
        ],
    );
    settled(player, provider, "pool-create");
    play(player, prefix, &["pool-create-second-default-409"]);
    settled(player, provider, "pool-create-round-robin");
    settled(player, provider, "pool-create-session-persistence");
}

fn members_and_monitor(player: &mut Player, provider: &str, prefix: &str, id: &str) {
    settled(player, provider, "member-create");
    play(player, prefix, &["member-duplicate-409", "member-bad-subnet-400"]);
    settled(player, provider, "member-no-subnet");
    settled(player, provider, "hm-create");
    play(player, prefix, &["hm-second-on-pool-409", "hm-http-option-on-tcp-400"]);
    settled(player, provider, "hm-update");
    settled(player, provider, "members-batch-put");
    pin(player, id, "PENDING_UPDATE");
    play(
        player,
        prefix,
        &[
            "members-batch-PENDING_UPDATE-409",
            "member-create-PENDING_UPDATE-409",
            "hm-update-PENDING_UPDATE-409",
            "hm-delete-PENDING_UPDATE-409",
            "pool-delete-PENDING_UPDATE-409",
            "listener-delete-PENDING_UPDATE-409",
            "listener-update-PENDING_UPDATE-409",
        ],
    );
    pin(player, id, "ACTIVE");
    play(player, prefix, &["members-list-after-batch"]);
    settled(player, provider, "members-batch-same-noop");
    settled(player, provider, "members-batch-additive");
    play(player, prefix, &["members-list-after-additive", "members-batch-duplicate-in-request-400"]);
    settled(player, provider, "members-batch-empty");
    play(player, prefix, &["members-list-empty"]);
}

fn options(player: &mut Player, provider: &str, prefix: &str) {
    for name in [
        "listener-timeouts",
        "listener-allowed-cidrs",
        "listener-connection-limit",
        "listener-udp",
        "listener-same-port-udp-over-tcp",
        "pool-udp",
    ] {
        settled(player, provider, name);
    }
    play(player, prefix, &["pool-proxy-on-udp-listener-400"]);
    for name in ["hm-udp-connect", "listener-sctp", "listener-http", "listener-terminated-https"] {
        settled(player, provider, name);
    }
    play(player, prefix, &["listener-terminated-https-without-ref-400"]);
    settled(player, provider, "pool-proxy");
}

fn lost_port(player: &mut Player, provider: &str, prefix: &str) {
    let subnet = player.estate.subnet.clone();
    let wanted = json!({"loadbalancer": {"name": "noport", "provider": provider, "vip_subnet_id": subnet}});
    let made = unrecorded(player, "POST", "loadbalancers", &wanted);
    player.pass(LONG);
    let (id, port) =
        (made["loadbalancer"]["id"].as_str().unwrap(), made["loadbalancer"]["vip_port_id"].as_str().unwrap());
    let exchange_port = player.recorded_id(&format!("octavia-{provider}-vip-port-delete-by-tenant-204"));
    let exchange_id = player.recorded_id(&format!("octavia-{provider}-lb-delete-without-port"));
    player.translate(&exchange_port, port);
    player.translate(&exchange_id, id);
    play(player, prefix, &["vip-port-delete-by-tenant-204", "lb-delete-without-port"]);
    player.pass(LONG);
}

fn fully_populated(player: &mut Player, prefix: &str) {
    play(player, prefix, &["lb-create-fully-populated"]);
    // With OVN the load balancer is there in a second, and its children a moment later: it was recorded between the two.
    player.pass(if prefix == "ovn-" { 1 } else { LONG });
    play(player, prefix, &["lb-full-status"]);
    player.pass(LONG);
    play(player, prefix, &["lb-full-get", "lb-full-delete"]);
    player.pass(LONG);
}

fn pages(player: &mut Player) {
    let subnet = player.estate.subnet.clone();
    let mut ids = Vec::new();
    for number in 0..3 {
        let wanted = json!({"loadbalancer": {"name": format!("page-{number}"), "provider": "ovn", "vip_subnet_id": subnet}});
        let made = unrecorded(player, "POST", "loadbalancers", &wanted);
        ids.push(made["loadbalancer"]["id"].as_str().unwrap().to_owned());
        player.pass(1);
    }
    // The recorded third one was still being made.
    player.edit(|state| {
        state.load_balancer.load_balancers.update(&ids[2], |balancer| {
            "PENDING_CREATE".clone_into(&mut balancer.provisioning_status);
            "OFFLINE".clone_into(&mut balancer.operating_status);
            balancer.updated_at = None;
        });
    });
    play(player, "", &["lbs-page1"]);
    player.translate("e9bbc906-c05d-41d1-ae0f-4b3ba7782f8e", &ids[1]);
    play(
        player,
        "",
        &["lbs-page2", "lbs-bad-marker-400", "lbs-sorted", "lb-same-name-twice", "lb-by-name-two"],
    );
    player.pass(LONG);
    pin(player, &ids[2], "ACTIVE");
    let left = unrecorded(player, "GET", "loadbalancers", &Value::Null);
    for balancer in left["loadbalancers"].as_array().unwrap().clone() {
        gone(player, balancer["id"].as_str().unwrap());
    }
}

fn flavors(player: &mut Player) {
    for name in ["flavorprofile-create", "flavor-create", "azprofile-create", "az-create"] {
        player.play_as_admin(&format!("octavia-{name}"));
    }
    play(player, "", &["flavors", "flavor-get", "flavors-by-name", "azs"]);
    let made = player.play("octavia-lb-create-flavor-az");
    player.pass(LONG);
    gone(player, made["loadbalancer"]["id"].as_str().unwrap());
    play(player, "", &["lb-create-flavor-provider-mismatch"]);
}

fn addresses(player: &mut Player, provider: &str) {
    for name in
        ["vip-network-only", "vip-subnet6", "vip-address", "additional-vips", "vip-sg-ids", "vip-on-external"]
    {
        let made = player.play(&format!("octavia-{provider}-create-{name}"));
        player.pass(LONG);
        gone(player, made["loadbalancer"]["id"].as_str().unwrap());
    }
    let (network, subnet) = (player.estate.network.clone(), player.estate.subnet.clone());
    let wanted =
        json!({"port": {"network_id": network, "name": "pre", "fixed_ips": [{"subnet_id": subnet}]}});
    let token = player.member.clone();
    let port = player.ask(&token, "POST", "http://127.0.0.1:9696/v2.0/ports", &[], &wanted).body;
    let port = port["port"]["id"].as_str().unwrap().to_owned();
    let recorded = player.recorded_body(&format!("neutron-own-vip-port-during-{provider}"));
    player.translate(recorded["port"]["id"].as_str().unwrap(), &port);
    let made = player.play(&format!("octavia-{provider}-create-vip-port"));
    player.pass(LONG);
    player.play(&format!("neutron-own-vip-port-during-{provider}"));
    gone(player, made["loadbalancer"]["id"].as_str().unwrap());
    player.play(&format!("neutron-own-vip-port-after-{provider}-lb"));
}

/// A given port with an address of each family: Octavia does not guess which one is meant.
fn two_addresses(player: &mut Player) {
    let (estate, subnet6) = (&player.estate, player.own(SUBNET6));
    let fixed = json!([{"subnet_id": estate.subnet}, {"subnet_id": subnet6}]);
    let wanted = json!({"port": {"network_id": estate.network, "name": "two", "fixed_ips": fixed}});
    let token = player.member.clone();
    let port = player.ask(&token, "POST", "http://127.0.0.1:9696/v2.0/ports", &[], &wanted).body;
    let recorded = player.recorded_body("octavia-ovn-create-vip-port-in-subnet");
    let recorded = recorded["loadbalancer"]["vip_port_id"].as_str().unwrap();
    player.translate(recorded, port["port"]["id"].as_str().unwrap());
    play(player, "ovn-create-", &["vip-port-of-two-addresses-400", "vip-port-in-other-subnet-400"]);
    let made = player.play("octavia-ovn-create-vip-port-in-subnet");
    player.pass(LONG);
    gone(player, made["loadbalancer"]["id"].as_str().unwrap());
}

fn stuck(player: &mut Player) {
    let made = player.play("octavia-noop-provider-create");
    let id = made["loadbalancer"]["id"].as_str().unwrap().to_owned();
    player.pass(LONG);
    pin(player, &id, "ERROR");
    play(player, "", &["lb-delete-in-ERROR-204"]);
    player.edit(|state| state.load_balancer.load_balancers.remove(&id));
}

fn child_quotas(player: &mut Player) {
    let (subnet, project) = (player.estate.subnet.clone(), player.estate.project.clone());
    let wanted = json!({"loadbalancer": {"name": "q", "provider": "ovn", "vip_subnet_id": subnet}});
    let made = unrecorded(player, "POST", "loadbalancers", &wanted);
    let id = made["loadbalancer"]["id"].as_str().unwrap().to_owned();
    player.translate("cfdb29ae-53b4-4d3a-83d4-c53e33b730d5", &id);
    player.translate("b18d0dd9-58a3-4cf9-a36a-8f63100e4d45", &id);
    player.pass(LONG);
    let quotas = format!("quotas/{project}");
    for (resource, exchange) in [("listener", "listener-create-quota-403"), ("pool", "pool-create-quota-403")]
    {
        as_admin(player, "PUT", &quotas, &json!({"quota": {resource: 0}}));
        play(player, "", &[exchange]);
        as_admin(player, "DELETE", &quotas, &Value::Null);
    }
    let pool = json!({"pool": {"name": "p", "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT", "loadbalancer_id": id}});
    let pool = unrecorded(player, "POST", "pools", &pool);
    player.pass(LONG);
    player.translate("49b9cee4-d534-4638-a28b-ffdd473d67b1", pool["pool"]["id"].as_str().unwrap());
    as_admin(player, "PUT", &quotas, &json!({"quota": {"member": 1}}));
    play(player, "", &["members-batch-quota-403"]);
    as_admin(player, "DELETE", &quotas, &Value::Null);
    gone(player, &id);
}

/// Monitors that see members fall and come back.
fn health(player: &mut Player) {
    let subnet = player.estate.subnet.clone();
    let member = |number: u64| json!({"name": format!("m{number}"), "address": format!("10.10.0.{}", 90 + number), "protocol_port": 30080, "subnet_id": subnet});
    let monitor = json!({"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1});
    let members = [member(0), member(1), member(2)];
    let pool = json!({"name": "P", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "healthmonitor": monitor, "members": members});
    let listener = json!({"name": "L", "protocol": "TCP", "protocol_port": 80, "default_pool": pool});
    let wanted = json!({"loadbalancer": {"name": "onl", "provider": "amphora", "vip_subnet_id": subnet, "listeners": [listener]}});
    let made = unrecorded(player, "POST", "loadbalancers", &wanted);
    let id = made["loadbalancer"]["id"].as_str().unwrap().to_owned();
    player.translate("084842d8-4108-4419-806f-38d4cc801c93", &id);
    player.pass(LONG);
    let online = player.play("octavia-amphora-status-tree-online");
    assert_eq!(online["statuses"]["loadbalancer"]["operating_status"], "ONLINE");
    let members = &online["statuses"]["loadbalancer"]["listeners"][0]["pools"][0]["members"];
    let first = members.as_array().unwrap().iter().find(|member| member["name"] == "m0").unwrap();
    let member = first["id"].as_str().unwrap();
    load_balancer::set_member_health(player.cloud.world(), member, false);
    let degraded = player.play("octavia-amphora-status-tree-degraded");
    assert_eq!(degraded["statuses"]["loadbalancer"]["operating_status"], "DEGRADED");
    gone(player, &id);
}
