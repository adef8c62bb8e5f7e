//! The floating IPs that have to do with Services: those that lead to their load balancers, those they ask for, those left over.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use openstack_client::load_balancer::LoadBalancer;
use openstack_client::network::{FloatingIp, FloatingIpQuery};
use openstack_client::{PortId, ProjectId};
use tokio::time::Instant;

use super::find::{At, PAGE_SIZE};
use super::owners::shows;
use super::{Run, Sight, Wish, hinted_address, known_address, look_for, together};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::FoundFloating;
use crate::loadbalancer::names::{LOAD_BALANCER_PREFIX, Names, describes_floating_ip_of};
use crate::loadbalancer::tenancy::rules;
use crate::loadbalancer::trouble::Trouble;

/// So many ports fit into one question.
const PORTS: usize = 20;

type ByPort = BTreeMap<PortId, Vec<FloatingIp>>;

impl Balancers {
    /// Adds the floating IPs to what was found.
    pub(super) async fn floating_of_all<'a>(
        &self,
        found: Vec<Result<(Run<'a>, At), Trouble>>,
    ) -> Vec<Result<Sight<'a>, Trouble>> {
        let now = Instant::now();
        let (mut known, mut asked, mut expected) = (ByPort::new(), BTreeSet::new(), BTreeSet::new());
        let mut believed = BTreeSet::new();
        for (run, at) in found.iter().flatten() {
            let (Some(port), Some(found)) = (port_of(at), &at.balancer) else { continue };
            if can_only_wait(run, &found.balancer) {
                continue;
            }
            match self.known_floating(run, port, &found.balancer, now) {
                Some((floating, is_as_of_now)) => {
                    known.insert(port.clone(), floating);
                    if !is_as_of_now {
                        believed.insert(port.clone());
                    }
                }
                None => {
                    asked.insert(port.clone());
                    if expects(run) {
                        expected.insert(port.clone());
                    }
                }
            }
        }
        // Of several Services on one load balancer it is enough that one of them asks.
        known.retain(|port, _floating| !asked.contains(port));
        believed.retain(|port| !asked.contains(port));
        let attached = self.attached(&asked, &expected).await.map(|mut attached| {
            for port in &asked {
                match attached.get(port) {
                    Some(floating) => self.memory.reads_floating(port, floating.clone(), now),
                    None => self.memory.reads_no_floating(port, now),
                }
            }
            attached.append(&mut known);
            attached
        });
        let complete = |one: Result<(Run<'a>, At), Trouble>| {
            let (attached, believed) = (attached.as_ref(), &believed);
            async move {
                let (run, at) = one?;
                let floating_is_read = !port_of(&at).is_some_and(|port| believed.contains(port));
                let attached = attached.map_err(Clone::clone)?;
                let mine = port_of(&at).and_then(|port| attached.get(port)).cloned().unwrap_or_default();
                let floating = self.floating_of(&run, &at, mine).await?;
                let place_taken = self.place_taken(&run, &at).await?;
                Ok(Sight { run, at, floating, place_taken, floating_is_read })
            }
        };
        together(found.into_iter().map(complete).collect()).await
    }

    /// The floating IPs of a port as far as they need not be read, and whether that is as of now.
    fn known_floating(
        &self,
        run: &Run<'_>,
        port: &PortId,
        of: &LoadBalancer,
        now: Instant,
    ) -> Option<(Vec<FloatingIp>, bool)> {
        self.memory.floating(port, of, now).or_else(|| match &run.wish {
            Wish::Ensure(intent) => {
                let look = look_for(run.request, intent);
                let still = self.memory.still_leading(port, &of.id, look, now)?;
                Some((still, false))
            }
            Wish::Remove(_) => None,
        })
    }

    /// The floating IPs that lead to ports. What a list of all does not show is asked for where it is expected.
    async fn attached(
        &self,
        ports: &BTreeSet<PortId>,
        expected: &BTreeSet<PortId>,
    ) -> Result<ByPort, Trouble> {
        let mut attached = ByPort::new();
        if ports.is_empty() {
            return Ok(attached);
        }
        let project = self.project().await?;
        let mut unseen: Vec<PortId> = ports.iter().cloned().collect();
        let asking = self.asking_floating.enter(ports.len().div_ceil(PORTS));
        if asking.are_more_than(self.pages()) {
            let query = FloatingIpQuery { project_id: Some(project.clone()), ..FloatingIpQuery::default() };
            let read = || async { Ok(self.client.network().floating_ips(&query).of(PAGE_SIZE).all().await?) };
            let all = self.all_floating.get(read).await?;
            sort(all.iter().cloned(), ports, &mut attached);
            unseen = expected.iter().filter(|port| !attached.contains_key(*port)).cloned().collect();
        }
        let ask = |port_ids: &[PortId]| {
            let query = FloatingIpQuery {
                port_ids: port_ids.to_vec(),
                project_id: Some(project.clone()),
                ..FloatingIpQuery::default()
            };
            self.client.network().floating_ips(&query).all()
        };
        for answer in together(unseen.chunks(PORTS).map(ask).collect()).await {
            sort(answer?.into_iter(), ports, &mut attached);
        }
        Ok(attached)
    }

    /// The floating IPs of one Service, with those that it asks for and those that were left.
    async fn floating_of(
        &self,
        run: &Run<'_>,
        at: &At,
        attached: Vec<FloatingIp>,
    ) -> Result<FoundFloating, Trouble> {
        let service = &run.request.service;
        let of_others = self.of_others(run, at, &attached).await?;
        let mut floating = FoundFloating { attached, of_others, ..FoundFloating::default() };
        if let Some(relation) = at.balancer.as_ref().and_then(|at| self.relation(run, &at.balancer)) {
            floating.attached.iter().for_each(|one| self.memory.led_to(&service.uid, &one.id, relation));
        }
        if let (Wish::Remove(_), Some(own)) =
            (&run.wish, at.balancer.as_ref().and_then(|at| at.balancer.vip_address))
        {
            self.memory.accounts_for(&service.uid, own);
        }
        let had_one = !service.status.ingress.is_empty() || self.memory.has_led_any(&service.uid);
        let (names, looks_for_left) = match &run.wish {
            Wish::Ensure(intent) => {
                let wish = intent.floating.as_ref();
                let asked = wish.and_then(|wish| wish.address);
                let unattached = |address: &IpAddr| {
                    !floating.attached.iter().any(|one| one.floating_ip_address == *address)
                };
                // Also before there is a load balancer: none is made for an address that leads elsewhere.
                if let Some(address) = asked.filter(unattached) {
                    let query = FloatingIpQuery::by_address(address);
                    floating.asked = self.floating_by(query).await?.into_iter().next();
                    floating.asked_owner =
                        floating.asked.as_ref().and_then(|asked| self.owner(run, &intent.names, asked));
                }
                let bare = at.balancer.is_some() && floating.attached.is_empty();
                (&intent.names, bare && had_one && wish.is_some())
            }
            Wish::Remove(removal) => {
                let may_be_left = self.memory.may_be_left(&service.uid, known_address(service));
                (&removal.names, at.balancer.is_none() && may_be_left && !removal.keep_floating_ip)
            }
        };
        if looks_for_left {
            let of_another = |one: &&LoadBalancer| {
                one.name.starts_with(LOAD_BALANCER_PREFIX) && one.name != names.load_balancer()
            };
            let shared = at.balancer.as_ref().map(|at| &at.balancer).filter(of_another);
            floating.left = self.left_of(run, names, shared).await?;
        }
        let is_proven = |one: &&FloatingIp| {
            shows(service, one.floating_ip_address)
                || self.memory.has_led(&service.uid, &one.id)
                || self.memory.has_made_floating(&one.id)
        };
        let unattached = floating.asked.iter().chain(&floating.left);
        floating.proven = unattached.filter(is_proven).map(|one| one.id.clone()).collect();
        Ok(floating)
    }

    /// The floating IPs that were made for a Service, or for the owner of the load balancer that it shares, led to it, and lead nowhere.
    async fn left_of(
        &self,
        run: &Run<'_>,
        names: &Names,
        shared: Option<&LoadBalancer>,
    ) -> Result<Vec<FloatingIp>, Trouble> {
        let service = &run.request.service;
        let description = names.floating_ip_description();
        let known = known_address(service).or_else(|| self.hinted_floating(run));
        let has_led_other = self.memory.has_led_any(&service.uid);
        let query = match known {
            Some(address) => FloatingIpQuery::by_address(address),
            None => FloatingIpQuery { description: Some(description.clone()), ..FloatingIpQuery::default() },
        };
        let is_own = |one: &FloatingIp| {
            one.description == description || names.describes_used_floating_ip(&one.description)
        };
        let ours = |one: &FloatingIp| {
            let was_ours =
                Some(one.floating_ip_address) == known || self.memory.has_led(&service.uid, &one.id);
            let of_owner = |shared: &LoadBalancer| describes_floating_ip_of(&shared.name, &one.description);
            was_ours && (is_own(one) || shared.is_some_and(of_owner))
        };
        let mut found: Vec<FloatingIp> = self.floating_by(query).await?.into_iter().filter(ours).collect();
        if found.is_empty() && known.is_some() && has_led_other && shared.is_none() {
            let query =
                FloatingIpQuery { description: Some(description.clone()), ..FloatingIpQuery::default() };
            found.extend(self.floating_by(query).await?.into_iter().filter(ours));
        }
        let mut left = Vec::new();
        for one in found {
            let is_left = match &one.port_id {
                None => true,
                Some(port) if is_own(&one) => self.is_idle(port).await?,
                Some(_port) => false,
            };
            if is_left {
                left.push(one);
            }
        }
        Ok(left)
    }

    /// Whether a port is of no use: it belongs to nothing, and no load balancer stands on it. So is one that a person gave to a load
    /// balancer that is gone. One that a person led a floating IP to by hand is in use.
    async fn is_idle(&self, port: &PortId) -> Result<bool, Trouble> {
        match self.client.network().port(port).await {
            Ok(found) if !found.device_owner.is_empty() => return Ok(false),
            Ok(_found) => {}
            Err(error) if error.is_not_found() => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let balancers = self.every_balancer(&self.project().await?).await?;
        Ok(!balancers.iter().any(|balancer| balancer.vip_port_id.as_ref() == Some(port)))
    }

    /// The address that is noted on a Service whose status shows host names only. Users can write it, so it counts only where a rule
    /// allows them to choose it, and what is found by it is not proven to be theirs.
    fn hinted_floating(&self, run: &Run<'_>) -> Option<IpAddr> {
        let service = &run.request.service;
        let address = hinted_address(service).filter(|_address| matches!(run.wish, Wish::Ensure(_)))?;
        let allowed = rules::allows_address_of(
            &self.tenancy,
            &service.namespace,
            |section| &section.floating_ip,
            address,
        );
        allowed.then_some(address)
    }

    pub(super) async fn floating_by(&self, query: FloatingIpQuery) -> Result<Vec<FloatingIp>, Trouble> {
        let project_id: Option<ProjectId> = Some(self.project().await?);
        let query = FloatingIpQuery { project_id, ..query };
        Ok(self.client.network().floating_ips(&query).all().await?)
    }
}

