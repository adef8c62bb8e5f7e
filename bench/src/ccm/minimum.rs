//! How little it could cost: the fewest requests with which a CCM can do the work of a scenario. Pure; nothing here looks at a CCM.
//!
//! The derivation assumes a CCM that knows everything it was told before, and asks the cloud only for what it cannot know:
//!
//! - Nova gives up to 1,000 servers a page, and links on behind a full page, so `n` servers need `n / 1000 + 1` requests. Neutron as it
//!   is delivered has no limit: one request lists all ports. Octavia gives up to 1,000 objects a page.
//! - A load balancer is made with listeners, pools, members and monitors in one request; its port is there with the answer, so the
//!   floating IP can be made at once, in a second one. It is deleted in cascade, and the floating IP in a second request.
//! - While Octavia changes a load balancer, nothing else of it can be changed: the `p` pools of a Service are changed one after the
//!   other, with a look in between. One list shows all load balancers, so looks are shared: one each [`LOOK_SECONDS`] is enough for
//!   nobody to wait longer than that.
//! - A kubelet that was told its address reports it, so the status of a Node is right, and one write of labels, provider ID and taint
//!   initialises it. (Of one that was not, the addresses are a second write: spec and status are different subresources.) A Service's finalizer has to be there before its load balancer
//!   is made; its annotations and status can be one write behind it. Removing the finalizer is one.
//!
//! Logins and leases go with time and processes, not with the work, and are counted apart; so are events, which are for people.

/// How long somebody may wait for the next look at what the cloud is doing.
pub const LOOK_SECONDS: f64 = 5.0;
/// Objects on a page.
const PAGE: u64 = 1000;
/// How often Nodes are compared with the cloud at least: as often as upstream does by default.
const NODE_REFRESH_SECONDS: f64 = 300.0;
/// How often everything in the cloud is compared at least, though nothing is known to have changed.
const SWEEP_SECONDS: f64 = 600.0;
/// Requests per second to one service of a cloud that a polite client makes; many Services take that long.
const POLITE_PER_SECOND: f64 = 10.0;
/// How much of a brown-out is refused.
pub const REFUSED: f64 = 0.2;

/// The fewest requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Minimum {
    /// Of the cloud, that change something.
    pub mutating: u64,
    /// Of the cloud, that change nothing, without logins.
    pub reading: u64,
    /// Of the API server, that change Nodes and Services.
    pub api_writes: u64,
}

impl Minimum {
    /// All requests to the cloud.
    #[must_use]
    pub fn cloud(self) -> u64 {
        self.mutating + self.reading
    }
}

/// How often a period begins within a time, and at least once.
fn times(seconds: f64, period: f64) -> u64 {
    let times = (seconds / period).ceil().max(1.0);
    // Far below what a double holds exactly, and positive.
    times as u64
}

/// Pages of servers: a full page is followed by another.
fn server_pages(servers: u64) -> u64 {
    servers / PAGE + 1
}

/// Pages of load balancers or their parts.
fn pages(objects: u64) -> u64 {
    objects.div_ceil(PAGE)
}

/// How often one looks while something takes so long.
fn looks(seconds: f64) -> u64 {
    times(seconds, LOOK_SECONDS)
}

/// A CCM starts and finds `n` Nodes to initialise: all servers, all ports, one write for each Node.
#[must_use]
pub fn initialise(n: u64) -> Minimum {
    Minimum { mutating: 0, reading: server_pages(n) + 1, api_writes: n }
}

/// Nothing happens: what has changed since the last time (`changes-since`, one request) as often as Nodes are refreshed, and a sweep over
/// all servers and load balancers each ten minutes.
#[must_use]
pub fn quiet(n: u64, s: u64, seconds: f64) -> Minimum {
    let sweeps = times(seconds, SWEEP_SECONDS);
    let reading = times(seconds, NODE_REFRESH_SECONDS) + sweeps * (server_pages(n) + pages(s));
    Minimum { mutating: 0, reading, api_writes: 0 }
}

/// `s` Services are made at once, and a load balancer takes `boot` seconds: what is there already, two changes each, and shared looks.
#[must_use]
pub fn create(s: u64, boot: f64) -> Minimum {
    let looks = looks(boot + s as f64 / POLITE_PER_SECOND);
    Minimum { mutating: 2 * s, reading: 1 + looks * pages(s), api_writes: 2 * s }
}

/// The same while a part of the requests is refused: each has to be made 1 / (1 − part) times on average.
#[must_use]
pub fn create_in_brown_out(s: u64, boot: f64) -> Minimum {
    let Minimum { mutating, reading, api_writes } = create(s, boot);
    let repeated = |count: u64| (count as f64 / (1.0 - REFUSED)).ceil() as u64;
    Minimum { mutating: repeated(mutating), reading: repeated(reading), api_writes }
}

