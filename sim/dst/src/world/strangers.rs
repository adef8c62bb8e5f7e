//! Listeners and pools that people add to load balancers of our Services. Only people may change or delete them.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use sim_openstack::State;

use super::World;
use super::excuses::MEDDLED;
use super::property::BALANCERS;
use crate::action::Addition;
use crate::case::Provider;

/// The name of everything that people add.
pub(crate) const ADDED_BY_HAND: &str = "added-by-hand";

/// The port of a listener that a person adds. No Service of a run uses it.
const PORT: u16 = 9443;

/// A listener or pool that a person added.
#[derive(Clone, Debug)]
struct Part {
    balancer: String,
    added: Timestamp,
    /// What must not change.
    was: String,
}

/// What people added, by id.
#[derive(Debug, Default)]
pub(super) struct Strangers(BTreeMap<String, Part>);

impl World {
    /// A person adds a listener with a pool, or a pool alone. Octavia refuses it while the load balancer is in transition.
    pub(super) fn add_by_hand(&self, balancer: &str, addition: Addition) {
        let method = match self.setting.provider {
            Provider::Amphora => "ROUND_ROBIN",
            Provider::Ovn => "SOURCE_IP_PORT",
        };
        let mut pool = json!({"name": ADDED_BY_HAND, "protocol": "TCP", "lb_algorithm": method});
        let tags = if addition == Addition::TaggedListener { vec!["somebody"] } else { Vec::new() };
        let (kind, body) = match addition {
            Addition::Pool => {
                pool["loadbalancer_id"] = json!(balancer);
                ("pools", json!({"pool": pool}))
            }
            Addition::Listener | Addition::TaggedListener => {
                pool["members"] = json!([{"address": "10.10.99.7", "protocol_port": 7}]);
                (
                    "listeners",
                    json!({"listener": {"name": ADDED_BY_HAND, "loadbalancer_id": balancer, "tags": tags,
                    "protocol": "TCP", "protocol_port": PORT, "default_pool": pool}}),
                )
            }
        };
        let (code, _refused) = self.operator(Method::POST, &format!("/load-balancer/v2/lbaas/{kind}"), &body);
        if code == 201 {
            let now = self.cloud.now();
            let found = self.cloud.with(|cloud| parts_in(cloud.state()));
            let mut strangers = self.strangers.lock();
            for (id, (balancer, was)) in found {
                strangers.0.entry(id).or_insert(Part { balancer, added: now, was });
            }
        }
    }

    /// Somebody other than Bowline deletes a load balancer with everything on it. Octavia refuses that while the load balancer is in
    /// transition, and then what people added stays.
    pub(super) fn delete_balancer(&self, id: &str) {
        let (code, _refused) =
            self.operator(Method::DELETE, &format!("{BALANCERS}/{id}?cascade=true"), &Value::Null);
        if code == 204 {
            self.strangers.lock().0.retain(|_id, part| part.balancer != id);
        }
    }

    /// A listener or pool that a person added and that is no more as it was. One that was added only now may be unknown to the process
    /// that deletes the load balancer: Octavia offers no precondition for that.
    #[must_use]
    pub fn added_by_hand_changed(&self) -> Option<String> {
        let mut strangers = self.strangers.lock();
        if strangers.0.is_empty() {
            return None;
        }
        let now = self.cloud.now();
        let there = self.cloud.with(|cloud| parts_in(cloud.state()));
        let is_lost = |id: &String, part: &Part| there.get(id).is_none_or(|(_, text)| *text != part.was);
        strangers.0.retain(|id, part| !(is_lost(id, part) && now.duration_since(part.added) < MEDDLED));
        let (id, part) = strangers.0.iter().find(|(id, part)| is_lost(id, part))?;
        let (balancer, was) = (&part.balancer, &part.was);
        let is = there.get(id).map(|(_, text)| text);
        Some(format!("what a person added to load balancer {balancer} is {is:?}, it was {was:?}"))
    }

    /// Whether a person added something to a load balancer so long ago that every process can know it.
    #[must_use]
    pub fn is_added_to_by_hand(&self, balancer: &str) -> bool {
        let now = self.cloud.now();
        let strangers = self.strangers.lock();
        strangers
            .0
            .values()
            .any(|part| part.balancer == balancer && now.duration_since(part.added) >= MEDDLED)
    }

    /// The load balancers that people added something to: they stay when their Service goes.
    pub(super) fn balancers_added_to(&self) -> BTreeSet<String> {
        self.strangers.lock().0.values().map(|part| part.balancer.clone()).collect()
    }
}

/// What people added: the load balancer and the text of each listener and pool, by id. What is being deleted counts as gone, so that the
/// call which deletes it is judged, and not a later one.
fn parts_in(state: &State) -> BTreeMap<String, (String, String)> {
    let octavia = &state.load_balancer;
    let goes = |status: &str| matches!(status, "PENDING_DELETE" | "DELETED");
    let stays = |balancer: &String, status: &str| {
        let whole = octavia.load_balancers.get(balancer);
        !goes(status) && whole.is_some_and(|whole| !goes(&whole.provisioning_status))
    };
    let listeners = octavia.listeners.iter().filter(|one| one.name == ADDED_BY_HAND);
    let listeners =
        listeners.filter(|one| stays(&one.loadbalancer_id, &one.provisioning_status)).map(|one| {
            let text = format!("listener {} {:?} {:?}", one.protocol_port, one.default_pool_id, one.tags);
            (one.id.clone(), (one.loadbalancer_id.clone(), text))
        });
    let pools = octavia.pools.iter().filter(|one| one.name == ADDED_BY_HAND);
    let pools = pools.filter(|one| stays(&one.loadbalancer_id, &one.provisioning_status)).map(|one| {
        let members = octavia.members.iter().filter(|member| member.pool_id == one.id).count();
        (one.id.clone(), (one.loadbalancer_id.clone(), format!("pool {:?} with {members} members", one.tags)))
    });
    listeners.chain(pools).collect()
}

/// Whether a listener or pool has the name of what people add.
pub(crate) fn is_added_by_hand(name: &str) -> bool {
    name == ADDED_BY_HAND
}
