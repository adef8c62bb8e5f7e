//! Finds the load balancers of Services: by id, by name, by the name that Kubernetes' own provider gave.
//!
//! One list tells what is there for many. What it does not show is asked for directly before it is believed to be gone: a list
//! that was cut short looks like a whole one. Two questions it answers also by what it does not show, if it shows all that is known
//! to be there and began after the question came up: whether there is one for a Service for which nobody can have asked for one
//! yet, and whether one is gone that Octavia has taken our order to delete.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::service::FINALIZER;
use bowline_cloud::{Doubt, LoadBalancerRequest, Purpose};
use openstack_client::load_balancer::{LoadBalancer, LoadBalancerQuery, ProvisioningStatus};
use openstack_client::{LoadBalancerId, ProjectId};
use tokio::time::Instant;

use super::{Wish, together};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::{Children, FoundBalancer, FoundBy};
use crate::loadbalancer::memory::{Memory, Since};
use crate::loadbalancer::names::Names;
use crate::loadbalancer::ownership::Ownership;
use crate::loadbalancer::trouble::Trouble;

/// As many as a cloud gives at once.
pub(super) const PAGE_SIZE: u32 = 1000;

/// How soon one is looked for again whose creation is in doubt, at first and at last: what came of it shows soon, or late.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(15));

/// By what a load balancer is looked for.
pub(super) struct Look {
    names: Names,
    /// The one that the Service names.
    named: Option<LoadBalancerId>,
    /// The one that had its name when this process last looked.
    remembered: Option<LoadBalancerId>,
    /// Whether it had an address before: only then something of another provider can be there.
    had_address: bool,
    removes: bool,
    /// Whose it is.
    ownership: Ownership,
    /// Whether somebody may have asked for one already, of which the Service says nothing yet.
    begun: bool,
    /// Whether this process has seen the one that the Service names.
    is_seen: bool,
}

/// Where a Service's load balancer is.
#[derive(Default)]
pub(super) struct At {
    pub(super) balancer: Option<FoundBalancer>,
    pub(super) namesakes: Vec<LoadBalancerId>,
    pub(super) twins: Vec<FoundBalancer>,
    pub(super) named_is_gone: bool,
    /// Whether one with the Service's own name exists besides the one that its annotation names; see [`Found::has_own`].
    ///
    /// [`Found::has_own`]: crate::loadbalancer::found::Found::has_own
    pub(super) has_own: bool,
}

/// All load balancers of the project, as one list told.
pub(super) struct Index {
    all: Arc<Vec<LoadBalancer>>,
    /// Whether it shows all that are known to be there.
    is_whole: bool,
    ids: HashMap<LoadBalancerId, usize>,
    names: HashMap<String, Vec<usize>>,
}

impl Look {
    pub(super) fn of(
        request: &LoadBalancerRequest,
        wish: &Wish,
        ownership: Ownership,
        memory: &Memory,
    ) -> Self {
        let (names, named) = match wish {
            Wish::Ensure(intent) => (intent.names.clone(), intent.load_balancer.clone()),
            Wish::Remove(removal) => (removal.names.clone(), removal.load_balancer.clone()),
        };
        Self {
            // Of a name that was cut nobody knows whose it is.
            remembered: memory.named(&names.load_balancer()).filter(|_id| !names.is_cut()),
            is_seen: named.as_ref().is_some_and(|id| memory.has_seen(id)),
            names,
            named,
            had_address: !request.service.status.ingress.is_empty(),
            removes: request.purpose == Purpose::Remove,
            ownership,
            begun: request.service.finalizers.contains(FINALIZER),
        }
    }

    /// Whether one of the Service's name may be its own: a name that was cut may be another's, whose tag says so. Who has deleted
    /// its own takes no other for it, unless that bears its tag.
    fn may_own(&self, namesake: &LoadBalancer, deleted: &HashSet<LoadBalancerId>) -> bool {
        let others = self.names.is_cut() && self.ownership.is_of_others(&namesake.tags);
        let done = self.removes && !deleted.is_empty() && !deleted.contains(&namesake.id);
        !others && (!done || self.ownership.is_of_service(&namesake.tags))
    }

    /// Of several namesakes the one that alone bears the tag of the Service is its own.
    fn own(&self, mut namesakes: Vec<LoadBalancer>) -> Vec<LoadBalancer> {
        let is_ours = |one: &LoadBalancer| self.ownership.is_of_service(&one.tags);
        if namesakes.iter().filter(|one| is_ours(one)).count() == 1 {
            namesakes.retain(is_ours);
        }
        namesakes
    }

