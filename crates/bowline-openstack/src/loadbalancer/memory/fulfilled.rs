//! With which floating IPs wishes were fulfilled. A change of something else cannot have moved them, so they are not read again for
//! it, nor behind it. Who looks for no reason of his own reads them, for that is how it shows what others do.

use std::collections::HashMap;
use std::time::Duration;

use bowline_cloud::Text;
use openstack_client::network::FloatingIp;
use openstack_client::{LoadBalancerId, PortId};
use tokio::time::Instant;

use super::Memory;

/// How long floating IPs that were read are believed to lead where they did. As often as that all of a cloud is to be compared.
const BELIEVED: Duration = Duration::from_secs(600);

/// The same for a Service that does not show an address yet: what it shows first has to lead to it.
const BELIEVED_UNSHOWN: Duration = Duration::from_secs(50);

/// What was wished for, and what fulfilled it.
#[derive(Debug, Default)]
pub(super) struct Fulfilled {
    ports: HashMap<PortId, Led>,
    /// What the last look at each Service was for, and when that was.
    looked_for: HashMap<Text, (u128, Instant)>,
}

/// The floating IPs of a port.
#[derive(Debug)]
struct Led {
    attached: Vec<FloatingIp>,
    /// What was wished for about them.
    wish: u128,
    read_at: Instant,
}

/// A look at a Service.
#[derive(Debug, Clone, Copy)]
pub(in crate::loadbalancer) struct LookFor<'a> {
    pub(in crate::loadbalancer) service: &'a Text,
    /// A number for all that it wants.
    pub(in crate::loadbalancer) wish: u128,
    /// A number for what it wants about floating IPs.
    pub(in crate::loadbalancer) floating: u128,
    /// Whether it shows an address already.
    pub(in crate::loadbalancer) is_shown: bool,
}

impl Fulfilled {
    pub(super) fn forget_service(&mut self, service: &Text) {
        self.looked_for.remove(service);
    }

    pub(super) fn forget_ports(&mut self, gone: impl Fn(&PortId, &[FloatingIp]) -> bool) {
        self.ports.retain(|port, led| !gone(port, &led.attached));
    }

    pub(super) fn sweep(&mut self, now: Instant) {
        self.ports.retain(|_port, led| now.duration_since(led.read_at) < BELIEVED);
        self.looked_for.retain(|_service, (_wish, at)| now.duration_since(*at) < BELIEVED);
    }
}

impl Memory {
    /// The floating IPs of a port, for a look that is for another wish than the last one, or sees the end of a change of ours.
    pub(in crate::loadbalancer) fn still_leading(
        &self,
        port: &PortId,
        of: &LoadBalancerId,
        look: LookFor<'_>,
        now: Instant,
    ) -> Option<Vec<FloatingIp>> {
        let inner = self.lock();
        let (last, _at) = inner.fulfilled.looked_for.get(look.service)?;
        let entry = inner.entries.get(of)?;
        let ends = entry.tree.as_ref().is_some_and(|known| known.adopt.is_some())
            || entry.sent.as_ref().is_some_and(|known| known.adopt.is_some());
        if *last == look.wish && !ends {
            return None;
        }
        let led = inner.fulfilled.ports.get(port).filter(|led| led.wish == look.floating)?;
        let believed = if look.is_shown { BELIEVED } else { BELIEVED_UNSHOWN };
        (now.duration_since(led.read_at) < believed).then(|| led.attached.clone())
    }

    /// Notes what a look was for.
    pub(in crate::loadbalancer) fn looked_for(&self, look: LookFor<'_>, now: Instant) {
        self.lock().fulfilled.looked_for.insert(look.service.clone(), (look.wish, now));
    }

    /// Notes the floating IPs of a port as they were just read, and whether nothing is to be done about them.
    pub(in crate::loadbalancer) fn leading(
        &self,
        port: &PortId,
        attached: &[FloatingIp],
        look: LookFor<'_>,
        is_fulfilled: bool,
        now: Instant,
    ) {
        let mut inner = self.lock();
        if is_fulfilled {
            let led = Led { attached: attached.to_vec(), wish: look.floating, read_at: now };
            inner.fulfilled.ports.insert(port.clone(), led);
        } else {
            inner.fulfilled.ports.remove(port);
        }
    }
}
