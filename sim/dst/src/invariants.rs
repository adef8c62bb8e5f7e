//! What must never happen (S1 to S13), judged at every request by what is true in the cluster and the cloud, and what must
//! have happened in the end (L1 to L3), in `invariants/goal.rs`.
//!
//! Judges by names, tags and states that users see; of Bowline it knows the contract only.

mod broken;
mod goal;
mod rule;
mod seen;
mod tenants;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use parking_lot::Mutex;
use serde_json::Value;
use sim_kube::RequestInfo;

pub use self::rule::{Rule, Violation};
use self::seen::{balancer_of, has_finalizer, is_going, is_tainted, leads_to, owned, tag_of, text, twice};
use crate::net::Net;
use crate::world::{LEADER_LEASE, METAL, NAMESPACE, SHOP, World, service_name};

/// The finalizer of Services with a load balancer.
pub const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// How long a lease lasts in a run.
const LEASE: Duration = Duration::from_secs(60);

/// The call budget of one service of the cloud, as the flags have it by default.
const BUDGET: (f64, f64) = (10.0, 20.0);

/// The time within which the deletions of Nodes are counted.
const SWEEP: Duration = Duration::from_secs(600);

/// Judges what happens in a world.
pub struct Judge {
    /// The world.
    pub world: World,
    /// What lies between.
    pub net: Net,
    checks: AtomicU64,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// Who wrote the Lease last, and when.
    lease: Option<(String, Duration)>,
    /// Changes under way, by load balancer.
    under_way: BTreeMap<String, u32>,
    /// What is left of each process's budget for each service.
    budgets: BTreeMap<(String, String), (f64, Duration)>,
    /// When Nodes were deleted.
    deletions: Vec<Duration>,
    /// How many calls there were to each service of the cloud.
    calls: BTreeMap<String, u64>,
    /// How often something was written as it was.
    needless: u64,
    /// What each Service shows.
    published: BTreeMap<String, Vec<String>>,
    /// The process that last wrote each Service of a shop while its address led to it, by the name of the Service.
    witnesses: BTreeMap<String, String>,
}

/// Whether a request is about the Lease by which a manager leads; the ledger beside it is a Lease too.
#[must_use]
pub fn is_of_leader(request: &RequestInfo) -> bool {
    let created = || serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
    request.resource == "leases"
        && (request.name == LEADER_LEASE
            || request.name.is_empty() && text(&created()["metadata"]["name"]) == LEADER_LEASE)
}

/// A change of a load balancer that is under way.
pub struct UnderWay {
    judge: Arc<Judge>,
    balancer: String,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut memory = self.judge.memory();
        if let Some(count) = memory.under_way.get_mut(&self.balancer) {
            *count -= 1;
        }
    }
}

impl Judge {
    /// A judge of this world.
    #[must_use]
    pub fn new(world: World, net: Net) -> Arc<Self> {
        Arc::new(Self { world, net, checks: AtomicU64::new(0), memory: Mutex::default() })
    }

