//! Many Nodes at once: from what is known where that is fresh enough, and else by the cheapest of asking for these servers, for what has
//! changed, and for all (`reach`). Says "there" or "not in the list", never "gone".
//!
//! What has changed can say that a server is there. That it does not say so, or says that it was deleted, only leads to asking for the
//! server or for all: "not in the list" is said of nothing else than that.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Doubt, Evidence, Instance, NodeView};
use openstack_client::ServerId;
use tokio::time::Instant;

use super::attention::{Interest, Need, OLDEST, Reading};
use super::confirm::told_id;
use super::provider_id::ProviderId;
use super::reach::{Reach, Stale, reach};
use super::{Servers, Wanted, is_missing, not_listed};
use crate::inventory::{InventoryError, Machine, SeenServer, Snapshot};

/// What is there is not looked at again within this, however cheap it is.
const LEAST_AGE: Duration = Duration::from_secs(10);

/// What a call is worth in age: where all is read with few calls, it is read more often.
const AGE_PER_CALL: Duration = Duration::from_secs(6);

/// The same where only presence is asked for. A Node that ceases to be ready is looked at anew after this; whose machine is seen to
/// run then is more likely to come back than to go.
const PRESENCE_AGE: Duration = Duration::from_secs(30);

/// What is known of a Node, and since when.
struct Known {
    at: Instant,
    found: Evidence<Instance>,
    /// Whether it was read for this Node alone.
    is_own: bool,
    /// It may be of a namesake: whatever was asked before was asked about another machine.
    is_doubted: bool,
}

/// What is known of some Nodes, in their order.
struct Picture {
    snapshot: Arc<Snapshot>,
    known: Vec<Known>,
    /// Which of them must be read again.
    stale: Vec<bool>,
}

/// What was read of the servers of some Nodes.
struct Fresh {
    at: Instant,
    servers: Snapshot,
    /// The servers that Nova was asked for by their ids and said that there are none, with its words.
    denied: Vec<(ServerId, String)>,
}

impl Servers {
    pub(super) async fn look(&self, nodes: &[Arc<NodeView>], need: Need) -> Vec<Evidence<Instance>> {
        if nodes.is_empty() {
            return Vec::new();
        }
        let answers = self.try_to_look(nodes, need).await;
        answers.unwrap_or_else(|error| nodes.iter().map(|_| Evidence::Unknown(error.doubt())).collect())
    }

    async fn try_to_look(
        &self,
        nodes: &[Arc<NodeView>],
        need: Need,
    ) -> Result<Vec<Evidence<Instance>>, InventoryError> {
        let now = Instant::now();
        let picture = self.picture(nodes, need, now).await?;
        if !picture.stale.contains(&true) {
            return Ok(picture.answers());
        }
        // One at a time: who had the turn before may have read what is asked for here.
        let _turn = self.turn.lock().await;
        let picture = self.picture(nodes, need, now).await?;
        let picture = match self.reach(nodes, &picture, need) {
            Reach::Changes => match self.inventory.changes_since(now).await {
                Ok(_) => self.picture(nodes, need, now).await?,
                Err(error) => return Ok(picture.answers_but(&error)),
            },
            Reach::These | Reach::All => picture,
        };
        if !picture.stale.contains(&true) {
            return Ok(picture.answers());
        }
        let known = picture.known.iter().map(|known| known.found.clone()).collect();
        let stale = picture.stale.clone();
        let renewed = self.read_again(nodes, picture, need, now).await;
        // What is new enough holds, whatever becomes of the rest.
        Ok(renewed.unwrap_or_else(|error| doubted(known, &stale, &error)))
    }

    fn reach(&self, nodes: &[Arc<NodeView>], picture: &Picture, need: Need) -> Reach {
        let changes = self.inventory.calls_for_changes(&picture.snapshot);
        reach(self.stale(nodes, picture), need, picture.snapshot.calls(), changes)
    }

    fn stale(&self, nodes: &[Arc<NodeView>], picture: &Picture) -> Stale {
        let mut stale = Stale { count: 0, unlisted: 0, unsought: 0 };
        for ((node, known), _) in
            nodes.iter().zip(&picture.known).zip(&picture.stale).filter(|(_, stale)| **stale)
        {
            let is_unlisted = !self.is_in(node, &picture.snapshot);
            stale.count += 1;
            stale.unlisted += usize::from(is_unlisted);
            stale.unsought += usize::from(is_unlisted && !known.is_own);
        }
        stale
    }

    /// Asks for the stale ones, or for all.
    async fn read_again(
        &self,
        nodes: &[Arc<NodeView>],
        picture: Picture,
        need: Need,
        now: Instant,
    ) -> Result<Vec<Evidence<Instance>>, InventoryError> {
        if reach(self.stale(nodes, &picture), need, picture.snapshot.calls(), None) == Reach::All {
            return self.look_at_all(nodes, picture, need, now).await;
        }
        let fresh = self.read_these(nodes, &picture).await?;
        self.renew(nodes, picture, fresh, need).await
    }

