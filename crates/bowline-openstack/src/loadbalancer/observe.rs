//! Looks at the cloud for many Services at once, with as few calls as that can be done with.
//!
//! What a look needs is asked for in this order: the load balancers, their floating IPs, what the wishes refer to, what hangs on
//! the load balancers. Whatever cannot be told makes the whole picture of that Service unknown. Nothing is decided here.

mod address;
mod children;
mod find;
mod floating;
mod groups;
mod lists;
mod notices;
mod owners;
mod place;
mod poll;
mod proof;
mod tenancy;

use std::collections::BTreeSet;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::service::FINALIZER;
use bowline_cloud::{Doubt, LoadBalancerRequest, Plan, Purpose, RESYNC_AT, Refusal, ServiceView};
use futures::StreamExt;
use futures::stream;
use openstack_client::load_balancer::LoadBalancer;
use tokio::time::Instant;

use self::find::{At, Look};
pub(super) use self::lists::{Asking, SharedList};
use self::notices::{address_behind_name, notices};
use super::annotations::{self, Rejected, Unreadable};
use super::balancers::Balancers;
use super::broken;
use super::features::Features;
use super::fingerprint;
use super::found::{Children, Found, FoundBalancer, FoundFloating};
use super::group::{FoundGroup, WantedGroup};
use super::intent::{Intent, Notice, Removal, Surroundings};
use super::members::Digest;
use super::memory::LookFor;
use super::names::{self, Names};
use super::observed::{Observation, Observed};
use super::ownership::Ownership;
use super::plan;
use super::resolve::Question;
use super::tenancy::rules;
use super::trouble::Trouble;
use super::unreadable;
use super::wanted::{Resolved as References, Rules, Wanted};

/// So many calls are on their way at the same time for one look.
const AT_ONCE: usize = 8;

/// So many load balancers are read one by one; more are found in one list of all.
const FEW: usize = 4;

/// So many Services are handled in one poll. A batch may have a thousand, and the threads that handle it also answer `/livez`.
const SERVICES_PER_POLL: usize = 8;

/// Lets other tasks run, before every [`SERVICES_PER_POLL`]th Service of a batch.
async fn yield_between(place: usize) {
    if place % SERVICES_PER_POLL == SERVICES_PER_POLL - 1 {
        tokio::task::yield_now().await;
    }
}

/// The answers to many questions, some at a time, in order.
async fn together<F: Future>(questions: Vec<F>) -> Vec<F::Output> {
    stream::iter(questions).buffered(AT_ONCE).collect().await
}

/// One Service on its way to a picture.
struct Run<'a> {
    request: &'a LoadBalancerRequest,
    wish: Wish,
    /// What can be had of the load balancer that is there, or of a new one.
    features: Features,
    /// Values that cannot be read. Only who has a load balancer already is not refused because of them.
    unreadable: Vec<Unreadable>,
}

/// What a Service wants, as far as it is known without the cloud.
enum Wish {
    Ensure(Box<Intent>),
    Remove(Box<Removal>),
}

/// What was found, before it is known what hangs on it.
struct Sight<'a> {
    run: Run<'a>,
    at: At,
    floating: FoundFloating,
    /// Why the address or the port that the Service chooses for a new load balancer cannot be had.
    place_taken: Option<String>,
    /// Whether the floating IPs that lead here are known as of this look, and not only believed to be as they were.
    floating_is_read: bool,
}

/// A wish whose references are known; none for who wants nothing.
struct Referred<'a> {
    sight: Sight<'a>,
    references: Option<Box<References>>,
}

/// The same with the security group that is wanted and the one that is there.
struct Grouped<'a> {
    referred: Referred<'a>,
    wanted: Option<WantedGroup>,
    found: Option<FoundGroup>,
}

/// A wish that is resolved.
struct Resolved<'a> {
    sight: Sight<'a>,
    wanted: Option<Box<Wanted>>,
    group: Option<FoundGroup>,
    children: Option<Children>,
}

impl Run<'_> {
    fn names(&self) -> &Names {
        match &self.wish {
            Wish::Ensure(intent) => &intent.names,
            Wish::Remove(removal) => &removal.names,
        }
    }
}