    /// Whether the Service uses the load balancer that it names, by name or tag. A Service of the same namespace and name in another cluster of
    /// the same `--cluster-name` has the same name and tag, so where such a cluster uses it, only the tag with the Service's UID counts.
    fn uses(&self, named: &LoadBalancer) -> bool {
        let is_named_alike =
            named.name == self.names.load_balancer() || named.tags.contains(&self.names.tag());
        let is_foreign = self.ownership.foreign_cluster(&named.tags).is_some();
        named.name == self.names.legacy_load_balancer()
            || is_named_alike && (!is_foreign || self.ownership.is_of_service(&named.tags))
    }

    /// Whether nobody can have asked for one yet: the Service has neither an address nor our finalizer, which comes before any order.
    fn is_first(&self) -> bool {
        let known = self.named.is_some() || self.remembered.is_some();
        !self.removes && !self.begun && !self.had_address && !known
    }

    /// Since when what is ordered for the Service is ordered by this process.
    fn since(&self) -> Since {
        let is_new = self.begun && self.remembered.is_none() && !self.is_seen;
        if is_new { Since::Now } else { Since::Ever }
    }

    /// How one that is remembered was found at first.
    fn by(&self, balancer: &LoadBalancer) -> FoundBy {
        if balancer.name == self.names.legacy_load_balancer() { FoundBy::LegacyName } else { FoundBy::Name }
    }
}

impl Index {
    pub(super) fn of(all: &Arc<Vec<LoadBalancer>>, witnesses: &[LoadBalancerId]) -> Self {
        let mut index =
            Self { all: Arc::clone(all), is_whole: false, ids: HashMap::new(), names: HashMap::new() };
        for (place, balancer) in all.iter().enumerate() {
            // Pages may show one twice when the list changes between them.
            if index.ids.insert(balancer.id.clone(), place).is_none() {
                index.names.entry(balancer.name.clone()).or_default().push(place);
            }
        }
        index.is_whole = witnesses.iter().all(|id| index.ids.contains_key(id));
        index
    }

    /// Some of them: what is not among them may be there.
    pub(super) fn of_some(some: Vec<LoadBalancer>) -> Self {
        Self { is_whole: false, ..Self::of(&Arc::new(some), &[]) }
    }

    /// Whether none of this name is there, as far as the list can tell.
    pub(super) fn has_none(&self, name: &str) -> bool {
        self.is_whole && !self.names.contains_key(name)
    }

    pub(super) fn by_id(&self, id: &LoadBalancerId) -> Option<&LoadBalancer> {
        self.ids.get(id).and_then(|place| self.all.get(*place))
    }

    fn by_name(&self, name: &str) -> Vec<LoadBalancer> {
        let places = self.names.get(name).into_iter().flatten();
        places.filter_map(|place| self.all.get(*place)).cloned().collect()
    }
}

impl Balancers {
    /// The load balancers, one answer for each look, in order.
    pub(super) async fn find(&self, looks: &[Look], began: u64) -> Vec<Result<At, Trouble>> {
        let project = match self.project().await {
            Ok(project) => project,
            Err(trouble) => return looks.iter().map(|_look| Err(trouble.clone())).collect(),
        };
        let now = Instant::now();
        let to_read = looks.iter().filter(|look| self.is_to_be_read(look, now)).count();
        let asking = self.asking_balancers.enter(to_read);
        let index = if asking.are_more_than(self.pages()) {
            let witnesses = self.memory.witnesses(looks.iter().filter_map(|look| look.named.as_ref()));
            match self.every_balancer(&project).await {
                Ok(all) => Some(Index::of(&all, &witnesses)),
                Err(trouble) => return looks.iter().map(|_look| Err(trouble.clone())).collect(),
            }
        } else {
            None
        };
        let find = |look| self.find_one(look, index.as_ref(), &project, began);
        together(looks.iter().map(find).collect()).await
    }

    /// How many pages a list of all load balancers has at least.
    pub(super) fn pages(&self) -> usize {
        self.memory.known() / usize::try_from(PAGE_SIZE).unwrap_or(usize::MAX) + 1
    }

