//! What is known of floating IPs: which lead to the port of a load balancer, and whose load balancer they led to.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_cloud::Text;
use openstack_client::load_balancer::LoadBalancer;
use openstack_client::network::FloatingIp;
use openstack_client::{FloatingIpId, PortId};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use super::{Entry, FRESH, Memory};

/// How long a port that came with a load balancer of ours is new: nobody else leads a floating IP to it. Were it not so, Neutron
/// would refuse a second one.
const NEW_PORT: Duration = Duration::from_secs(600);

/// How long the floating IPs of a port that were read stand for a look at a load balancer that Octavia is at work on: as long as
/// the members of some thousand load balancers take to be changed.
const AT_WORK: Duration = Duration::from_secs(300);

/// The floating IPs that are changed at the moment. Each has a lock of its own: a change holds it while it waits for the call budget, and
/// must not keep back the Services of other namespaces.
#[derive(Debug, Default)]
pub(super) struct Turns(parking_lot::Mutex<HashMap<FloatingIpId, Weak<Mutex<()>>>>);

impl Turns {
    fn of(&self, id: &FloatingIpId) -> Arc<Mutex<()>> {
        let mut turns = self.0.lock();
        turns.retain(|_id, turn| turn.strong_count() > 0);
        let known = turns.get(id).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let turn = Arc::default();
            turns.insert(id.clone(), Arc::downgrade(&turn));
            turn
        })
    }
}

/// What is known of the floating IPs of a port.
#[derive(Debug)]
pub(super) enum Floating {
    /// The port is new, made by us: there is none.
    None(Instant),
    /// There was none when it was last read. That is no knowledge to act on later; only if one is led to the port right then, there is that
    /// one alone: Neutron would have refused a second one.
    Bare(Instant),
    /// These, for a moment.
    Just(Vec<FloatingIp>, Instant),
    /// These, when they were last read: enough for who can do nothing yet but wait.
    Read(Vec<FloatingIp>, Instant),
}

impl Floating {
    /// Whether anybody may still use it.
    pub(super) fn is_of_use(&self, now: Instant) -> bool {
        let (since, lasts) = match self {
            Self::None(since) => (since, NEW_PORT),
            Self::Bare(at) | Self::Just(_, at) => (at, FRESH),
            Self::Read(_, at) => (at, AT_WORK),
        };
        now.duration_since(*since) < lasts
    }
}

/// What a load balancer is to a Service that uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::loadbalancer) enum Relation {
    /// It was created for the Service.
    Owns,
    /// The Service joined it, and its tag is there.
    Shares,
}

impl Memory {
    /// The floating IPs of the port of a load balancer, if they are known. While Octavia is at work on it nothing is concluded, and
    /// those that were last read will do: each of many Services would ask for its own otherwise, right after its change.
    /// With them whether they are known as of this moment.
    pub(in crate::loadbalancer) fn floating(
        &self,
        port: &PortId,
        of: &LoadBalancer,
        now: Instant,
    ) -> Option<(Vec<FloatingIp>, bool)> {
        let at_work = of.provisioning_status.is_pending();
        match self.lock().ports.get(port)? {
            Floating::None(since) => (now.duration_since(*since) < NEW_PORT).then(|| (Vec::new(), true)),
            Floating::Bare(_at) => None,
            Floating::Just(floating, at) => {
                (now.duration_since(*at) < FRESH).then(|| (floating.clone(), true))
            }
            Floating::Read(floating, at) => {
                (at_work && now.duration_since(*at) < AT_WORK).then(|| (floating.clone(), false))
            }
        }
    }

    /// Notes which floating IPs lead to a port, as they were read.
    pub(in crate::loadbalancer) fn reads_floating(
        &self,
        port: &PortId,
        floating: Vec<FloatingIp>,
        now: Instant,
    ) {
        self.lock().ports.insert(port.clone(), Floating::Read(floating, now));
    }

    /// Notes that no floating IP led to a port when that was read.
    pub(in crate::loadbalancer) fn reads_no_floating(&self, port: &PortId, now: Instant) {
        self.lock().ports.insert(port.clone(), Floating::Bare(now));
    }