    fn memory(&self) -> parking_lot::MutexGuard<'_, Memory> {
        self.memory.lock()
    }

    /// How often something was checked.
    #[must_use]
    pub fn checks(&self) -> u64 {
        self.checks.load(Ordering::Relaxed)
    }

    fn check(&self, holds: bool, rule: Rule, what: impl FnOnce() -> String) {
        self.checks.fetch_add(1, Ordering::Relaxed);
        if !holds {
            self.net.violated(rule, what());
        }
    }

    /// A change of the cloud is about to be made.
    pub fn begin(self: &Arc<Self>, process: &str, request: &Request<Bytes>) -> Option<UnderWay> {
        self.has_lease(process, &format!("{} {}", request.method(), request.uri().path()));
        self.has_finalizer(request);
        self.serves_nobody(request);
        self.takes_nothing(request);
        self.takes_no_place(request);
        let balancer = self.world.cloud.with(|cloud| balancer_of(cloud.state(), request))?;
        let count = {
            let mut memory = self.memory();
            let count = memory.under_way.entry(balancer.clone()).or_default();
            *count += 1;
            *count
        };
        self.check(count <= 1, Rule::S8, || format!("{count} changes of {balancer} at once"));
        Some(UnderWay { judge: Arc::clone(self), balancer })
    }

    /// S7.
    fn has_lease(&self, process: &str, what: &str) {
        let (lease, now) = (self.memory().lease.clone(), self.net.elapsed());
        let holds = lease.as_ref().is_some_and(|(holder, at)| holder == process && now <= *at + LEASE);
        self.check(holds, Rule::S7, || {
            format!("{process} does {what} at {now:?}; the lease was last written by {lease:?}")
        });
    }

    /// S4, its first half: a load balancer is made only for a Service that has the finalizer.
    fn has_finalizer(&self, request: &Request<Bytes>) {
        if request.method() != Method::POST || !request.uri().path().ends_with("/lbaas/loadbalancers") {
            return;
        }
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let name = body["loadbalancer"]["name"].as_str().unwrap_or_default().to_owned();
        let services = self.world.kube.stored("", "services");
        let of = services.iter().find(|service| name == tag_of(service));
        let holds = of.is_some_and(has_finalizer);
        self.check(holds, Rule::S4, || format!("{name} is made, but its Service has no finalizer: {of:?}"));
    }

    /// S11: every call, also one that reads.
    pub fn call(&self, process: &str, request: &Request<Bytes>) {
        self.world.note_traffic();
        let service = request.uri().path().split('/').nth(1).unwrap_or_default().to_owned();
        if service == "identity" {
            return;
        }
        let now = self.net.elapsed();
        let (rate, burst) = BUDGET;
        let left = {
            let mut memory = self.memory();
            *memory.calls.entry(service.clone()).or_default() += 1;
            let budget = memory.budgets.entry((process.to_owned(), service.clone())).or_insert((burst, now));
            budget.0 = (budget.0 + (now - budget.1).as_secs_f64() * rate).min(burst) - 1.0;
            budget.1 = now;
            budget.0
        };
        self.check(left > -1.5, Rule::S11, || {
            format!("{process} calls {service} too often: {left:.1} are left")
        });
    }

    /// S11, of a run that says how many calls it takes.
    pub fn calls_are_few(&self) {
        let Some(most) = self.world.setting.octavia_calls else { return };
        let calls = self.memory().calls.get("load-balancer").copied().unwrap_or_default();
        self.check(calls <= most, Rule::S11, || format!("{calls} calls to Octavia where {most} are enough"));
    }

    /// S9: what OCCM served is neither made again nor given another address, unless it broke.
    pub fn inherited_stays(&self) {
        if self.net.has_broken_balancers() {
            return;
        }
        let changed = self.world.changed_since_occm();
        self.check(changed.is_none(), Rule::S9, || changed.unwrap_or_default());
    }

    /// What is shown now, by somebody else, is not judged.
    pub fn takes_note(&self) {
        let services = self.world.kube.stored("", "services");
        let shown =
            services.iter().map(|one| (text(&one["metadata"]["name"]).to_owned(), goal::published(one)));
        self.memory().published.extend(shown);
    }

    /// L2.
    pub fn is_served(&self, number: usize) {
        let name = service_name(number);
        let services = self.world.kube.stored("", "services");
        let service = services.iter().find(|service| text(&service["metadata"]["name"]) == name);
        let served = service.is_some_and(|service| !goal::published(service).is_empty());
        self.check(served, Rule::L2, || format!("{name} is not served yet"));
    }

    /// The pool whose members a call writes, if it writes them as they are.
    #[must_use]
    pub fn members_written_as_they_are(&self, request: &Request<Bytes>) -> Option<String> {
        let path = request.uri().path();
        let pool = path.strip_suffix("/members").filter(|_path| request.method() == Method::PUT)?;
        let pool = pool.rsplit('/').next()?.to_owned();
        let body: Value = serde_json::from_slice(request.body()).ok()?;
        let mut wanted: Vec<String> = body["members"]
            .as_array()?
            .iter()
            .map(|one| {
                let (weight, backup) =
                    (one["weight"].as_u64().unwrap_or(1), one["backup"].as_bool().unwrap_or(false));
                let monitor_port = one["monitor_port"].as_u64();
                let (address, port) = (text(&one["address"]), &one["protocol_port"]);
                format!("{address} {port} {weight} {backup} {monitor_port:?}")
            })
            .collect();
        wanted.sort();
        (wanted == self.members_in(&pool)).then_some(pool)
    }

    fn members_in(&self, pool: &str) -> Vec<String> {
        let mut members: Vec<String> = self.world.cloud.with(|cloud| {
            let all = cloud.state().load_balancer.members.iter().filter(|member| member.pool_id == pool);
            all.map(|one| {
                format!(
                    "{} {} {} {} {:?}",
                    one.address, one.protocol_port, one.weight, one.backup, one.monitor_port
                )
            })
            .collect()
        });
        members.sort();
        members
    }

    /// S9: members are written to become others. After a fault they may have been written already.
    pub fn members_differ(&self, step: &str, same: Option<String>) {
        let Some(pool) = same.filter(|_pool| !self.net.has_struck()) else { return };
        let needless = {
            let mut memory = self.memory();
            memory.needless += 1;
            memory.needless
        };
        self.check(needless < 3, Rule::S9, || {
            format!("{step}: the members of {pool} are written as they are, {needless} times")
        });
    }

    /// A call changed the cloud, or was tried.
    pub fn after_cloud(&self, step: &str) {
        self.world.note_strays();
        let twice = self.world.cloud.with(|cloud| twice(cloud.state(), &self.world.excused()));
        self.check(twice.is_none(), Rule::S1, || format!("after {step}: {}", twice.unwrap_or_default()));
        self.foreign_is_untouched(&format!("after {step}"));
        let changed = self.world.added_by_hand_changed();
        self.check(changed.is_none(), Rule::S3, || format!("after {step}: {}", changed.unwrap_or_default()));
        self.tenants_are_apart(step);
    }

    /// S3.
    pub fn foreign_is_untouched(&self, when: &str) {
        let foreign = self.world.foreign_changes();
        self.check(foreign.is_none(), Rule::S3, || format!("{when}: {}", foreign.unwrap_or_default()));
    }

    /// A write is about to take effect.
    pub fn before_kube(&self, process: &str, request: &RequestInfo) {
        self.has_lease(process, &format!("{} {} {}", request.verb, request.resource, request.name));
        if request.resource == "nodes" && request.name == METAL {
            let rule = if request.verb == "delete" { Rule::S2 } else { Rule::S3 };
            self.check(false, rule, || format!("{} {METAL}, which is in no cloud", request.verb));
        } else if request.verb == "delete" && request.resource == "nodes" {
            self.may_delete_node(request);
        }
    }

    /// S2.
    fn may_delete_node(&self, request: &RequestInfo) {
        let nodes = self.world.kube.stored("", "nodes");
        let Some(node) = nodes.iter().find(|node| text(&node["metadata"]["name"]) == request.name) else {
            return;
        };
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let wanted = text(&body["preconditions"]["uid"]);
        let uid = text(&node["metadata"]["uid"]);
        self.check(!wanted.is_empty(), Rule::S2, || format!("{} is deleted without its UID", request.name));
        if wanted != uid {
            return; // The server refuses it: this is what the precondition is for.
        }
        let id = text(&node["spec"]["providerID"]).rsplit('/').next().unwrap_or_default();
        let lives = self.world.cloud.with(|cloud| {
            let servers = &cloud.state().compute.servers;
            if id.is_empty() {
                servers.iter().any(|server| server.name == request.name)
            } else {
                servers.iter().any(|server| server.id == id && !is_going(server))
            }
        });
        self.check(!lives, Rule::S2, || format!("{} is deleted, but its server lives", request.name));
        let now = self.net.elapsed();
        let recent = {
            let mut memory = self.memory();
            memory.deletions.retain(|at| now - *at < SWEEP);
            memory.deletions.push(now);
            memory.deletions.len()
        };
        let most = ((nodes.len() + recent - 1) / 10).max(3);
        self.check(recent <= most, Rule::S2, || {
            format!("{recent} Nodes deleted within {SWEEP:?}, of {}", nodes.len())
        });
    }

    /// A write took effect.
    pub fn after_kube(&self, process: &str, request: &RequestInfo) {
        match request.resource.as_str() {
            _ if is_of_leader(request) => self.lease_written(process),
            "nodes" => self.nodes_are_sound(&request.name),
            "services" if request.namespace == NAMESPACE => self.service_is_sound(&request.name),
            "services" if request.namespace == SHOP => self.note_witness(process, &request.name),
            _ => {}
        }
    }

    fn lease_written(&self, process: &str) {
        let holder = self.world.leader();
        let now = self.net.elapsed();
        self.memory().lease = holder.filter(|holder| holder == process).map(|holder| (holder, now));
    }

    /// S5.
    fn nodes_are_sound(&self, name: &str) {
        let nodes = self.world.kube.stored("", "nodes");
        let Some(node) = nodes.iter().find(|node| text(&node["metadata"]["name"]) == name) else { return };
        let holds = is_tainted(node) || !text(&node["spec"]["providerID"]).is_empty();
        self.check(holds, Rule::S5, || format!("{name} has neither the taint nor a provider ID"));
    }

    /// S4, its second half, and S6.
    fn service_is_sound(&self, name: &str) {
        self.world.note_strays();
        let services = self.world.kube.stored("", "services");
        let service = services.iter().find(|service| text(&service["metadata"]["name"]) == name);
        if !service.is_some_and(has_finalizer) {
            let excused = self.world.excused();
            let left = self.world.cloud.with(|cloud| owned(cloud.state(), NAMESPACE, name, &excused));
            self.check(left.is_empty(), Rule::S4, || {
                format!("{name} is let go of, but there is still {left:?}")
            });
        }
        // One that is let go of shows its address until its finalizer goes. An address that is shown already is not judged again:
        // who deletes a load balancer behind our back makes it wrong, and it stays until there is another one.
        let addresses = service.filter(|one| goal::is_balanced(one)).map(goal::published).unwrap_or_default();
        let before = self.memory().published.insert(name.to_owned(), addresses.clone()).unwrap_or_default();
        if self.world.meddled_lately(name) {
            return;
        }
        for address in addresses.into_iter().filter(|address| !before.contains(address)) {
            let leads = self.world.cloud.with(|cloud| leads_to(cloud.state(), name, &address));
            self.check(leads, Rule::S6, || {
                format!("{name} is published at {address}, which does not lead to it")
            });
        }
    }
}
