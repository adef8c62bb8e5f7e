//! Looks at the cloud for many Services at once, with as few calls as that can be done with.
//!
//! What a look needs is asked for in this order: the load balancers, their floating IPs, what the wishes refer to, what hangs on
//! the load balancers. Whatever cannot be told makes the whole picture of that Service unknown. Nothing is decided here.

mod children;
mod find;
mod floating;
mod groups;
mod lists;
mod notices;
mod poll;
mod proof;

use std::future::Future;
use std::net::IpAddr;

use bowline_cloud::{Evidence, LoadBalancerRequest, Plan, Proof, Purpose, RESYNC_AT, ServiceView};
use futures::StreamExt;
use futures::stream;
use openstack_client::load_balancer::{LoadBalancer, ProvisioningStatus};
use tokio::time::Instant;

use self::find::{At, Look};
pub(super) use self::lists::{Asking, SharedList};
use self::notices::notices;
use super::annotations;
use super::balancers::{Balancers, Observed};
use super::features::Features;
use super::fingerprint;
use super::found::{Children, Found, FoundBalancer, FoundFloating};
use super::group::{FoundGroup, WantedGroup};
use super::intent::{Intent, Removal, Surroundings};
use super::members::Digest;
use super::memory::LookFor;
use super::names;
use super::ownership::Ownership;
use super::plan;
use super::resolve::Question;
use super::trouble::Trouble;
use super::wanted::{Resolved as References, Rules, Wanted};

/// So many calls are on their way at the same time for one look.
const AT_ONCE: usize = 8;

/// So many load balancers are read one by one; more are found in one list of all.
const FEW: usize = 4;

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

impl Balancers {
    /// One answer for each request, in order.
    pub(super) async fn look(&self, requests: &[LoadBalancerRequest]) -> Vec<Evidence<Observed>> {
        let began = self.memory.changes();
        let features = match self.features().await {
            Ok(features) => features,
            Err(trouble) => return requests.iter().map(|_request| evidence(Err(trouble.clone()))).collect(),
        };
        let runs = requests.iter().map(|request| self.wish(request, features)).collect();
        let found = self.find_all(runs, began).await;
        let sights = self.floating_of_all(found).await;
        let referring = sights.into_iter().map(|sight| self.refer(sight)).collect();
        let grouped = self.groups_of_all(together(referring).await).await;
        let mut resolved: Vec<_> = grouped.into_iter().map(|one| one.map(|one| self.resolve(one))).collect();
        self.prove(&mut resolved).await;
        self.read_children(&mut resolved).await;
        let pictures = resolved.into_iter().map(|one| self.picture(one)).collect();
        together(pictures).await.into_iter().map(evidence).collect()
    }

