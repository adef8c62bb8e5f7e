//! Decides which connections the server keeps when there are too many. Callers on this host, authenticated callers and all others have
//! separate limits, and each source address has a limit of its own. Connections of the source with the most connections are closed first.
//!
//! [`Table`] makes the decisions and does no I/O. [`Admission`] shares it between connections, and a [`Place`] is the slot of one
//! connection. A new connection is always admitted at once: `/livez` must respond even while unauthenticated clients open as many
//! connections as they can.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::metrics::ServingMetrics;

/// The limits of connections and requests. Each connection costs a file descriptor and up to about 200 KiB of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections from loopback, which the probes of the shipped manifests use.
    pub local: usize,
    /// Connections of authenticated callers.
    pub authenticated: usize,
    /// Connections of authenticated callers from one source address. Several scrapers may share an address.
    pub authenticated_per_source: usize,
    /// Connections of callers that have not authenticated.
    pub anonymous: usize,
    /// Connections of callers that have not authenticated, from one source address.
    pub anonymous_per_source: usize,
    /// Concurrent requests on connections from loopback. Each request keeps its headers in memory and may wait for a review by the API
    /// server; requests that need no review do not count.
    pub local_requests: usize,
    /// Concurrent requests on connections of authenticated callers: a known connection says nothing about the credentials of its next
    /// request.
    pub authenticated_requests: usize,
    /// Concurrent requests on connections of callers that have not authenticated.
    pub anonymous_requests: usize,
    /// Concurrent requests from one source address on all its connections. A source without a request in progress is never rejected.
    pub requests_per_source: usize,
    /// The addresses that count as loopback. `None`: those of the loopback interface.
    pub local_addresses: Option<Vec<IpAddr>>,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            local: 64,
            authenticated: 128,
            authenticated_per_source: 32,
            anonymous: 128,
            anonymous_per_source: 16,
            local_requests: 64,
            authenticated_requests: 128,
            anonymous_requests: 128,
            requests_per_source: 32,
            local_addresses: None,
        }
    }
}

impl ConnectionLimits {
    /// The maximum number of all connections.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.local + self.authenticated + self.anonymous
    }

    /// Whether the peer is on this host. A node's own address does not count as local, because traffic to a Service or node port can come
    /// from it.
    fn is_local(&self, peer: IpAddr) -> bool {
        match &self.local_addresses {
            Some(addresses) => addresses.contains(&peer),
            None => peer.is_loopback(),
        }
    }

    /// The maximum number of connections of a class, and of one source address in that class.
    const fn of(&self, class: Class) -> (usize, usize) {
        match class {
            Class::Local => (self.local, self.local),
            Class::Authenticated => (self.authenticated, self.authenticated_per_source),
            Class::Anonymous => (self.anonymous, self.anonymous_per_source),
        }
    }

    /// The maximum number of concurrent requests of a class, and of one source address in all classes.
    const fn requests_of(&self, class: Class) -> (usize, usize) {
        match class {
            Class::Local => (self.local_requests, self.local_requests),
            Class::Authenticated => (self.authenticated_requests, self.requests_per_source),
            Class::Anonymous => (self.anonymous_requests, self.requests_per_source),
        }
    }
}

/// The group of callers that share a connection limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Connections from loopback, authenticated or not.
    Local,
    /// Connections on which a request was authenticated and allowed by a review.
    Authenticated,
    /// All other connections.
    Anonymous,
}

impl Class {
    const fn label(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Authenticated => "authenticated",
            Self::Anonymous => "anonymous",
        }
    }
}

/// The source of a connection: an IPv4 address, or the /64 network of an IPv6 address, because one machine may own a whole /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source(IpAddr);

impl Source {
    fn of(peer: IpAddr) -> Self {
        match peer {
            IpAddr::V4(_) => Self(peer),
            IpAddr::V6(address) => {
                let network = Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64));
                Self(IpAddr::V6(network))
            }
        }
    }
}

#[derive(Debug)]
struct Entry {
    source: Source,
    class: Class,
    /// Requests in progress.
    running: usize,
    /// Requests in progress that count towards the limits.
    counted: usize,
    /// The sequence number of the last event; the connection with the smallest has been idle the longest.
    last_active: u64,
    closed: CancellationToken,
}

#[derive(Debug)]
struct Table {
    limits: ConnectionLimits,
    entries: BTreeMap<u64, Entry>,
    sequence: u64,
}

impl Table {
    const fn new(limits: ConnectionLimits) -> Self {
        Self { limits, entries: BTreeMap::new(), sequence: 0 }
    }

    /// Adds a connection. Returns the class of each connection that was closed for it; their tokens are already cancelled.
    fn admit(&mut self, peer: IpAddr) -> (u64, CancellationToken, Vec<Class>) {
        // A dual-stack socket reports IPv4 addresses as IPv4-mapped IPv6 addresses.
        let peer = peer.to_canonical();
        let class = if self.limits.is_local(peer) { Class::Local } else { Class::Anonymous };
        let source = Source::of(peer);
        let mut closed = Vec::new();
        while let Some((id, _)) = self.in_the_way(class, source) {
            self.close(id);
            closed.push(class);
        }
        let (id, token) = (self.tick(), CancellationToken::new());
        let entry = Entry { source, class, running: 0, counted: 0, last_active: id, closed: token.clone() };
        self.entries.insert(id, entry);
        (id, token, closed)
    }

