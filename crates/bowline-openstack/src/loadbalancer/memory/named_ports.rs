//! Ports that Services name for their load balancers (`port-id`), and the load balancer that this process creates at each of them.
//!
//! Octavia creates several load balancers at one port. So of several Services that were observed while a port was free, one creates its
//! load balancer there, and the others are observed again.

use openstack_client::PortId;
use tokio::time::Instant;

use super::Memory;
use super::doubts::IN_DOUBT;

impl Memory {
    /// Reserves a port for the load balancer of this name, until Octavia shows what became of its creation. The error is the name of another
    /// load balancer for which the port is reserved.
    pub(in crate::loadbalancer) fn reserve_port(
        &self,
        port: &PortId,
        name: &str,
        now: Instant,
    ) -> Result<(), String> {
        let mut inner = self.lock();
        inner.named_ports.retain(|_port, (_name, since)| now.duration_since(*since) < IN_DOUBT);
        match inner.named_ports.get(port) {
            Some((other, _since)) if other != name => Err(other.clone()),
            _ => {
                inner.named_ports.insert(port.clone(), (name.to_owned(), now));
                Ok(())
            }
        }
    }

    /// Octavia has created nothing at this port.
    pub(in crate::loadbalancer) fn release_port(&self, port: &PortId) {
        self.lock().named_ports.remove(port);
    }
}