    /// Whether a list of all spares a read: not for what is known from a moment ago, nor for what has no id and may have been begun,
    /// which is asked for by its name before it is believed not to be there.
    fn is_to_be_read(&self, look: &Look, now: Instant) -> bool {
        match look.named.as_ref().or(look.remembered.as_ref()) {
            Some(id) if self.is_seen_by_name(look, id, now) => {
                self.memory.just_answered(id, now).is_none()
                    && !self.memory.is_unseen(&look.names.load_balancer(), now)
            }
            Some(id) => self.memory.just_answered(id, now).is_none(),
            None => look.is_first(),
        }
    }

    /// Whether it is proven without another question that there is none of the Service's name.
    fn is_proven_absent(
        &self,
        name: &str,
        look: &Look,
        deleted: &HashSet<LoadBalancerId>,
        index: Option<&Index>,
        now: Instant,
    ) -> bool {
        let goes = look.removes && !deleted.is_empty();
        let listed = index.is_some_and(|index| index.has_none(name)) && (look.is_first() || goes);
        listed || (goes && self.memory.is_unseen(name, now))
    }

    /// Whether we have just deleted it and its name tells all that is to be known: who goes looks for that at last in any case.
    fn is_seen_by_name(&self, look: &Look, id: &LoadBalancerId, now: Instant) -> bool {
        look.removes && self.memory.deleted(id, now).is_some_and(|name| name == look.names.load_balancer())
    }

    /// All load balancers of the project, in a list that begins now.
    pub(super) async fn every_balancer(
        &self,
        project: &ProjectId,
    ) -> Result<Arc<Vec<LoadBalancer>>, Trouble> {
        let query = LoadBalancerQuery { project_id: Some(project.clone()), ..LoadBalancerQuery::default() };
        let read = || async {
            let list = self.client.load_balancer().load_balancers(&query).of(PAGE_SIZE);
            Ok(list.all().await?)
        };
        self.all_balancers.get(read).await
    }

    /// Whether a Service that names a load balancer of its name under another cluster name has one under its own name as well. Then the
    /// cluster was not renamed: the annotation names a load balancer of another cluster.
    async fn has_own(
        &self,
        look: &Look,
        named: &LoadBalancer,
        index: Option<&Index>,
        project: &ProjectId,
    ) -> Result<bool, Trouble> {
        if !look.names.is_of_other_cluster(&named.name) {
            return Ok(false);
        }
        Ok(!self.by_name(&look.names.load_balancer(), look, index, project).await?.is_empty())
    }

    /// Whether a Service that goes names a load balancer that it does not use, and has one of its own: its annotation was changed. Its own
    /// one would stay for ever.
    async fn has_own_beside(
        &self,
        look: &Look,
        named: &LoadBalancer,
        index: Option<&Index>,
        project: &ProjectId,
    ) -> Result<bool, Trouble> {
        let own = look.names.load_balancer();
        if !look.removes || look.uses(named) || index.is_some_and(|index| index.has_none(&own)) {
            return Ok(false);
        }
        Ok(!self.by_name(&own, look, index, project).await?.is_empty())
    }