    /// The connection that must be closed before another of `class` and `source` can be added, and whether it has a request in progress.
    /// `None` if there is room.
    fn in_the_way(&self, class: Class, source: Source) -> Option<(u64, bool)> {
        let (most, most_of_source) = self.limits.of(class);
        let of_class = || self.entries.iter().filter(move |(_, entry)| entry.class == class);
        let of_source = || of_class().filter(move |(_, entry)| entry.source == source);
        let victim = if of_source().count() >= most_of_source {
            // A source at its limit only closes connections of its own.
            of_source().min_by_key(|(_, entry)| (entry.running > 0, entry.last_active))
        } else if of_class().count() >= most {
            let mut held = BTreeMap::<Source, usize>::new();
            of_class().for_each(|(_, entry)| *held.entry(entry.source).or_default() += 1);
            // Also closes busy connections: otherwise, if some sources keep all their connections busy, each new connection would be closed
            // for the next.
            of_class().min_by_key(|(_, entry)| {
                (Reverse(held.get(&entry.source)), entry.running > 0, entry.last_active)
            })
        } else {
            None
        };
        victim.map(|(id, entry)| (*id, entry.running > 0))
    }

    /// Records the start of a request. Returns `false`, without recording it, if there are too many. A request that is not `counted` always
    /// starts.
    fn begin_request(&mut self, id: u64, counted: bool) -> bool {
        let sequence = self.tick();
        let Some(Entry { source, class, .. }) = self.entries.get(&id) else { return true };
        if counted && self.is_full(*class, *source) {
            return false;
        }
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.running += 1;
            entry.counted += usize::from(counted);
            entry.last_active = sequence;
        }
        true
    }

    /// Whether a source may not start another request on a connection of `class`.
    fn is_full(&self, class: Class, source: Source) -> bool {
        let (most, most_of_source) = self.limits.requests_of(class);
        let counted = |matches: &dyn Fn(&Entry) -> bool| -> usize {
            self.entries.values().filter(|entry| matches(entry)).map(|entry| entry.counted).sum()
        };
        match counted(&|entry| entry.source == source) {
            0 => false,
            of_source => of_source >= most_of_source || counted(&|entry| entry.class == class) >= most,
        }
    }

    fn end_request(&mut self, id: u64, counted: bool) {
        let sequence = self.tick();
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.running = entry.running.saturating_sub(1);
            entry.counted = entry.counted.saturating_sub(usize::from(counted));
            entry.last_active = sequence;
        }
    }

    /// Moves the connection of an authenticated caller to its class, unless another connection would have to be closed that has a request
    /// in progress. Returns the class of the connection that was closed for it, if any.
    fn authenticate(&mut self, id: u64) -> Option<Class> {
        let Entry { source, class: Class::Anonymous, .. } = self.entries.get(&id)? else { return None };
        let in_the_way = self.in_the_way(Class::Authenticated, *source);
        if in_the_way.is_some_and(|(_, is_busy)| is_busy) {
            return None;
        }
        if let Some((other, _)) = in_the_way {
            self.close(other);
        }
        self.entries.get_mut(&id)?.class = Class::Authenticated;
        in_the_way.map(|_| Class::Authenticated)
    }

    fn close(&mut self, id: u64) {
        if let Some(entry) = self.entries.remove(&id) {
            entry.closed.cancel();
        }
    }

    fn tick(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

/// The table, shared by all connections of a server.
#[derive(Debug)]
pub(super) struct Admission {
    table: Mutex<Table>,
    metrics: ServingMetrics,
}

impl Admission {
    pub(super) fn new(limits: ConnectionLimits, metrics: ServingMetrics) -> Self {
        Self { table: Mutex::new(Table::new(limits)), metrics }
    }

    /// Admits a connection from `peer`. Other connections may be closed for it.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Place {
        let (id, closed, others) = self.with(|table| table.admit(peer));
        others.into_iter().for_each(|class| self.metrics.connection_dropped(class.label()));
        Place { admission: Arc::clone(self), id, closed }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        work(&mut self.table.lock())
    }
}

/// The slot of one connection, released when dropped.
#[derive(Debug)]
pub(super) struct Place {
    admission: Arc<Admission>,
    id: u64,
    closed: CancellationToken,
}

impl Place {
    /// Completes when this connection must be closed in favour of another one.
    pub(super) fn taken(&self) -> WaitForCancellationFuture<'_> {
        self.closed.cancelled()
    }

    /// Records the start of a request, which counts towards the limits if it may need a review. Returns `false` if there are too many
    /// requests; otherwise [`Self::end_request`] must follow.
    pub(super) fn begin_request(&self, counted: bool) -> bool {
        self.admission.with(|table| table.begin_request(self.id, counted))
    }

    /// Records the end of a request. `counted` must be the same as at its start.
    pub(super) fn end_request(&self, counted: bool) {
        self.admission.with(|table| table.end_request(self.id, counted));
    }

    /// Records that the caller was authenticated and that a review allowed its request.
    pub(super) fn authenticate(&self) {
        if let Some(class) = self.admission.with(|table| table.authenticate(self.id)) {
            self.admission.metrics.connection_dropped(class.label());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.admission.with(|table| table.close(self.id));
    }
}

#[cfg(test)]
mod tests;