impl Balancers {
    /// One answer for each request, in order.
    pub(super) async fn look(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Observed, Doubt>> {
        let began = self.memory.changes();
        let features = match self.features().await {
            Ok(features) => features,
            Err(trouble) => {
                return requests.iter().map(|request| observed(request, Err(trouble.clone()))).collect();
            }
        };
        let runs = self.wishes(requests, features).await;
        let found = self.find_all(runs, began).await;
        let found = self.within_rules(found).await;
        let sights = self.floating_of_all(found).await;
        let referring = sights.into_iter().map(|sight| self.refer(sight)).collect();
        let grouped = self.groups_of_all(together(referring).await).await;
        let mut resolved = Vec::with_capacity(grouped.len());
        for (place, one) in grouped.into_iter().enumerate() {
            yield_between(place).await;
            resolved.push(one.map(|one| self.resolve(one)));
        }
        self.prove(&mut resolved).await;
        self.read_children(&mut resolved).await;
        let picture = async |(place, one)| {
            yield_between(place).await;
            self.picture(one).await
        };
        let pictures = resolved.into_iter().enumerate().map(picture).collect();
        let pictures = together(pictures).await;
        requests.iter().zip(pictures).map(|(request, picture)| observed(request, picture)).collect()
    }

    /// What each Service wants.
    ///
    /// The result is not cached: the notices search similar names for five unknown keys at most and every other key costs one lookup, so
    /// reading the largest possible Service takes about a millisecond, while its intent in a cache would take as much memory as the
    /// Service.
    async fn wishes<'a>(
        &self,
        requests: &'a [LoadBalancerRequest],
        features: Features,
    ) -> Vec<Result<Run<'a>, Trouble>> {
        let mut runs = Vec::with_capacity(requests.len());
        for (place, request) in requests.iter().enumerate() {
            yield_between(place).await;
            runs.push(self.wish(request, features));
        }
        runs
    }

    fn wish<'a>(&self, request: &'a LoadBalancerRequest, features: Features) -> Result<Run<'a>, Trouble> {
        let (service, cluster) = (&request.service, &request.cluster);
        let (config, classes) = (&self.conf.load_balancer, &self.conf.classes);
        let around = Surroundings { cluster, config, classes, features };
        let (wish, unreadable) = match request.purpose {
            Purpose::Ensure => match Intent::read(service, &around) {
                Ok(intent) => (Wish::Ensure(Box::new(intent)), Vec::new()),
                Err(rejected) => {
                    let (intent, unreadable) = provisional(service, &around, rejected)?;
                    (Wish::Ensure(Box::new(intent)), unreadable)
                }
            },
            Purpose::Remove => {
                let ownership = self.ownership(service);
                let removal = Removal::of(service, cluster, ownership, config, features.tags);
                (Wish::Remove(Box::new(removal)), Vec::new())
            }
        };
        Ok(Run { request, wish, features, unreadable })
    }

    fn look_of(&self, run: &Run<'_>) -> Look {
        Look::of(run.request, &run.wish, self.ownership(&run.request.service), &self.memory)
    }

    fn ownership(&self, service: &ServiceView) -> Ownership {
        let (cluster, tenancy) = (self.cluster.clone(), Arc::clone(&self.tenancy));
        Ownership { cluster, service: service.uid.clone(), tenancy }
    }

    async fn find_all<'a>(
        &self,
        runs: Vec<Result<Run<'a>, Trouble>>,
        began: u64,
    ) -> Vec<Result<(Run<'a>, At), Trouble>> {
        let looks: Vec<Look> = runs.iter().flatten().map(|run| self.look_of(run)).collect();
        let mut found = self.find(&looks, began).await.into_iter();
        let pair = |run: Result<Run<'a>, Trouble>| {
            let run = run?;
            let at = found.next().unwrap_or_else(|| Err(Trouble::refused("a look was lost")))?;
            Ok((self.suited(run, &at)?, at))
        };
        runs.into_iter().map(pair).collect()
    }

    /// The wish as the load balancer that is there can fulfil it: it may have another provider than new ones.
    fn suited<'a>(&self, run: Run<'a>, at: &At) -> Result<Run<'a>, Trouble> {
        let there = at.balancer.as_ref().map(|at| &at.balancer).filter(|one| !may_be_replaced(one));
        let provider = there.map(|one| one.provider.as_str()).filter(|provider| !provider.is_empty());
        match provider.and_then(|provider| self.features_of(provider)) {
            Some(features) if features != run.features => self.wish(run.request, features),
            _ => Ok(run),
        }
    }

    /// What the wish refers to.
    async fn refer<'a>(&self, sight: Result<Sight<'a>, Trouble>) -> Result<Referred<'a>, Trouble> {
        let sight = sight?;
        let Wish::Ensure(intent) = &sight.run.wish else { return Ok(Referred { sight, references: None }) };
        let replaced = |at: &FoundBalancer| may_be_replaced(&at.balancer);
        let question = Question {
            intent,
            service: &sight.run.request.service,
            nodes: &sight.run.request.nodes,
            features: sight.run.features,
            creates: sight.at.balancer.as_ref().is_none_or(replaced),
            floating: lacks_floating(intent, &sight),
            hinted: self.hinted_vip(&sight.run),
        };
        let references = Some(Box::new(self.resolver.resolve(question).await?));
        Ok(Referred { sight, references })
    }

    /// The address that is noted on a Service whose status shows host names only, unless a rule forbids the Service to choose it or another
    /// Service shows it: users can write what is noted.
    fn hinted_vip(&self, run: &Run<'_>) -> Option<IpAddr> {
        let service = &run.request.service;
        let address = hinted_address(service)?;
        let of_another =
            |other: &ServiceView| owners::is_other(other, service) && owners::shows(other, address);
        if run.request.services.find(&of_another).is_some() {
            return None;
        }
        let allowed = rules::allows_address_of(
            &self.tenancy,
            &service.namespace,
            |section| &section.vip_address,
            address,
        );
        allowed.then_some(address)
    }

    /// The wish itself, and what is known of the load balancer without reading it.
    fn resolve<'a>(&self, grouped: Grouped<'a>) -> Resolved<'a> {
        let Grouped { referred: Referred { sight, references }, wanted: group, found } = grouped;
        let request = sight.run.request;
        let balancer = sight.at.balancer.as_ref().map(|at| &at.balancer);
        let (wanted, children) = match (&sight.run.wish, references) {
            (Wish::Ensure(intent), Some(references)) => {
                let rules = Rules {
                    config: &self.conf.load_balancer,
                    tagged: sight.run.features.tags,
                    rosters: self.memory.rosters(),
                };
                let ownership = self.ownership(&request.service);
                let intent = (**intent).clone();
                let wanted = Wanted::of(intent, &request.nodes, *references, ownership, rules, group);
                let noted = fingerprint::brought_by(request);
                let asked = request.service.annotations.get(RESYNC_AT);
                if let (Some(balancer), Some(at)) = (balancer, asked)
                    && self.relation(&sight.run, balancer).is_some()
                {
                    self.memory.ask(&request.service.uid, balancer, at);
                }
                let children = balancer
                    .and_then(|balancer| self.memory.children(balancer, &wanted, &noted, Instant::now()));
                (Some(Box::new(wanted)), children)
            }
            (Wish::Remove(_), _) => (None, balancer.and_then(|balancer| self.children_to_remove(balancer))),
            (Wish::Ensure(_), None) => (None, None),
        };
        Resolved { sight, wanted, group: found, children }
    }

    /// What hangs on a load balancer that goes, unless it must be read. Also one that is the Service's own is read before it is deleted:
    /// somebody else may have put a listener on it.
    fn children_to_remove(&self, balancer: &LoadBalancer) -> Option<Children> {
        if balancer.provisioning_status.is_pending() {
            return Some(Children::Busy);
        }
        self.memory.tree(balancer, Instant::now()).map(Children::Known)
    }

    /// Reads what hangs on the load balancers of which it is not known.
    async fn read_children(&self, resolved: &mut [Result<Resolved<'_>, Trouble>]) {
        let unread = |one: &Resolved<'_>| one.children.is_none() && one.sight.at.balancer.is_some();
        let balancers: Vec<_> = resolved
            .iter()
            .flatten()
            .filter(|one| unread(one))
            .filter_map(|one| one.sight.at.balancer.as_ref().map(|at| at.balancer.clone()))
            .collect();
        let mut trees = self.trees(&balancers).await.into_iter();
        let now = Instant::now();
        for one in resolved.iter_mut() {
            if !one.as_ref().is_ok_and(unread) {
                continue;
            }
            match (one.as_mut(), trees.next()) {
                (Ok(known), Some(Ok(tree))) => {
                    if let Some(at) = &known.sight.at.balancer {
                        self.memory.read(&at.balancer, &tree, now);
                    }
                    known.children = Some(Children::Known(tree));
                }
                (_, Some(Err(trouble))) => *one = Err(trouble),
                _ => {}
            }
        }
    }

    /// Remembers what a look was for, and which floating IPs it found.
    fn note_look(
        &self,
        request: &LoadBalancerRequest,
        intent: &Intent,
        wanted: &Wanted,
        found: &Found,
        floating_is_read: bool,
    ) {
        let look = look_for(request, intent);
        let port = found.balancer.as_ref().and_then(|at| at.balancer.vip_port_id.as_ref());
        if let Some(port) = port.filter(|_port| floating_is_read) {
            let is_fulfilled = plan::outlook(wanted, found).is_some();
            self.memory.leading(port, &found.floating.attached, look, is_fulfilled, Instant::now());
        }
        self.memory.looked_for(look, Instant::now());
    }

    fn forget(&self, service: &ServiceView, name: &str) {
        self.told.forget(&service.uid);
        self.memory.forget_service(&service.uid, name);
    }

    async fn picture(&self, resolved: Result<Resolved<'_>, Trouble>) -> Result<Observation, Trouble> {
        let Resolved { sight, wanted, group, children } = resolved?;
        let Sight { run, at, floating, place_taken, floating_is_read } = sight;
        let balancer = at.balancer.map(|found| match children {
            Some(children) => FoundBalancer { children, ..found },
            None => found,
        });
        let service = &run.request.service;
        let known_address = known_address(service);
        let is_vip_unique = self.is_vip_unique(&run, balancer.as_ref().map(|at| &at.balancer)).await?;
        let found = Found {
            namesakes: at.namesakes,
            twins: at.twins,
            named_is_gone: at.named_is_gone,
            recover: !service.status.ingress.is_empty() || noted_address(service).is_some(),
            known_address,
            has_own: at.has_own,
            is_vip_unique,
            owner_may_want_it: balancer_owner(&run, balancer.as_ref()).is_some_and(|(namespace, name)| {
                run.request.services.may_want_load_balancer(namespace, name)
            }),
            leaving: leaving(&run, balancer.as_ref()),
            group_unread: self.leaves_group_unread(&run, balancer.as_ref()),
            balancer,
            is_published: !service.status.ingress.is_empty(),
            floating,
            place_taken,
            group,
        };
        match (run.wish, wanted) {
            (Wish::Ensure(intent), Some(wanted)) => {
                self.resolver.check_certificates(&intent, &wanted, &found).await?;
                self.note_look(run.request, &intent, &wanted, &found, floating_is_read);
                let shown = found.known_address.or_else(|| hinted_address(service));
                let lost = self.memory.lost_address(&wanted.names.load_balancer(), shown);
                let mut all = notices(&wanted, &found, lost);
                all.extend(address_behind_name(&wanted, &found, hinted_address(service)));
                self.told.tell(service, &all, self.events.as_ref());
                Ok(Observation::Ensure { wanted, found: Box::new(found) })
            }
            (Wish::Remove(removal), _) if found.is_nothing() => {
                let name = removal.names.load_balancer();
                self.memory.forget(&name);
                self.forget(service, &name);
                Ok(Observation::Gone)
            }
            (Wish::Remove(removal), _) => {
                // While Octavia is at work nothing is read of what is on it, and what was told before holds.
                if found.balancer.as_ref().is_none_or(|at| matches!(at.children, Children::Known(_))) {
                    let kept = plan::strangers(&removal, &found);
                    let kept = kept.map(|message| Notice { reason: "LoadBalancerNotDeleted", message });
                    self.told.tell(service, kept.as_slice(), self.events.as_ref());
                }
                // Others use the load balancer that it was on.
                if matches!(plan::remove(&removal, &found), Plan::Settled(_)) {
                    self.forget(service, &removal.names.load_balancer());
                }
                Ok(Observation::Remove { removal, found: Box::new(found) })
            }
            (Wish::Ensure(_), None) => Err(Trouble::refused("a wish was lost; this is a defect of Bowline")),
        }
    }
}

