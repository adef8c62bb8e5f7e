//! What a real OCCM left in a real cloud: the first plan for it is empty, and the address is shown as OCCM showed it.
//!
//! `recorded.json` has the Nodes and, for each Service, what the APIs of the cloud said, less times and fields that nobody reads.

use std::sync::Arc;

use bowline_cloud::{NodeSet, NodeView, Pairs};
use serde_json::Value;

use super::*;
use crate::fuzzing::world::from;
use crate::loadbalancer::found::{FoundFloating, FoundPool, Tree};
use crate::loadbalancer::intent::tests::recorded::wishes;
use crate::loadbalancer::members::{FoundMembers, Rosters};
use crate::loadbalancer::wanted::{MemberSubnets, Resolved, Rules};

const SUBNET: &str = "161ee379-92bf-4189-817f-023331184957";

fn nodes(all: &Value) -> NodeSet {
    let node = |node: &Value| {
        let labels: BTreeMap<String, String> = from(node["labels"].clone());
        let view = NodeView {
            name: from(node["name"].clone()),
            labels: Pairs::from(labels),
            addresses: from(node["addresses"].clone()),
            ..NodeView::default()
        };
        (view.name.clone(), Arc::new(view))
    };
    NodeSet {
        epoch: 1,
        nodes: Arc::new(all.as_array().unwrap().iter().map(node).collect()),
        ..NodeSet::default()
    }
}

fn found(record: &Value) -> Found {
    let pool = |pool: &Value| FoundPool {
        pool: from(pool.clone()),
        members: FoundMembers::Read(from(record["members"][pool["id"].as_str().unwrap()].clone())),
        monitor: record["healthmonitors"]
            .as_array()
            .unwrap()
            .iter()
            .find(|monitor| pool["healthmonitor_id"] == monitor["id"])
            .map(|monitor| from(monitor.clone())),
    };
    let tree = Tree {
        listeners: from(record["listeners"].clone()),
        pools: record["pools"].as_array().unwrap().iter().map(pool).collect(),
    };
    let balancer = FoundBalancer {
        balancer: from(record["loadbalancer"].clone()),
        by: FoundBy::Id,
        children: Children::Known(tree),
        version: 0,
    };
    let floating =
        FoundFloating { attached: from(record["floatingips"].clone()), ..FoundFloating::default() };
    Found { balancer: Some(balancer), floating, recover: true, ..Found::default() }
}

#[test]
fn what_occm_left_needs_nothing() {
    let all: Value = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let nodes = nodes(&all["nodes"]);
    let wishes = wishes();
    assert_eq!(wishes.len(), 23);
    for (record, intent, config) in wishes {
        let is = |cloud: &&Value| cloud["name"] == record["name"] && cloud["provider"] == record["provider"];
        let cloud = all["services"].as_array().unwrap().iter().find(is).unwrap();
        let resolved = Resolved {
            vip: Vip { subnet: SUBNET.parse().ok(), ..Vip::default() },
            members: MemberSubnets { all: SUBNET.parse().ok(), ..MemberSubnets::default() }.into(),
            floating: Some(FloatingPlace { network: "public".parse().unwrap(), subnets: Vec::new() }),
            ..Resolved::default()
        };
        let rosters = Rosters::default();
        let rules = Rules { config: &config, tagged: true, rosters: &rosters };
        let wanted = Wanted::of(intent, &nodes, resolved, ownership(), rules, None);
        let plan = ensure(&wanted, &found(cloud));
        let Plan::Settled(status) = &plan else {
            panic!("{} {}: {:#?}", record["provider"], record["name"], told(&plan))
        };
        assert_eq!(serde_json::to_value(status).unwrap(), record["status"], "{}", record["name"]);
    }
}
