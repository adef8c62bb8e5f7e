//! Facts in which nothing is wrong, for the tests of the checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{Evidence, Instance, NodeView};
use bowline_controllers::shadow::preview::Machine;

use super::facts::{BalancerFact, ClockFact, CloudFacts, ConfigFacts, Facts};
use crate::session::managers::{Manager, Program};
use crate::status::leader::Leader;

pub(super) fn node(name: &str) -> NodeView {
    NodeView {
        name: name.into(),
        provider_id: Some(format!("openstack:///{name}").into()),
        ready: Some(true),
        ..NodeView::default()
    }
}

pub(super) fn manager(pod: &str) -> Manager {
    Manager {
        namespace: "kube-system".into(),
        pod: pod.into(),
        node: None,
        image: "r.example/bowline:v1".into(),
        program: Program::Bowline,
        ready: true,
        restarts: 0,
        account: "cloud-controller-manager".into(),
        flags: BTreeMap::from([("cluster-name".to_owned(), "prod-1".to_owned())]),
        config: None,
    }
}

pub(super) fn well() -> Facts {
    let one = Arc::new(node("n1"));
    let own = BalancerFact {
        id: "own".into(),
        name: "kube_service_prod-1_default_own".into(),
        tags: vec!["bowline-cluster:uid-1".into()],
        status: "ACTIVE".into(),
    };
    Facts {
        now: "2026-11-16T10:00:00Z".parse().unwrap(),
        cluster_name: "prod-1".into(),
        cluster_uid: Some("uid-1".into()),
        nodes: vec![one.clone()],
        services: Vec::new(),
        managers: Some(vec![manager("first")]),
        leader: Leader {
            lease: "kube-system/ccm".into(),
            holder: Some("first_1".into()),
            ..Leader::default()
        },
        degraded: Some(Vec::new()),
        missing_rights: Some(Vec::new()),
        config: ConfigFacts::default(),
        cloud: Some(CloudFacts { octavia: Some((2, 27)), balancers: vec![own], ..CloudFacts::default() }),
        machines: Some(vec![(one, Machine::Ours(Evidence::Present(Instance::default())))]),
        clocks: vec![ClockFact { of: "Keystone", ahead_seconds: 1 }],
        not_looked_at: Vec::new(),
    }
}