/// The port of a load balancer that a floating IP may lead to: there are none for IPv6.
fn port_of(at: &At) -> Option<&PortId> {
    let balancer = &at.balancer.as_ref()?.balancer;
    let of_ipv6 = balancer.vip_address.is_some_and(|address| address.is_ipv6());
    balancer.vip_port_id.as_ref().filter(|_port| !of_ipv6)
}

/// Whether there is nothing to do about floating IPs before Octavia is done: for who goes, its load balancer comes first.
fn can_only_wait(run: &Run<'_>, balancer: &LoadBalancer) -> bool {
    matches!(run.wish, Wish::Remove(_)) && balancer.provisioning_status.is_pending()
}

/// Whether a floating IP is likely to be there.
fn expects(run: &Run<'_>) -> bool {
    match &run.wish {
        Wish::Ensure(intent) => intent.floating.is_some(),
        Wish::Remove(_) => true,
    }
}

fn sort(floating: impl Iterator<Item = FloatingIp>, ports: &BTreeSet<PortId>, into: &mut ByPort) {
    for one in floating {
        let Some(port) = one.port_id.clone().filter(|port| ports.contains(port)) else { continue };
        let of_port = into.entry(port).or_default();
        if !of_port.iter().any(|known| known.id == one.id) {
            of_port.push(one);
        }
    }
}
