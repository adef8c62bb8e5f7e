//! Many Nodes at once: from the snapshot where that is fresh enough, and else by the cheaper of a few direct reads and a
//! new snapshot. Says "there" or "not in the list", never "gone".

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Doubt, Evidence, Instance, NodeView};
use openstack_client::compute::Server;
use tokio::time::Instant;

use super::attention::{Interest, OLDEST};
use super::confirm::told_id;
use super::provider_id::ProviderId;
use super::{Servers, Wanted, is_missing};
use crate::inventory::{InventoryError, Machine, Snapshot};

/// At most so many are read one by one.
const FEW: usize = 5;

/// A direct read costs as many calls, or fewer.
const DIRECT_CALLS: usize = 2;

/// How old a snapshot may be that does not show many servers: a burst of joins costs one reading in this time.
const BURST_AGE: Duration = Duration::from_secs(10);

/// What a call of a snapshot is worth in its age: where a snapshot is cheap, it is read more often.
const AGE_PER_CALL: Duration = Duration::from_secs(6);

/// What is known of a Node, and since when.
struct Known {
    at: Instant,
    found: Evidence<Instance>,
    /// It may be of a namesake: whatever was asked before was asked about another machine.
    is_doubted: bool,
}

impl Servers {
    pub(super) async fn look(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        if nodes.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        let interests = self.attention.asked(nodes.iter().map(Arc::as_ref), now);
        let unknown =
            |error: &InventoryError| nodes.iter().map(|_| Evidence::Unknown(error.doubt())).collect();
        let snapshot = match self.inventory.snapshot_within(OLDEST).await {
            Ok(snapshot) => snapshot,
            Err(error) => return unknown(&error),
        };
        let known: Vec<Known> = nodes
            .iter()
            .zip(&interests)
            .map(|(node, interest)| self.known(node, interest, &snapshot))
            .collect();
        let stale: Vec<bool> = known
            .iter()
            .zip(&interests)
            .map(|(known, interest)| self.is_stale(known, interest, &snapshot, now))
            .collect();
        let count = stale.iter().filter(|stale| **stale).count();
        if count == 0 {
            return known.into_iter().map(|known| known.found).collect();
        }
        let new = known.iter().zip(&stale).all(|(known, stale)| !stale || is_missing(&known.found));
        if count <= FEW && (new || count * DIRECT_CALLS <= snapshot.calls()) {
            return self.look_again(nodes, known, &stale, &snapshot).await;
        }
        match self.inventory.snapshot_within(BURST_AGE).await {
            Ok(newer) => self.look_in(nodes, &newer).await,
            Err(error) => unknown(&error),
        }
    }

    fn known(&self, node: &NodeView, interest: &Interest, snapshot: &Snapshot) -> Known {
        let (at, found) = match interest.newer_than(snapshot.begun()) {
            Some(reading) => (reading.at, reading.found.clone()),
            None => (snapshot.begun(), self.find(node, snapshot)),
        };
        let is_doubted = is_of_namesake(node, &found);
        let found = if is_doubted { Evidence::Unknown(namesake(node)) } else { found };
        Known { at, found, is_doubted }
    }

    /// A snapshot that is as new as a burst allows. Of servers that may be namesakes a few are read directly; the others come
    /// next time.
    async fn look_in(&self, nodes: &[Arc<NodeView>], snapshot: &Snapshot) -> Vec<Evidence<Instance>> {
        let (mut answers, mut direct) = (Vec::with_capacity(nodes.len()), 0);
        for node in nodes {
            let found = self.find(node, snapshot);
            let doubted = is_of_namesake(node, &found);
            direct += usize::from(doubted);
            answers.push(match doubted {
                false => found,
                true if direct <= FEW => {
                    self.look_at(node, Evidence::Unknown(namesake(node)), snapshot).await
                }
                true => Evidence::Unknown(namesake(node)),
            });
        }
        answers
    }

    /// A server that was not shown may just have been made: that must be new, at first.
    fn is_stale(&self, known: &Known, interest: &Interest, snapshot: &Snapshot, now: Instant) -> bool {
        let calls = u32::try_from(snapshot.calls()).unwrap_or(u32::MAX);
        let usual = AGE_PER_CALL.saturating_mul(calls).max(BURST_AGE).min(self.inventory.age_limit());
        let at_least = if is_missing(&known.found) { Duration::ZERO } else { usual };
        known.is_doubted || now.saturating_duration_since(known.at) > interest.may_be_old(at_least)
    }

    /// Reads the stale ones directly, one by one.
    async fn look_again(
        &self,
        nodes: &[Arc<NodeView>],
        known: Vec<Known>,
        stale: &[bool],
        snapshot: &Snapshot,
    ) -> Vec<Evidence<Instance>> {
        let mut answers = Vec::with_capacity(known.len());
        for ((node, known), stale) in nodes.iter().zip(known).zip(stale) {
            answers.push(match stale {
                true => self.look_at(node, known.found, snapshot).await,
                false => known.found,
            });
        }
        answers
    }

    async fn look_at(
        &self,
        node: &NodeView,
        before: Evidence<Instance>,
        snapshot: &Snapshot,
    ) -> Evidence<Instance> {
        let begun = Instant::now();
        let answer = match self.machine_of(node, snapshot).await {
            Ok(Some(machine)) => self.describe(node, &machine),
            // As the list says, which is asked for names as well.
            Ok(None) if is_missing(&before) => before,
            Ok(None) => Evidence::Unknown(super::not_listed(&format!("the server of {}", node.name))),
            Err(error) => return Evidence::Unknown(error.doubt()),
        };
        self.attention.read(node, begun, &answer);
        answer
    }

    /// The machine of a Node, read now; none if Nova shows none, or several.
    async fn machine_of(
        &self,
        node: &NodeView,
        snapshot: &Snapshot,
    ) -> Result<Option<Machine>, InventoryError> {
        let server = match self.wanted(node) {
            Ok(Wanted::Id(id)) => match self.inventory.server(&id).await {
                Err(error) if error.is_not_found() => None,
                answer => Some(answer?),
            },
            Ok(Wanted::Name) => {
                let mut named = self.inventory.servers_named(&node.name).await?;
                if named.len() == 1 { named.pop() } else { None }
            }
            Err(_) => None,
        };
        match server {
            None => Ok(None),
            Some(server) => self.complete(server, snapshot).await.map(Some),
        }
    }

    /// With the ports of the snapshot, unless the server tells that it has others now.
    async fn complete(&self, server: Server, snapshot: &Snapshot) -> Result<Machine, InventoryError> {
        match snapshot.by_id(&server.id) {
            Some(old) if old.server.addresses == server.addresses && old.server.flavor == server.flavor => {
                Ok(Machine { server, ..old.clone() })
            }
            _ => self.inventory.machine(server).await,
        }
    }
}

/// Whether what was found by a Node's name may be the server that had this name before: its machine tells another id. A provider ID
/// is written once, so that must be read now. Where it is the machine that tells another id (bare metal), it then stays with the name.
fn is_of_namesake(node: &NodeView, found: &Evidence<Instance>) -> bool {
    let Evidence::Present(instance) = found else { return false };
    if node.provider_id.as_deref().is_some_and(|id| !id.is_empty()) {
        return false;
    }
    let named = ProviderId::parse(&instance.provider_id).ok();
    told_id(node).is_some_and(|told| named.is_some_and(|named| named.server != told))
}

fn namesake(node: &NodeView) -> Doubt {
    super::not_listed(&format!("the server of {}, whose machine tells another id than its name,", node.name))
}