    fn wish<'a>(&self, request: &'a LoadBalancerRequest, features: Features) -> Result<Run<'a>, Trouble> {
        let (service, cluster) = (&request.service, &request.cluster);
        let (config, classes) = (&self.conf.load_balancer, &self.conf.classes);
        let wish = match request.purpose {
            Purpose::Ensure => {
                let around = Surroundings { cluster, config, classes, features };
                Wish::Ensure(Box::new(Intent::of(service, &around).map_err(Trouble::Refused)?))
            }
            Purpose::Remove => {
                let ownership = self.ownership(service);
                Wish::Remove(Box::new(Removal::of(service, cluster, ownership, config, features.tags)))
            }
        };
        Ok(Run { request, wish, features })
    }

    fn look_of(&self, run: &Run<'_>) -> Look {
        Look::of(run.request, &run.wish, self.ownership(&run.request.service), &self.memory)
    }

    fn ownership(&self, service: &ServiceView) -> Ownership {
        Ownership { cluster: self.cluster.clone(), service: service.uid.clone() }
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
        let made_anew = |one: &&LoadBalancer| one.provisioning_status == ProvisioningStatus::Error;
        let there = at.balancer.as_ref().map(|at| &at.balancer).filter(|one| !made_anew(one));
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
        let broken = |at: &FoundBalancer| at.balancer.provisioning_status == ProvisioningStatus::Error;
        let question = Question {
            intent,
            service: &sight.run.request.service,
            nodes: &sight.run.request.nodes,
            features: sight.run.features,
            creates: sight.at.balancer.as_ref().is_none_or(broken),
            floating: lacks_floating(intent, &sight),
        };
        let references = Some(Box::new(self.resolver.resolve(question).await?));
        Ok(Referred { sight, references })
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
                if let (Some(balancer), Some(at)) = (balancer, asked) {
                    self.memory.ask(&balancer.id, at);
                }
                let children = balancer
                    .and_then(|balancer| self.memory.children(balancer, &wanted, &noted, Instant::now()));
                (Some(Box::new(wanted)), children)
            }
            (Wish::Remove(removal), _) => {
                (None, balancer.and_then(|balancer| self.children_to_remove(balancer, removal)))
            }
            (Wish::Ensure(_), None) => (None, None),
        };
        Resolved { sight, wanted, group: found, children }
    }

    /// What hangs on a load balancer that goes, unless it must be read. One that is surely one's own goes with all of it at once.
    fn children_to_remove(&self, balancer: &LoadBalancer, removal: &Removal) -> Option<Children> {
        if balancer.provisioning_status.is_pending() {
            return Some(Children::Busy);
        }
        let own = removal.names.load_balancer();
        let others = |tag: &String| tag.starts_with(names::LOAD_BALANCER_PREFIX) && *tag != own;
        let alone = balancer.name == own
            && balancer.tags.contains(&own)
            && !balancer.tags.iter().any(others)
            && removal.ownership.other_cluster(&balancer.tags).is_none();
        if removal.cascade && removal.tagged && alone {
            return Some(Children::AsWanted);
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

    async fn picture(&self, resolved: Result<Resolved<'_>, Trouble>) -> Result<Evidence<Observed>, Trouble> {
        let Resolved { sight, wanted, group, children } = resolved?;
        let Sight { run, at, floating, floating_is_read } = sight;
        let balancer = at.balancer.map(|found| match children {
            Some(children) => FoundBalancer { children, ..found },
            None => found,
        });
        let service = &run.request.service;
        let known_address = known_address(service);
        let found = Found {
            balancer,
            namesakes: at.namesakes,
            twins: at.twins,
            named_is_gone: at.named_is_gone,
            recover: known_address.is_some() || !service.status.ingress.is_empty(),
            known_address,
            floating,
            group,
        };
        match (run.wish, wanted) {
            (Wish::Ensure(intent), Some(wanted)) => {
                self.resolver.check_certificates(&intent, &wanted, &found).await?;
                self.note_look(run.request, &intent, &wanted, &found, floating_is_read);
                self.told.tell(service, &notices(&wanted, &found), self.events.as_ref());
                Ok(Evidence::Present(Observed::Ensure { wanted, found: Box::new(found) }))
            }
            (Wish::Remove(removal), _) if found.is_nothing() => {
                let name = removal.names.load_balancer();
                self.memory.forget(&name);
                self.forget(service, &name);
                let said = format!(
                    "Octavia has no load balancer {name} and Neutron no floating IP of {} in this project",
                    service.key()
                );
                Ok(Evidence::Absent(Proof::new(said)))
            }
            (Wish::Remove(removal), _) => {
                // Others use the load balancer that it was on.
                if matches!(plan::remove(&removal, &found), Plan::Settled(_)) {
                    self.forget(service, &removal.names.load_balancer());
                }
                Ok(Evidence::Present(Observed::Remove { removal, found: Box::new(found) }))
            }
            (Wish::Ensure(_), None) => Err(Trouble::refused("a wish was lost; this is a defect of Bowline")),
        }
    }
}

/// What a look at a Service is for.
fn look_for<'a>(request: &'a LoadBalancerRequest, intent: &Intent) -> LookFor<'a> {
    let nodes = &request.nodes;
    let leaving: Vec<_> = nodes.leaving.keys().collect();
    let floating = format!("{:?} {} {:?}", intent.floating, intent.keep_floating_ip, intent.names);
    LookFor {
        service: &request.service.uid,
        wish: Digest::default().text(&format!("{intent:?} {} {leaving:?}", nodes.epoch)).0,
        floating: Digest::default().text(&floating).0,
        is_shown: !request.service.status.ingress.is_empty(),
    }
}

/// What a look came to.
fn evidence(picture: Result<Evidence<Observed>, Trouble>) -> Evidence<Observed> {
    match picture {
        Ok(evidence) => evidence,
        Err(Trouble::Refused(refusal)) => Evidence::Present(Observed::Refused(refusal)),
        Err(Trouble::Unknown(doubt)) => Evidence::Unknown(doubt),
    }
}

/// The address by which a Service was reached last.
fn known_address(service: &ServiceView) -> Option<IpAddr> {
    let noted = service.annotations.get(annotations::LOAD_BALANCER_ADDRESS.key);
    let shown = service.status.ingress.iter().find_map(|ingress| ingress.ip);
    shown.or_else(|| noted.and_then(|text| text.parse().ok()))
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
