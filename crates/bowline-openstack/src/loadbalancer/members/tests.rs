//! Lists that are shared, and what is the same in two forms.

use std::collections::BTreeMap;

use bowline_cloud::{AddressKind, NodeAddress, NodeSet, NodeView};
use serde_json::json;

use super::*;

fn sent(node: u8, port: u16) -> BatchMember {
    BatchMember {
        name: format!("node-{node}"),
        subnet_id: "subnet".parse().ok(),
        ..BatchMember::new([10, 0, 0, node].into(), port)
    }
}

fn read(node: u8, port: u16) -> Member {
    let member = json!({"id": format!("m-{node}"), "name": format!("node-{node}"), "address": format!("10.0.0.{node}"),
        "protocol_port": port, "subnet_id": "subnet", "weight": 1, "provisioning_status": "ACTIVE", "admin_state_up": true});
    serde_json::from_value(member).unwrap()
}

fn of(nodes: &[u8], port: u16) -> Members {
    nodes.iter().map(|node| sent(*node, port)).collect()
}

#[test]
fn the_same_members_have_the_same_digest_however_they_are_kept_and_others_have_another() {
    let rosters = Rosters::default();
    let plain = of(&[1, 2, 3], 30080);
    let shared = rosters.share(&plain);
    assert!(matches!(shared, Members::Alike { .. }));
    assert_eq!((shared.digest(), &shared), (plain.digest(), &plain));
    assert_eq!(shared.to_vec(), plain.to_vec());
    let mut weighed = plain.clone();
    weighed.change(|all| all[1].weight = Some(0));
    let mut elsewhere = plain.clone();
    elsewhere.change(|all| all[1].subnet_id = "other".parse().ok());
    let mut watched = plain.clone();
    watched.change(|all| all.iter_mut().for_each(|one| one.monitor_port = Some(0)));
    let mut one_watched = plain.clone();
    one_watched.change(|all| all[0].monitor_port = Some(0));
    let mut renamed = plain.clone();
    renamed.change(|all| all[2].name.push('x'));
    let others = [
        of(&[1, 2], 30080),
        of(&[1, 2, 3], 30081),
        weighed,
        elsewhere,
        watched,
        one_watched,
        renamed,
        of(&[], 1),
    ];
    for (place, other) in others.iter().enumerate() {
        assert_ne!(other, &shared, "{place}");
        for form in [other.clone(), rosters.share(other)] {
            assert_ne!(form.digest(), shared.digest(), "{place}");
            assert_eq!(form.digest(), other.digest(), "{place}");
        }
    }
    assert_eq!(of(&[], 1).digest(), rosters.share(&of(&[], 2)).digest(), "nobody has no port");
}

#[test]
fn lists_that_say_the_same_are_one_and_go_with_the_last_who_has_it() {
    let rosters = Rosters::default();
    let (web, api) = (rosters.share(&of(&[1, 2], 30080)), rosters.share(&of(&[1, 2], 30443)));
    let (Members::Alike { roster: one, .. }, Members::Alike { roster: other, .. }) = (&web, &api) else {
        panic!()
    };
    assert!(Arc::ptr_eq(one, other));
    assert_eq!(rosters.backends(), 2);
    drop((web, api));
    assert_eq!(rosters.backends(), 0);
}

#[test]
fn members_that_were_read_are_kept_as_a_list_unless_they_have_what_is_not_sent() {
    let rosters = Rosters::default();
    // Octavia tells them in any order.
    let kept = rosters.keep(vec![read(2, 30080), read(1, 30080)].into());
    assert!(kept.are(&of(&[1, 2], 30080)) && !kept.are(&of(&[1, 2], 30081)) && !kept.are(&of(&[1], 30080)));
    let odd: [fn(&mut Member); 4] = [
        |member| member.admin_state_up = Some(false),
        |member| member.backup = true,
        |member| member.tags = vec!["by hand".to_owned()],
        |member| member.provisioning_status = ProvisioningStatus::Error,
    ];
    for change in odd {
        let mut odd = read(2, 30080);
        change(&mut odd);
        let all = vec![read(1, 30080), odd];
        assert_eq!(rosters.keep(all.clone().into()).to_vec(), all, "nothing is lost");
    }
    let mut light = read(2, 30080);
    light.weight = Some(5);
    let kept = rosters.keep(vec![read(1, 30080), light].into());
    assert_eq!(kept.to_vec()[1].weight, Some(5));
    assert!(!kept.are(&of(&[1, 2], 30080)));
}

#[test]
fn who_serves_is_counted_out_once_for_a_set_of_nodes_and_anew_for_another() {
    let node = |number: u8| {
        let address = NodeAddress::new(AddressKind::InternalIP, format!("10.0.0.{number}"));
        let name = format!("node-{number}");
        let view = NodeView { name: name.as_str().into(), addresses: vec![address], ..NodeView::default() };
        (view.name.clone(), Arc::new(view))
    };
    let set = |numbers: &[u8]| NodeSet {
        nodes: Arc::new(numbers.iter().map(|number| node(*number)).collect::<BTreeMap<_, _>>()),
        ..NodeSet::default()
    };
    let intent = crate::loadbalancer::intent::tests::plain();
    let (rosters, subnets) = (Rosters::default(), Arc::default());
    let (two, same, three) = (set(&[1, 2]), set(&[1, 2]), set(&[1, 2, 3]));
    let first = rosters.of(&intent, &two, &subnets);
    assert_eq!(first.len(), 2);
    assert!(Arc::ptr_eq(&first, &rosters.of(&intent, &two, &subnets)));
    assert!(Arc::ptr_eq(&first, &rosters.of(&intent, &same, &subnets)), "another set that says the same");
    assert_eq!(rosters.of(&intent, &three, &subnets).len(), 3);
    let mut other = subnets.as_ref().clone();
    other.all = "subnet".parse().ok();
    assert_ne!(rosters.of(&intent, &two, &Arc::new(other)), first);
}
