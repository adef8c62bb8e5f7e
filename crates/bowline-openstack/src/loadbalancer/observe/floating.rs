//! The floating IPs that have to do with Services: those that lead to their load balancers, those they ask for, those left over.

use std::collections::{BTreeMap, BTreeSet};

use bowline_cloud::ServiceView;
use openstack_client::load_balancer::LoadBalancer;
use openstack_client::network::{FloatingIp, FloatingIpQuery};
use openstack_client::{PortId, ProjectId};
use tokio::time::Instant;

use super::find::{At, PAGE_SIZE};
use super::{Run, Sight, Wish, known_address, look_for, together};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::FoundFloating;
use crate::loadbalancer::names::{LOAD_BALANCER_PREFIX, Names, describes_floating_ip_of};
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
                Ok(Sight { run, at, floating, floating_is_read })
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
        let mut floating = FoundFloating { attached, ..FoundFloating::default() };
        let service = &run.request.service;
        for one in &floating.attached {
            self.memory.led_to(&service.uid, &one.id);
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
                let unattached = |address: &std::net::IpAddr| {
                    !floating.attached.iter().any(|one| one.floating_ip_address == *address)
                };
                // Also before there is a load balancer: none is made for an address that leads elsewhere.
                if let Some(address) = asked.filter(unattached) {
                    let query = FloatingIpQuery::by_address(address);
                    floating.asked = self.floating_by(query).await?.into_iter().next();
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
            floating.left = self.left_of(service, names, shared).await?;
        }
        Ok(floating)
    }

    /// The floating IPs that were made for a Service, or for the owner of the load balancer that it shares, led to it, and lead nowhere.
    async fn left_of(
        &self,
        service: &ServiceView,
        names: &Names,
        shared: Option<&LoadBalancer>,
    ) -> Result<Vec<FloatingIp>, Trouble> {
        let (description, known) = (names.floating_ip_description(), known_address(service));
        let query = match (shared, known) {
            (Some(_shared), Some(address)) => FloatingIpQuery::by_address(address),
            _ => FloatingIpQuery { description: Some(description.clone()), ..FloatingIpQuery::default() },
        };
        let ours = |one: &FloatingIp| {
            let was_ours =
                Some(one.floating_ip_address) == known || self.memory.has_led(&service.uid, &one.id);
            let of_owner = |shared: &LoadBalancer| describes_floating_ip_of(&shared.name, &one.description);
            was_ours && (one.description == description || shared.is_some_and(of_owner))
        };
        let mut left = Vec::new();
        for one in self.floating_by(query).await?.into_iter().filter(ours) {
            let is_left = match &one.port_id {
                None => true,
                Some(port) if one.description == description => self.is_idle(port).await?,
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

    async fn floating_by(&self, query: FloatingIpQuery) -> Result<Vec<FloatingIp>, Trouble> {
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