/// The wish of a Service that cannot be read and may have a load balancer, with which that is looked for; or its refusal, without a
/// call. What counts at last is decided when the load balancer is known.
fn provisional(
    service: &ServiceView,
    around: &Surroundings<'_>,
    rejected: Rejected,
) -> Result<(Intent, Vec<Unreadable>), Trouble> {
    let Rejected { refusal, unreadable } = rejected;
    let may_be_served = !service.status.ingress.is_empty() || service.finalizers.contains(FINALIZER);
    let Some(unreadable) = unreadable.filter(|_unreadable| may_be_served) else {
        return Err(Trouble::Refused(refusal));
    };
    let mut corrected = service.clone();
    for one in &unreadable {
        unreadable::replace(&mut corrected, one.place, one.preliminary());
    }
    // What cannot be wanted whatever is corrected is told together with what has to be corrected.
    let intent = Intent::of(&corrected, around).map_err(|further| {
        let further = further.problems.into_iter().filter(|problem| !refusal.problems.contains(problem));
        let problems = refusal.problems.iter().cloned().chain(further).collect();
        Trouble::Refused(Refusal { problems })
    })?;
    Ok((intent, unreadable))
}

/// Whether another one may be created in its place, so that what a new one needs has to be known.
fn may_be_replaced(balancer: &LoadBalancer) -> bool {
    broken::is_broken(balancer) && !broken::is_kept(balancer)
}