    /// A floating IP was led to a port.
    pub(in crate::loadbalancer) fn leads(&self, port: &PortId, floating: FloatingIp, now: Instant) {
        let mut inner = self.lock();
        inner.fulfilled.forget_ports(|known, _attached| known == port);
        inner.made_floating.remove(&floating.id);
        // Others may be there already, unless the port is new or was just seen without.
        let is_alone = match inner.ports.remove(port) {
            Some(Floating::None(_since)) => true,
            Some(Floating::Bare(at)) => now.duration_since(at) < FRESH,
            _ => false,
        };
        if is_alone {
            inner.ports.insert(port.clone(), Floating::Just(vec![floating], now));
            // That leaves the load balancer as it is: as it was seen right before, it stands for the look that follows.
            let stands_on = |entry: &&mut Entry| {
                entry.seen.as_ref().is_some_and(|(seen, _at)| seen.vip_port_id.as_ref() == Some(port))
            };
            for entry in inner.entries.values_mut().filter(stands_on).filter(|entry| !entry.answered) {
                (entry.answered, entry.polled) = (true, true);
            }
        }
    }

    /// A floating IP was seen to lead to the load balancer of a Service. Its description alone does not say so: a namesake from
    /// before, or of another cluster, has the same. A Service that shares the load balancer never replaces the one that is known.
    pub(in crate::loadbalancer) fn led_to(
        &self,
        service: &Text,
        floating: &FloatingIpId,
        relation: Relation,
    ) {
        let mut inner = self.lock();
        match (inner.led.get(floating), relation) {
            (Some(known), _) if known == service => {}
            (Some(_other), Relation::Shares) => {}
            (_, Relation::Owns) | (None, Relation::Shares) => {
                inner.led.insert(floating.clone(), service.clone());
            }
        }
    }

    /// Whether a floating IP was seen to lead to the load balancer of a Service.
    pub(in crate::loadbalancer) fn has_led(&self, service: &Text, floating: &FloatingIpId) -> bool {
        self.lock().led.get(floating) == Some(service)
    }

    /// Waits until nobody else in this process changes a floating IP. The guard is held during the change.
    pub(in crate::loadbalancer) async fn floating_turn(&self, id: &FloatingIpId) -> OwnedMutexGuard<()> {
        self.floating_turns.of(id).lock_owned().await
    }

    /// This process made a floating IP that leads to no port yet.
    pub(in crate::loadbalancer) fn made_floating(&self, id: FloatingIpId) {
        self.lock().made_floating.insert(id);
    }

    /// Whether this process made a floating IP that it has not led anywhere yet.
    pub(in crate::loadbalancer) fn has_made_floating(&self, id: &FloatingIpId) -> bool {
        self.lock().made_floating.contains(id)
    }

    /// Whether any was.
    pub(in crate::loadbalancer) fn has_led_any(&self, service: &Text) -> bool {
        self.lock().led.values().any(|of| of == service)
    }

    /// What is known of a port, or of a floating IP, holds no more.
    pub(in crate::loadbalancer) fn forget_floating(&self, port: Option<&PortId>, id: Option<&FloatingIpId>) {
        let mut inner = self.lock();
        if let Some(port) = port {
            inner.ports.remove(port);
        }
        let leads = |floating: &Floating| match floating {
            Floating::None(_since) | Floating::Bare(_since) => false,
            Floating::Just(all, _at) | Floating::Read(all, _at) => all.iter().any(|one| Some(&one.id) == id),
        };
        inner.ports.retain(|_port, floating| !leads(floating));
        let is = |one: &FloatingIp| Some(&one.id) == id;
        inner.fulfilled.forget_ports(|known, attached| Some(known) == port || attached.iter().any(is));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_floating_ip_has_a_lock_of_its_own_that_is_forgotten_after_the_change() {
        let (turns, id) = (Turns::default(), |text: &str| FloatingIpId::new(text).unwrap());
        let (first, again) = (turns.of(&id("a")), turns.of(&id("a")));
        assert!(Arc::ptr_eq(&first, &again));
        let others: Vec<_> = (0..1000).map(|number| turns.of(&id(&format!("b{number}")))).collect();
        assert!(others.iter().all(|other| !Arc::ptr_eq(other, &first)));
        drop((first, again, others));
        turns.of(&id("c"));
        assert_eq!(turns.0.lock().len(), 1);
    }
}
