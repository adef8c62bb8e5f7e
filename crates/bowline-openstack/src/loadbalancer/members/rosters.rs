//! The lists that pools share, as long as somebody has them. Two that say the same are one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use bowline_cloud::{IpFamily, NodeSet, NodeView, Text};
use parking_lot::Mutex;

use super::{Backend, FoundMembers, Members, Roster};
use crate::loadbalancer::intent::{Intent, NodeSelector, member_address};
use crate::loadbalancer::wanted::MemberSubnets;

/// So many answers are kept: what Services of different selectors and families, and of the set of Nodes before, come to.
const ANSWERS: usize = 16;

type Nodes = BTreeMap<Text, Arc<NodeView>>;

/// The lists that are in use.
#[derive(Debug, Default)]
pub struct Rosters(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By digest.
    all: HashMap<u128, Weak<Roster>>,
    /// When so many are known, those that nobody has any more are forgotten.
    swept_at: usize,
    /// The latest, newest last.
    answers: Vec<Answer>,
}

/// Who of a set of Nodes serves.
#[derive(Debug)]
struct Answer {
    question: Question,
    roster: Arc<Roster>,
}

/// By what it is decided who serves.
#[derive(Debug)]
struct Question {
    /// Held weakly: so nobody else gets its place in memory, and it can go.
    nodes: Weak<Nodes>,
    selector: NodeSelector,
    family: Option<IpFamily>,
    subnets: Arc<MemberSubnets>,
}

impl Question {
    fn is(&self, nodes: &Arc<Nodes>, intent: &Intent, subnets: &Arc<MemberSubnets>) -> bool {
        std::ptr::eq(self.nodes.as_ptr(), Arc::as_ptr(nodes))
            && self.family == intent.family
            && self.selector == intent.nodes
            && (Arc::ptr_eq(&self.subnets, subnets) || self.subnets == *subnets)
    }
}

impl Rosters {
    /// Who of the Nodes serves a wish. Of Services that want the same the first one is counted out, the others are told.
    pub(in crate::loadbalancer) fn of(
        &self,
        intent: &Intent,
        nodes: &NodeSet,
        subnets: &Arc<MemberSubnets>,
    ) -> Arc<Roster> {
        let known = {
            let inner = self.lock();
            let answer =
                inner.answers.iter().find(|answer| answer.question.is(&nodes.nodes, intent, subnets));
            answer.map(|answer| Arc::clone(&answer.roster))
        };
        if let Some(known) = known {
            return known;
        }
        let roster = self.intern(Arc::new(Roster::new(backends(intent, nodes, subnets))));
        let question = Question {
            nodes: Arc::downgrade(&nodes.nodes),
            selector: intent.nodes.clone(),
            family: intent.family,
            subnets: Arc::clone(subnets),
        };
        let mut inner = self.lock();
        // What was asked of Nodes that are no more is not asked again.
        inner.answers.retain(|answer| answer.question.nodes.strong_count() > 0);
        if inner.answers.len() >= ANSWERS {
            inner.answers.remove(0);
        }
        inner.answers.push(Answer { question, roster: Arc::clone(&roster) });
        roster
    }

    /// Members with a list that is shared with all who have the same.
    pub(in crate::loadbalancer) fn share(&self, members: &Members) -> Members {
        match members.alike() {
            Some(Members::Alike { roster, port, monitor_port }) => {
                Members::Alike { roster: self.intern(roster), port, monitor_port }
            }
            _ => members.clone(),
        }
    }

    /// Members that were read or sent, kept as small as can be.
    pub(in crate::loadbalancer) fn keep(&self, members: FoundMembers) -> FoundMembers {
        match members.as_sent().and_then(|sent| sent.alike()) {
            Some(alike) => FoundMembers::Sent(self.share(&alike)),
            None => members,
        }
    }

    /// How many backends all lists have that are in use.
    pub(in crate::loadbalancer) fn backends(&self) -> usize {
        self.lock().all.values().filter_map(Weak::upgrade).map(|roster| roster.len()).sum()
    }

    fn intern(&self, roster: Arc<Roster>) -> Arc<Roster> {
        let mut inner = self.lock();
        if let Some(known) = inner.all.get(&roster.digest).and_then(Weak::upgrade)
            && known == roster
        {
            return known;
        }
        if inner.all.len() > inner.swept_at {
            inner.all.retain(|_digest, roster| roster.strong_count() > 0);
            inner.swept_at = (2 * inner.all.len()).max(ANSWERS);
        }
        inner.all.insert(roster.digest, Arc::downgrade(&roster));
        roster
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Inner> {
        self.0.lock()
    }
}

/// The Nodes that a wish selects and that have an address of its family, by name. Of a Node with several addresses it is another one
/// than its first if only that is in the members' subnet.
fn backends(intent: &Intent, nodes: &NodeSet, subnets: &MemberSubnets) -> Vec<Backend> {
    let mut shared: BTreeMap<_, Arc<_>> = BTreeMap::new();
    let mut share = |subnet: &openstack_client::SubnetId| {
        Arc::clone(shared.entry(subnet.clone()).or_insert_with(|| Arc::new(subnet.clone())))
    };
    let selected = nodes.iter().filter(|node| intent.nodes.fits(node));
    let backend = |node: &Arc<NodeView>| {
        let first = member_address(node, intent.family)?;
        let address = subnets.address_of(&node.name, first);
        let subnet = subnets.of(address).map(&mut share);
        Some(Backend { name: node.name.clone(), address, subnet, weight: None })
    };
    selected.filter_map(backend).collect()
}