/// What a look at a Service is for.
fn look_for<'a>(request: &'a LoadBalancerRequest, intent: &Intent) -> LookFor<'a> {
    let nodes = &request.nodes;
    let leaving: Vec<_> = nodes.leaving.keys().collect();
    LookFor {
        service: &request.service.uid,
        wish: Digest::default().formatted(format_args!("{intent:?} {} {leaving:?}", nodes.epoch)).0,
        floating: Digest::default()
            .formatted(format_args!("{:?} {} {:?}", intent.floating, intent.keep_floating_ip, intent.names))
            .0,
        is_shown: !request.service.status.ingress.is_empty(),
    }
}

/// What a look for a request came to.
fn observed(
    request: &LoadBalancerRequest,
    observation: Result<Observation, Trouble>,
) -> Result<Observed, Doubt> {
    match observation {
        Ok(observation) => Ok(Observed::of(request, observation)),
        Err(Trouble::Refused(refusal)) => Ok(Observed::of(request, Observation::Refused(refusal))),
        Err(Trouble::Unknown(doubt)) => Err(doubt),
    }
}

/// The address by which a Service was reached last, by its status.
fn known_address(service: &ServiceView) -> Option<IpAddr> {
    service.status.ingress.iter().find_map(|ingress| ingress.ip)
}