    async fn find_one(
        &self,
        look: &Look,
        index: Option<&Index>,
        project: &ProjectId,
        began: u64,
    ) -> Result<At, Trouble> {
        let mut at = At::default();
        let found = |balancer: LoadBalancer, by: FoundBy| {
            let version = self.memory.version(&balancer.id, began);
            Some(FoundBalancer { balancer, by, children: Children::Busy, version })
        };
        let now = Instant::now();
        let by_id = |id: &LoadBalancerId| {
            self.memory.just_answered(id, now).is_some() || !self.is_seen_by_name(look, id, now)
        };
        if let Some(id) = look.named.as_ref().filter(|id| by_id(id)) {
            match self.by_id(id, index).await? {
                Some(balancer) if is_foreign(&balancer, project) => {
                    if !look.removes {
                        return Err(foreign(&balancer, project));
                    }
                }
                Some(balancer) if self.has_own_beside(look, &balancer, index, project).await? => {}
                Some(balancer) => {
                    at.twins = self.twins(look, &balancer, project, began).await?;
                    at.has_own = self.has_own(look, &balancer, index, project).await?;
                    at.balancer = found(balancer, FoundBy::Id);
                    return Ok(at);
                }
                None => {
                    at.named_is_gone = true;
                    // Without it, the load balancer that has the Service's name is taken for the one to remove, and nothing looks for the
                    // Service's parts on the one that it names again.
                    if look.removes {
                        self.contradict(look, index, project).await?;
                    }
                }
            }
        }
        let name = look.names.load_balancer();
        let remembered = look.remembered.as_ref().filter(|id| look.named.as_ref() != Some(id) && by_id(id));
        if let Some(id) = remembered {
            if let Some(balancer) = self.by_id(id, index).await? {
                let by = look.by(&balancer);
                at.twins = self.twins(look, &balancer, project, began).await?;
                at.balancer = found(balancer, by);
                return Ok(at);
            }
            self.memory.forget(&name);
        }
        let mut candidates = self.by_name(&name, look, index, project).await?;
        let mut by = FoundBy::Name;
        // One that Kubernetes' own provider made was never named on its Service.
        if candidates.is_empty() && look.had_address && look.named.is_none() && look.remembered.is_none() {
            let legacy = look.names.legacy_load_balancer();
            candidates = self.by_name(legacy, look, index, project).await?;
            by = FoundBy::LegacyName;
        }
        match candidates.len() {
            0 => {
                if let Some((age, left)) = self.memory.in_doubt(&name, Instant::now()) {
                    return Err(doubtful(&name, age, left));
                }
                if let Some((id, left)) = self.memory.may_be_unshown(&name, Instant::now()) {
                    return Err(unshown(&name, &id, left));
                }
                if at.named_is_gone && !look.removes {
                    self.contradict(look, index, project).await?;
                }
                if look.removes {
                    self.memory.is_once(&name);
                } else {
                    self.memory.misses(&name, look.since(), now);
                    if look.begun {
                        self.memory.may_be_twice(name.clone());
                    }
                }
            }
            1 => at.balancer = candidates.pop().and_then(|balancer| found(balancer, by)),
            _ if candidates.iter().all(|one| look.ownership.is_proven_by(&name, &one.tags)) => {
                // Who made the last one had not seen the others, and went on with his own.
                candidates
                    .sort_by(|one, other| (&one.created_at, &one.id).cmp(&(&other.created_at, &other.id)));
                self.memory.may_be_twice(name.clone());
                at.balancer = candidates.pop().and_then(|balancer| found(balancer, by));
                at.twins = candidates.into_iter().filter_map(|balancer| found(balancer, by)).collect();
            }
            _ => at.namesakes = candidates.into_iter().map(|balancer| balancer.id).collect(),
        }
        if let Some(found) = &at.balancer {
            self.memory.came(&name);
            if !look.names.is_cut() {
                self.memory.remember(name, found.balancer.id.clone());
            }
        }
        Ok(at)
    }

    /// Octavia says that the one that the Service names is not there. Where it has the name of another Service nothing else says so, and
    /// all would be made anew: so that is believed only if a list does not show it either.
    async fn contradict(
        &self,
        look: &Look,
        index: Option<&Index>,
        project: &ProjectId,
    ) -> Result<(), Trouble> {
        let (Some(id), None) = (&look.named, index) else { return Ok(()) };
        let all = self.every_balancer(project).await?;
        let is_there =
            |one: &LoadBalancer| one.id == *id && one.provisioning_status != ProvisioningStatus::Deleted;
        if all.iter().any(is_there) { Err(contradicted(id)) } else { Ok(()) }
    }

    /// Those that were made for the same Service besides the one that it has. They are looked for if there may be some, and when
    /// that one is at rest.
    async fn twins(
        &self,
        look: &Look,
        of: &LoadBalancer,
        project: &ProjectId,
        began: u64,
    ) -> Result<Vec<FoundBalancer>, Trouble> {
        let name = look.names.load_balancer();
        let at_rest = of.provisioning_status == ProvisioningStatus::Active;
        if look.removes || !at_rest || of.name != name || !self.memory.is_perhaps_twice(&name) {
            return Ok(Vec::new());
        }
        let all = self.by_name(&name, look, None, project).await?;
        let others =
            all.into_iter().filter(|one| one.id != of.id && look.ownership.is_proven_by(&name, &one.tags));
        let twins: Vec<_> = others
            .map(|balancer| {
                let version = self.memory.version(&balancer.id, began);
                FoundBalancer { balancer, by: FoundBy::Name, children: Children::Busy, version }
            })
            .collect();
        if twins.is_empty() {
            self.memory.is_once(&name);
        }
        Ok(twins)
    }