    /// What is known by now.
    async fn picture(
        &self,
        nodes: &[Arc<NodeView>],
        need: Need,
        now: Instant,
    ) -> Result<Picture, InventoryError> {
        let interests = self.attention.asked(nodes.iter().map(Arc::as_ref), now);
        // Of presence, what is too old is read for each; addresses are not told from what is older than this at all.
        let oldest = if need == Need::Presence { Duration::MAX } else { OLDEST };
        let snapshot = self.inventory.snapshot_within(oldest).await?;
        let known: Vec<Known> = nodes
            .iter()
            .zip(&interests)
            .map(|(node, interest)| self.known(node, interest, &snapshot, need))
            .collect();
        let usual = self.usual_age(&snapshot, need);
        let stale = known
            .iter()
            .zip(&interests)
            .map(|(known, interest)| Self::is_stale(known, interest, usual, now))
            .collect();
        Ok(Picture { snapshot, known, stale })
    }

    fn known(&self, node: &NodeView, interest: &Interest, snapshot: &Snapshot, need: Need) -> Known {
        let seen_at = self.seen_at(node, snapshot);
        let own = interest.newer_than(seen_at, need);
        let (at, found) = match own {
            Some(reading) => (reading.at, reading.found.clone()),
            None => (seen_at, self.find(node, snapshot)),
        };
        let is_doubted = is_of_namesake(node, &found);
        let found = if is_doubted { Evidence::Unknown(namesake(node)) } else { found };
        Known { at, found, is_own: own.is_some(), is_doubted }
    }

    /// From when what a snapshot shows of a Node is. What it does not show was not there when all was listed.
    fn seen_at(&self, node: &NodeView, snapshot: &Snapshot) -> Instant {
        let seen = match self.wanted(node) {
            Ok(Wanted::Id(id)) => Some(snapshot.seen_at(&id)),
            Ok(Wanted::Name) => {
                let named = snapshot.by_name(&node.name);
                named.iter().map(|machine| snapshot.seen_at(&machine.server.id)).min()
            }
            Err(_) => None,
        };
        seen.unwrap_or_else(|| snapshot.begun())
    }

    /// What is there is not looked at again within this.
    fn usual_age(&self, snapshot: &Snapshot, need: Need) -> Duration {
        let calls = u32::try_from(snapshot.calls().all()).unwrap_or(u32::MAX);
        let usual = match need {
            Need::Everything => AGE_PER_CALL.saturating_mul(calls).max(LEAST_AGE),
            Need::Presence => PRESENCE_AGE,
        };
        usual.min(self.inventory.age_limit())
    }

    /// A server that was not shown may just have been made: that must be new, at first.
    fn is_stale(known: &Known, interest: &Interest, usual: Duration, now: Instant) -> bool {
        let at_least = if is_missing(&known.found) { Duration::ZERO } else { usual };
        known.is_doubted || now.saturating_duration_since(known.at) > interest.may_be_old(at_least)
    }

    /// Whether the server of a Node, and so its ports, are in a snapshot.
    fn is_in(&self, node: &NodeView, snapshot: &Snapshot) -> bool {
        match self.wanted(node) {
            Ok(Wanted::Id(id)) => snapshot.by_id(&id).is_some(),
            Ok(Wanted::Name) => !snapshot.by_name(&node.name).is_empty(),
            Err(_) => false,
        }
    }

    /// Reads the servers of the stale ones, one by one.
    async fn read_these(&self, nodes: &[Arc<NodeView>], picture: &Picture) -> Result<Fresh, InventoryError> {
        let (at, mut servers, mut denied) = (Instant::now(), Vec::new(), Vec::new());
        for node in picture.stale_of(nodes) {
            match self.wanted(node) {
                Ok(Wanted::Name) => servers.extend(self.inventory.servers_named(&node.name).await?),
                Ok(Wanted::Id(id)) => match self.inventory.server(&id).await {
                    Ok(server) => servers.push(server),
                    Err(error) if error.is_not_found() => denied.push((id, error.to_string())),
                    Err(error) => return Err(error),
                },
                // Nothing that the cloud says changes what is wrong with it.
                Err(_) => {}
            }
        }
        Ok(Fresh { at, servers: Snapshot::of_servers(at, servers), denied })
    }

    /// All servers, and their ports if these are wanted.
    async fn look_at_all(
        &self,
        nodes: &[Arc<NodeView>],
        picture: Picture,
        need: Need,
        now: Instant,
    ) -> Result<Vec<Evidence<Instance>>, InventoryError> {
        if need == Need::Everything {
            drop(picture);
            let newer = self.inventory.snapshot_since(now).await?;
            return Ok(nodes.iter().map(|node| self.find(node, &newer)).collect());
        }
        let at = Instant::now();
        let servers = Snapshot::of_servers(at, self.inventory.servers().await?);
        self.renew(nodes, picture, Fresh { at, servers, denied: Vec::new() }, need).await
    }