/// The address that is noted on a Service. Users can write it.
fn noted_address(service: &ServiceView) -> Option<IpAddr> {
    service.annotations.get(annotations::LOAD_BALANCER_ADDRESS.key)?.parse().ok()
}

/// The address that is noted on a Service whose status shows host names only. Users can write it: it says where to look, and proves
/// nothing.
pub(super) fn hinted_address(service: &ServiceView) -> Option<IpAddr> {
    let ingress = &service.status.ingress;
    let shows_names = !ingress.is_empty() && ingress.iter().all(|ingress| ingress.ip.is_none());
    noted_address(service).filter(|_address| shows_names)
}

/// The other Service of this cluster for which a load balancer was made.
fn balancer_owner<'b>(run: &Run<'_>, at: Option<&'b FoundBalancer>) -> Option<(&'b str, &'b str)> {
    let service = &run.request.service;
    let (namespace, name) = names::service_in(&at?.balancer.name, &run.request.cluster)?;
    (*namespace != *service.namespace || *name != *service.name).then_some((namespace, name))
}

/// The tags on a load balancer of Services of this cluster that do not want one any more.
fn leaving(run: &Run<'_>, at: Option<&FoundBalancer>) -> BTreeSet<String> {
    let is_leaving = |tag: &&String| {
        let service = names::service_in(tag, &run.request.cluster);
        service.is_some_and(|(namespace, name)| !run.request.services.may_want_load_balancer(namespace, name))
    };
    at.into_iter().flat_map(|at| &at.balancer.tags).filter(is_leaving).cloned().collect()
}

/// Whether a floating IP has to come from somewhere: not if one is attached, unless another one is insisted on.
fn lacks_floating(intent: &Intent, sight: &Sight<'_>) -> bool {
    let Some(wish) = &intent.floating else { return false };
    let vip = sight.at.balancer.as_ref().and_then(|at| at.balancer.vip_address);
    if vip.is_some_and(|address| address.is_ipv6()) {
        return false;
    }
    let attached = &sight.floating.attached;
    match wish.address.filter(|_address| wish.insist) {
        Some(asked) => !attached.iter().any(|floating| floating.floating_ip_address == asked),
        None => attached.is_empty(),
    }
}
