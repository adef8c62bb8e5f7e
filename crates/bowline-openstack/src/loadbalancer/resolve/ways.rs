//! By which subnets the Nodes are reached: counted out once for a set of Nodes, and told to all Services that ask the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use bowline_cloud::{IpFamily, NodeView, Text};
use openstack_client::SubnetId;
use parking_lot::Mutex;

use super::Question;
use crate::inventory::Snapshot;
use crate::loadbalancer::wanted::MemberSubnets;

/// So many answers are kept: those for the families and subnets that Services ask for.
const MOST: usize = 16;

/// The latest answers, newest last.
#[derive(Debug, Default)]
pub(super) struct Ways(Mutex<Vec<Way>>);

#[derive(Debug)]
struct Way {
    /// Held weakly: so nobody else gets its place in memory, and it can go.
    nodes: Weak<BTreeMap<Text, Arc<NodeView>>>,
    family: Option<IpFamily>,
    by: By,
    subnets: Arc<MemberSubnets>,
}

/// What tells the subnets.
#[derive(Debug, Clone)]
pub(super) enum By {
    /// It is this one.
    Subnet(SubnetId),
    /// The ports of the Nodes' servers.
    Ports(Weak<Snapshot>),
}

impl By {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Subnet(one), Self::Subnet(other)) => one == other,
            (Self::Ports(one), Self::Ports(other)) => one.ptr_eq(other),
            _ => false,
        }
    }
}

impl Ways {
    /// What was counted out before. Nodes that leave are not among those that count for it.
    pub(super) fn get(&self, question: Question<'_>, by: &By) -> Option<Arc<MemberSubnets>> {
        let Question { nodes, intent, .. } = question;
        let ways = self.0.lock();
        let is = |way: &&Way| {
            std::ptr::eq(way.nodes.as_ptr(), Arc::as_ptr(&nodes.nodes))
                && way.family == intent.family
                && way.by.is(by)
        };
        ways.iter().find(is).filter(|_way| nodes.leaving.is_empty()).map(|way| Arc::clone(&way.subnets))
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, question: Question<'_>, by: By, subnets: &Arc<MemberSubnets>) {
        let Question { nodes, intent, .. } = question;
        if !nodes.leaving.is_empty() {
            return;
        }
        let mut ways = self.0.lock();
        ways.retain(|way| way.nodes.strong_count() > 0);
        if ways.len() >= MOST {
            ways.remove(0);
        }
        let (nodes, subnets) = (Arc::downgrade(&nodes.nodes), Arc::clone(subnets));
        ways.push(Way { nodes, family: intent.family, by, subnets });
    }
}