    /// The answers with what was read of the stale ones, which is kept in mind.
    async fn renew(
        &self,
        nodes: &[Arc<NodeView>],
        picture: Picture,
        fresh: Fresh,
        need: Need,
    ) -> Result<Vec<Evidence<Instance>>, InventoryError> {
        let machines = match need {
            Need::Presence => Snapshot::of_servers(fresh.at, Vec::new()),
            Need::Everything => {
                let of_stale = picture.stale_of(nodes).filter_map(|node| self.one_of(node, &fresh.servers));
                let news = of_stale.filter(|server| as_known(server, &picture.snapshot).is_none());
                self.inventory.machines(news.cloned().collect()).await?
            }
        };
        let mut answers = Vec::with_capacity(nodes.len());
        for ((node, known), stale) in nodes.iter().zip(picture.known).zip(&picture.stale) {
            if !*stale {
                answers.push(known.found);
                continue;
            }
            let (found, is_whole) = self.renewed(node, known, &fresh, &machines, &picture.snapshot);
            let denial = self.denial(node, &fresh);
            self.attention.read(node, Reading { at: fresh.at, found: found.clone(), is_whole, denial });
            answers.push(found);
        }
        Ok(answers)
    }

    /// What a Node is told, and whether that is all that there is to tell.
    fn renewed(
        &self,
        node: &NodeView,
        known: Known,
        fresh: &Fresh,
        machines: &Snapshot,
        old: &Snapshot,
    ) -> (Evidence<Instance>, bool) {
        let Some(server) = self.one_of(node, &fresh.servers) else {
            return match self.find(node, &fresh.servers) {
                // As was said before, where that says more.
                found if is_missing(&found) && is_missing(&known.found) => (known.found, true),
                found => (found, true),
            };
        };
        if let Some(machine) = machines.by_id(&server.id) {
            return (self.describe(node, machine), true);
        }
        match as_known(server, old) {
            Some(machine) => (self.describe(node, &machine), true),
            None => (Evidence::Present(self.presence(node, server)), false),
        }
    }

    /// The one server of a Node; none if there is none, or several.
    fn one_of<'a>(&self, node: &NodeView, servers: &'a Snapshot) -> Option<&'a SeenServer> {
        match self.wanted(node) {
            Ok(Wanted::Id(id)) => servers.by_id(&id).map(|machine| &machine.server),
            Ok(Wanted::Name) => match servers.by_name(&node.name).as_slice() {
                [machine] => Some(&machine.server),
                _none_or_several => None,
            },
            Err(_) => None,
        }
    }

    /// That a server is there, and whether it runs.
    fn presence(&self, node: &NodeView, server: &SeenServer) -> Instance {
        let (provider_id, power) = (self.provider_id(node, &server.id), server.power);
        Instance { provider_id, power, ..Instance::default() }
    }

    fn denial(&self, node: &NodeView, fresh: &Fresh) -> Option<String> {
        let Ok(Wanted::Id(wanted)) = self.wanted(node) else { return None };
        fresh.denied.iter().find(|(id, _)| *id == wanted).map(|(_, words)| words.clone())
    }
}

impl Picture {
    fn answers(self) -> Vec<Evidence<Instance>> {
        self.known.into_iter().map(|known| known.found).collect()
    }

    /// The same where the stale ones cannot be read.
    fn answers_but(self, error: &InventoryError) -> Vec<Evidence<Instance>> {
        let stale = self.stale.clone();
        doubted(self.answers(), &stale, error)
    }

    fn stale_of<'a>(&'a self, nodes: &'a [Arc<NodeView>]) -> impl Iterator<Item = &'a Arc<NodeView>> {
        nodes.iter().zip(&self.stale).filter(|(_, stale)| **stale).map(|(node, _)| node)
    }
}

/// What is known, with a doubt in place of what is stale.
fn doubted(
    known: Vec<Evidence<Instance>>,
    stale: &[bool],
    error: &InventoryError,
) -> Vec<Evidence<Instance>> {
    let doubt = |(known, stale): (_, &bool)| if *stale { Evidence::Unknown(error.doubt()) } else { known };
    known.into_iter().zip(stale).map(doubt).collect()
}

/// The machine of a server that was read, with the ports of the snapshot, unless the server tells that it has others now.
fn as_known(server: &SeenServer, snapshot: &Snapshot) -> Option<Machine> {
    let old = snapshot.by_id(&server.id)?;
    let same = old.server.addresses == server.addresses && old.server.flavor == server.flavor;
    same.then(|| Machine { server: server.clone(), ..old.clone() })
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
    not_listed(&format!("the server of {}, whose machine tells another id than its name,", node.name))
}