    /// A load balancer by its id; none only if Octavia itself says so.
    async fn by_id(
        &self,
        id: &LoadBalancerId,
        index: Option<&Index>,
    ) -> Result<Option<LoadBalancer>, Trouble> {
        let now = Instant::now();
        if let Some(answered) = self.memory.take_answer(id, now) {
            return Ok(Some(answered));
        }
        let found = match index.and_then(|index| index.by_id(id)) {
            Some(listed) => listed.clone(),
            None => match self.client.load_balancer().load_balancer(id).await {
                Ok(found) => found,
                Err(error) if error.is_not_found() => {
                    self.memory.is_gone(id);
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            },
        };
        let found = self.memory.as_it_is(found, now);
        if found.provisioning_status == ProvisioningStatus::Deleted {
            return Ok(None);
        }
        self.memory.sees(&found, now);
        Ok(Some(found))
    }

    /// The load balancers with a name; none only if Octavia itself says so to that very question, or it is proven. One that is being
    /// deleted counts only for who wants it gone, and only if there is no other.
    async fn by_name(
        &self,
        name: &str,
        look: &Look,
        index: Option<&Index>,
        project: &ProjectId,
    ) -> Result<Vec<LoadBalancer>, Trouble> {
        let listed = index.map(|index| index.by_name(name)).unwrap_or_default();
        let now = Instant::now();
        let deleted = self.memory.deleted_as(name, now);
        let as_they_are = |listed: Vec<LoadBalancer>| {
            let listed = listed.into_iter().filter(|one| look.may_own(one, &deleted));
            living(listed.map(|one| self.memory.as_it_is(one, now)).collect(), name)
        };
        let mut found = as_they_are(listed);
        if found.is_empty() && !self.is_proven_absent(name, look, &deleted, index, now) {
            let query =
                LoadBalancerQuery { project_id: Some(project.clone()), ..LoadBalancerQuery::by_name(name) };
            found = as_they_are(self.client.load_balancer().load_balancers(&query).all().await?);
        }
        let going =
            |balancer: &LoadBalancer| balancer.provisioning_status == ProvisioningStatus::PendingDelete;
        if found.iter().any(|balancer| !going(balancer)) || !look.removes {
            found.retain(|balancer| !going(balancer));
        } else {
            found.truncate(1);
        }
        let found = look.own(found);
        found.iter().for_each(|balancer| self.memory.sees(balancer, now));
        Ok(found)
    }
}

fn living(mut found: Vec<LoadBalancer>, name: &str) -> Vec<LoadBalancer> {
    found.retain(|one| one.name == name && one.provisioning_status != ProvisioningStatus::Deleted);
    found
}

/// The answer to a create was lost, and nothing is to be seen of it yet.
fn doubtful(name: &str, age: Duration, left: Duration) -> Trouble {
    let why = format!(
        "the answer to the creation of load balancer {name} was lost; whether it is made is seen within {} s",
        left.as_secs().max(1)
    );
    let again = (age * 2).clamp(LOOK_AGAIN.0, LOOK_AGAIN.1).min(left);
    Trouble::Unknown(Doubt { retry_after: Some(again), ..Doubt::new(why) })
}

/// Octavia says that it is not there, and lists it.
fn contradicted(id: &LoadBalancerId) -> Trouble {
    let why = format!(
        "Octavia says that load balancer {id} is not there, and lists it; nothing is done before it says one or the other"
    );
    Trouble::Unknown(Doubt { retry_after: Some(LOOK_AGAIN.0), ..Doubt::new(why) })
}

/// Octavia has made it for us a moment ago, and does not show it.
fn unshown(name: &str, id: &LoadBalancerId, left: Duration) -> Trouble {
    let why = format!(
        "load balancer {id}, called {name}, was made a moment ago and Octavia does not show it; no second one is made, and after {} s it \
         counts as deleted by somebody else",
        left.as_secs().max(1)
    );
    Trouble::Unknown(Doubt { retry_after: Some(LOOK_AGAIN.0.min(left)), ..Doubt::new(why) })
}

fn is_foreign(balancer: &LoadBalancer, project: &ProjectId) -> bool {
    balancer.project_id.as_ref().is_some_and(|of| of != project)
}

fn foreign(balancer: &LoadBalancer, project: &ProjectId) -> Trouble {
    let of = balancer.project_id.as_ref().map(ToString::to_string).unwrap_or_default();
    Trouble::refused(format!(
        "annotation {} is {}, a load balancer of project {of}; use one of project {project}, or remove the annotation",
        crate::loadbalancer::annotations::LOAD_BALANCER_ID.key,
        balancer.id
    ))
}