/// `b` Nodes join within some seconds, with `s` Services of `p` ports: the new servers and their ports are read (again each
/// [`LOOK_SECONDS`], for nobody waits longer), and when all have come, one change for each pool brings all of them.
#[must_use]
pub fn join(b: u64, span: f64, s: u64, p: u64) -> Minimum {
    let looks_at_balancers = if s == 0 { 0 } else { p * pages(s) };
    Minimum { mutating: s * p, reading: 2 * looks(span) + looks_at_balancers, api_writes: b }
}

/// One Node leaves: its server is gone (one read of it alone confirms that), the Node is deleted, and a member of each pool.
#[must_use]
pub fn leave(s: u64, p: u64) -> Minimum {
    Minimum { mutating: s * p, reading: 1 + if s == 0 { 0 } else { p * pages(s) }, api_writes: 1 }
}

/// One Service of `p` ports gets other source ranges: each listener is changed, with a look behind each.
#[must_use]
pub fn edit(p: u64) -> Minimum {
    Minimum { mutating: p, reading: p, api_writes: 0 }
}

/// A CCM starts and finds everything as it should be: lists of load balancers, listeners, pools, monitors and floating IPs, of servers and
/// ports. What a member list would say is in a note on the load balancer, or the load balancer has not changed since.
#[must_use]
pub fn restart(n: u64, s: u64, p: u64) -> Minimum {
    let balancers = if s == 0 { 0 } else { pages(s) + 3 * pages(s * p) + 1 };
    Minimum { mutating: 0, reading: server_pages(n) + 1 + balancers, api_writes: 0 }
}

/// All `s` Services are deleted, which takes the cloud `gone` seconds for one.
#[must_use]
pub fn delete(s: u64, gone: f64) -> Minimum {
    let looks = looks(gone + s as f64 / POLITE_PER_SECOND);
    Minimum { mutating: 2 * s, reading: looks * pages(s), api_writes: s }
}

/// Some of `n` Nodes are not ready for a time, and their servers run: one list a minute says that of all. (The design's table has none,
/// for a snapshot that is there anyway; somebody has to make one.)
#[must_use]
pub fn not_ready(n: u64, seconds: f64) -> Minimum {
    Minimum { mutating: 0, reading: times(seconds, 60.0) * server_pages(n), api_writes: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialising_nodes_needs_pages_and_a_write_for_each() {
        assert_eq!(initialise(20), Minimum { mutating: 0, reading: 2, api_writes: 20 });
        // Nova links on behind the full page.
        assert_eq!(initialise(1000), Minimum { mutating: 0, reading: 3, api_writes: 1000 });
        assert_eq!(initialise(5000).cloud(), 7);
    }

    #[test]
    fn a_service_needs_two_changes_and_shared_looks() {
        assert_eq!(create(1, 0.1), Minimum { mutating: 2, reading: 2, api_writes: 2 });
        // A minute of booting is looked at each five seconds, and a hundred Services take ten seconds to ask for.
        assert_eq!(create(100, 60.0), Minimum { mutating: 200, reading: 1 + 14, api_writes: 200 });
        assert_eq!(create_in_brown_out(100, 60.0).mutating, 250);
    }

    #[test]
    fn a_burst_of_joins_costs_the_pools_once() {
        assert_eq!(join(1, 0.0, 10, 2).mutating, 20);
        assert_eq!(join(50, 10.0, 10, 2).mutating, 20);
        assert_eq!(join(50, 10.0, 10, 2).api_writes, 50);
        assert_eq!(join(50, 10.0, 0, 2).reading, 4);
    }

    #[test]
    fn nothing_is_changed_where_nothing_has_to_change() {
        for minimum in [quiet(5000, 1000, 300.0), restart(5000, 1000, 1), not_ready(5000, 60.0)] {
            assert_eq!((minimum.mutating, minimum.api_writes), (0, 0));
        }
        assert_eq!(quiet(5000, 1000, 300.0).reading, 1 + 6 + 1);
        assert_eq!(restart(5000, 1000, 1).reading, 6 + 1 + 5);
        assert_eq!(restart(20, 0, 1).reading, 2);
        assert_eq!(not_ready(5000, 60.0).reading, 6);
    }

    #[test]
    fn deleting_and_leaving_need_one_change_for_each_thing() {
        assert_eq!(delete(5, 4.0), Minimum { mutating: 10, reading: 1, api_writes: 5 });
        assert_eq!(leave(5, 3), Minimum { mutating: 15, reading: 4, api_writes: 1 });
        assert_eq!(edit(3), Minimum { mutating: 3, reading: 3, api_writes: 0 });
    }
}
