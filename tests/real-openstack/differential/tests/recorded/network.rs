//! Neutron, in the order in which it was recorded.

use serde_json::{Value, json};

use crate::player::Player;

const ROOT: &str = "http://127.0.0.1:9696/v2.0";

pub(crate) fn replay(player: &mut Player) {
    play(
        player,
        &[
            "extensions",
            "networks-external",
            "networks-name",
            "networks-name-none",
            "subnets",
            "subnet-get",
            "subnet-404",
            "ports-device",
            "port-404",
            "ports-page1",
        ],
    );
    // The second page follows the marker of this cloud's first page.
    let first =
        player.ask(&player.member.clone(), "GET", &format!("{ROOT}/ports?limit=2"), &[], &Value::Null);
    player.stand_in("1524d1cf-c535-4ac4-a2a1-f10d37c3adc4", first.body["ports"][1]["id"].as_str().unwrap());
    play(
        player,
        &[
            "ports-page2",
            "ports-fields",
            "ports-fixed-ip-filter",
            "ports-bad-filter-400",
            "ports-bad-marker-404",
            "network-create-external-403",
        ],
    );
    play(
        player,
        &[
            "sg-create",
            "sg-list-name",
            "sgrule-create",
            "sgrule-duplicate-409",
            "sgrule-bad-400",
            "sgrules-list",
            "sgrule-bulk-create",
            "sgrule-delete-204",
            "sgrule-delete-again-404",
            "sg-tags-put",
            "sg-tag-add-one",
            "sg-filter-tags",
            "sg-filter-tags-any",
            "sg-filter-not-tags",
            "sg-tag-delete",
            "sg-tag-too-long-400",
        ],
    );
    play(
        player,
        &[
            "port-create",
            "port-create-ip-in-use-409",
            "port-create-ip-invalid-400",
            "port-create-net-404",
            "sg-delete-in-use-409",
            "port-update-sgs",
            "port-update-stale-revision-412",
            "port-update-aap",
        ],
    );
    floating_ips(player);
    play(player, &["port-delete-204", "port-delete-again-404", "sg-delete-204", "net-delete-in-use-409"]);
    let port = player.own("38410635-5448-45f9-a2b3-cba0befe1004");
    unrecorded(player, "DELETE", &format!("ports/{port}"), &Value::Null);
    play(player, &["net-delete-204"]);
    exhausted(player);
    play(
        player,
        &["router-get", "router-add-extraroutes", "router-put-routes", "router-put-routes-bad-nexthop-400"],
    );
    stale_router(player);
    play(
        player,
        &[
            "router-remove-extraroutes",
            "router-put-routes-empty",
            "router-404",
            "router-by-subnet-port",
            "path-unknown-404",
            "v2.0-authenticated",
            "bad-json-400",
        ],
    );
}

fn play(player: &mut Player, names: &[&str]) {
    for name in names {
        player.play(&format!("neutron-{name}"));
    }
}

fn unrecorded(player: &mut Player, method: &str, path: &str, body: &Value) -> Value {
    let token = player.member.clone();
    player.ask(&token, method, &format!("{ROOT}/{path}"), &[], body).body
}

fn floating_ips(player: &mut Player) {
    play(player, &["fip-create", "fip-associate"]);
    player.pass(2);
    play(
        player,
        &[
            "fip-create-2",
            "fip-associate-port-taken-409",
            "fip-list-by-port",
            "fip-list-by-address",
            "fip-list-by-address-and-net",
        ],
    );
    player.play_as_admin("neutron-fip-create-address-taken-409");
    play(
        player,
        &[
            "fip-create-specific-address-as-member-403",
            "fip-create-nonexternal-400",
            "fip-create-net-404",
            "fip-create-with-subnet",
            "net-noroute",
            "subnet-noroute",
            "port-noroute",
            "fip-associate-unreachable-404",
            "fip-disassociate",
        ],
    );
    player.pass(2);
    player.play_as_admin("neutron-quota-set");
    play(player, &["fip-create-quota-409", "sg-create-quota-409", "port-create-quota-409"]);
    player.play_as_admin("neutron-quota-reset");
    play(player, &["fips-all", "fip-delete-204", "fip-delete-again-404"]);
}

fn exhausted(player: &mut Player) {
    let network = unrecorded(player, "POST", "networks", &json!({"network": {"name": "small"}}));
    let network = network["network"]["id"].as_str().unwrap().to_owned();
    player.translate("6f21046e-7db1-48cc-aeca-08c0c5275108", &network);
    let subnet =
        json!({"network_id": network, "ip_version": 4, "cidr": "10.98.0.0/30", "enable_dhcp": false});
    unrecorded(player, "POST", "subnets", &json!({"subnet": subnet}));
    unrecorded(player, "POST", "ports", &json!({"port": {"network_id": network}}));
    play(player, &["port-ip-exhausted-409"]);
}

/// The recorded revision was 6 then: the words of the refusal name it.
fn stale_router(player: &mut Player) {
    let router = player.own("215a2d0e-3611-43cf-b386-a73c0c45484b");
    player.edit(|state| state.network.routers.update(&router, |router| router.revision_number = 6));
    play(player, &["router-put-stale-revision-412"]);
}
