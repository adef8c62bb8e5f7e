//! Breaker and budgets: as the leader tells them itself where it can be asked, else from what was told of Nodes.

use std::collections::BTreeMap;

use bowline_controllers::rails::deletion_budget::BREAKER_CHECK;
use k8s_openapi::api::core::v1::Event;
use serde::Serialize;
use serde_json::Value;

use super::leader::Leader;
use super::metrics::{label, values};
use crate::session::Session;
use crate::session::cluster::last_seen;
use crate::session::managers::Manager;
use crate::terminal::one_line;
use crate::way::{self, Way};

/// The port that a manager serves on unless told otherwise.
const PORT: u16 = 10258;

/// An event that is older tells nothing of now: the manager looks again within seconds.
const OLDEST_SECONDS: i64 = 15 * 60;

/// How the words of the breaker begin in an event (`rails/deletion_budget`).
const BREAKER_WORDS: &str = "seem gone at once, so none is deleted";

/// Breaker and budgets.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rails {
    /// Whether so many Nodes look gone that none is deleted; none if it is not known.
    pub breaker_open: Option<bool>,
    /// Nodes that a rail keeps from being deleted, by rail; none if it is not known.
    pub held_nodes: Option<BTreeMap<String, u64>>,
    /// Plans for Services that a rail held back since the start of the manager, by rail.
    pub held_plans: Option<BTreeMap<String, u64>>,
    /// Calls that may be made at once now, by the service of the cloud.
    pub calls_left: Option<BTreeMap<String, u64>>,
    /// Where this is from.
    pub from: String,
    /// Why not more is known.
    pub problem: Option<String>,
}

/// Asks the leader: for its metrics, where everybody may read them; for its overview, by a way that shows it our credentials; or else
/// for its health, which it tells everybody; or else the events.
pub async fn read(session: &Session, leader: &Leader, way: &way::Arguments) -> Rails {
    if way.url.is_some() {
        return match overview(session, way).await {
            Ok(rails) => rails,
            Err(why) => by_events(session, why).await,
        };
    }
    let Some(manager) = leading(&session.managers, leader) else {
        let why = "the pod of the leader is not known, so it cannot be asked; give its address with --url";
        return by_events(session, why.to_owned()).await;
    };
    let port = port_of(manager);
    let page = |path| session.cluster.page(&manager.namespace, &manager.pod, port, path);
    if let Ok(scrape) = page("/metrics").await {
        return of_metrics(&scrape);
    }
    let why = match overview(session, way).await {
        Ok(rails) => return rails,
        Err(why) => why,
    };
    match page("/readyz?verbose").await.ok().and_then(|text| of_health(&text)) {
        Some(rails) => Rails { problem: Some(why), ..rails },
        None => by_events(session, why).await,
    }
}

async fn overview(session: &Session, way: &way::Arguments) -> Result<Rails, String> {
    let way = Way::of(way, &session.access).map_err(|ending| ending.why)?;
    Ok(of_overview(&way.overview().await?))
}

/// What the overview of a manager says. Pure.
#[must_use]
pub fn of_overview(overview: &Value) -> Rails {
    let rows = |name: &str| overview.get(name).and_then(Value::as_array).into_iter().flatten();
    let count = |list: &str, key: &str, value: &str| -> Option<BTreeMap<String, u64>> {
        let pair = |row: &Value| Some((row.get(key)?.as_str()?.to_owned(), row.get(value)?.as_u64()?));
        Some(rows(list).filter_map(pair).collect()).filter(|map: &BTreeMap<_, _>| !map.is_empty())
    };
    let breaker = rows("rails").find(|row| row.get("rail").and_then(Value::as_str) == Some("breaker"));
    Rails {
        breaker_open: breaker.and_then(|row| row.get("holds")?.as_bool()),
        held_nodes: count("rails", "rail", "nodesHeld"),
        held_plans: count("rails", "rail", "plansHeld"),
        calls_left: count("cloud", "service", "left"),
        from: "the overview of the leader".to_owned(),
        problem: None,
    }
}

async fn by_events(session: &Session, why: String) -> Rails {
    match session.cluster.node_events().await {
        Ok(events) => Rails { problem: Some(why), ..of_events(&events, session.now) },
        Err(ending) => {
            Rails { problem: Some(format!("{why}; {ending}")), from: "nothing".into(), ..Rails::default() }
        }
    }
}

/// What the lines of `/readyz?verbose` say of the breaker; none if there is no such line. Pure.
#[must_use]
pub fn of_health(text: &str) -> Option<Rails> {
    let line = text.lines().find(|line| line.get(3..).is_some_and(|rest| rest.starts_with(BREAKER_CHECK)))?;
    let breaker_open = Some(!line.starts_with("[+]"));
    Some(Rails { breaker_open, from: "the health of the leader".to_owned(), ..Rails::default() })
}

/// The secure port of a manager.
pub(crate) fn port_of(manager: &Manager) -> u16 {
    manager.flags.get("secure-port").and_then(|port| port.parse().ok()).unwrap_or(PORT)
}

/// The pod of the leader: its identity begins with the name of its host, which is that of the pod, or of the node if it is the only
/// manager there: with two nobody can say which of them leads, and the other must not be shown anybody's token.
pub(crate) fn leading<'a>(managers: &'a [Manager], leader: &Leader) -> Option<&'a Manager> {
    let holder = leader.holder.as_deref()?;
    let host = holder.split('_').next().unwrap_or(holder);
    let of_name = managers.iter().find(|manager| manager.pod == host);
    let mut on_node = managers.iter().filter(|manager| manager.node.as_deref() == Some(host));
    of_name.or_else(|| on_node.next().filter(|_only| on_node.next().is_none()))
}

/// What a scrape says. Pure.
#[must_use]
pub fn of_metrics(scrape: &str) -> Rails {
    let by = |name: &str, key: &str| -> BTreeMap<String, u64> {
        let rows = values(scrape, name).into_iter();
        rows.filter_map(|(labels, value)| Some((label(&labels, key)?.to_owned(), whole(value)))).collect()
    };
    let first = |name: &str| values(scrape, name).first().map(|(_labels, value)| *value);
    Rails {
        breaker_open: first("bowline_node_deletion_breaker_open").map(|value| value > 0.0),
        held_nodes: Some(by("bowline_node_deletions_held", "rail")),
        held_plans: Some(by("bowline_rail_held_back_total", "rail")),
        calls_left: Some(by("bowline_cloud_budget_remaining_calls", "service")),
        from: "the metrics of the leader".to_owned(),
        problem: None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a counter is neither negative nor that large"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

/// What was told of Nodes lately. Pure.
#[must_use]
pub fn of_events(events: &[Event], now: jiff::Timestamp) -> Rails {
    let fresh = |event: &&Event| {
        let age = last_seen(event).map(|at| now.duration_since(at).as_secs());
        age.is_some_and(|age| age <= OLDEST_SECONDS)
    };
    let held = events.iter().filter(|event| event.reason.as_deref() == Some("NodeDeletionHeld"));
    let by_breaker = held
        .filter(fresh)
        .filter(|event| event.message.as_deref().is_some_and(|text| text.contains(BREAKER_WORDS)));
    let nodes: std::collections::BTreeSet<_> =
        by_breaker.map(|event| event.involved_object.name.clone()).collect();
    Rails {
        // That nothing was told is no proof that it is closed: each Node is told once only.
        breaker_open: (!nodes.is_empty()).then_some(true),
        held_nodes: (!nodes.is_empty()).then(|| {
            BTreeMap::from([("breaker".to_owned(), u64::try_from(nodes.len()).unwrap_or(u64::MAX))])
        }),
        from: "the events of Nodes".to_owned(),
        ..Rails::default()
    }
}

impl Rails {
    /// It in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let breaker = match self.breaker_open {
            Some(true) => "open: no Node is deleted",
            Some(false) => "closed",
            None => "not known",
        };
        let count = |held: &Option<BTreeMap<String, u64>>| -> String {
            let Some(held) = held else { return "not known".to_owned() };
            let rows = held.iter().filter(|(_rail, count)| **count > 0);
            let rows: Vec<_> = rows.map(|(rail, count)| format!("{count} by {rail}")).collect();
            if rows.is_empty() { "none".to_owned() } else { rows.join(", ") }
        };
        let problem =
            self.problem.as_deref().map(|why| format!("\n  ({})", one_line(why))).unwrap_or_default();
        let (held, plans) = (count(&self.held_nodes), count(&self.held_plans));
        let left = self.calls_left.as_ref().map_or_else(
            || "not known".to_owned(),
            |left| {
                left.iter()
                    .map(|(service, calls)| format!("{service} {calls}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            },
        );
        format!(
            "Node deletion breaker: {breaker}; Nodes held: {held}; plans held: {plans}; calls left: {left} (from {}){problem}",
            self.from
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scrape_tells_breaker_and_budgets() {
        let scrape = "bowline_node_deletion_breaker_open 1\nbowline_node_deletions_held{rail=\"breaker\"} 4\n\
            bowline_node_deletions_held{rail=\"grace\"} 0\n";
        let rails = of_metrics(scrape);
        assert_eq!(rails.breaker_open, Some(true));
        assert_eq!(rails.held_nodes.as_ref().unwrap()["breaker"], 4);
        assert!(rails.words().contains("open: no Node is deleted") && rails.words().contains("4 by breaker"));
        assert_eq!(of_metrics("").breaker_open, None, "another program's metrics");
    }

    #[test]
    fn an_overview_tells_the_same() {
        let rail = |rail: &str, holds, nodes: Option<u64>, plans: Option<u64>| json!({"rail": rail, "holds": holds, "nodesHeld": nodes, "plansHeld": plans});
        let rails = of_overview(&json!({
            "rails": [rail("breaker", true, Some(4), None), rail("pause", false, None, None), rail("second-look", false, None, Some(2))],
            "cloud": [{"service": "compute", "left": 17}, {"service": "network", "left": null}],
        }));
        assert_eq!(rails.breaker_open, Some(true));
        assert_eq!(rails.held_nodes, Some(BTreeMap::from([("breaker".to_owned(), 4)])));
        assert_eq!(rails.held_plans, Some(BTreeMap::from([("second-look".to_owned(), 2)])));
        assert_eq!(rails.calls_left, Some(BTreeMap::from([("compute".to_owned(), 17)])));
        let old = of_overview(&json!({"rails": [{"name": "Breaker", "holds": true}]}));
        assert_eq!((old.breaker_open, old.held_nodes), (None, None), "an older manager names no rails");
    }

    #[test]
    fn the_health_of_the_leader_tells_whether_the_breaker_is_open() {
        let open = |text: &str| of_health(text).and_then(|rails| rails.breaker_open);
        assert_eq!(open("[+]ping ok\n[!]node-deletion-breaker degraded: reason withheld\n"), Some(true));
        assert_eq!(open("[+]ping ok\n[+]node-deletion-breaker ok\nreadyz check passed\n"), Some(false));
        assert_eq!(open("ok"), None, "another program");
    }

    #[test]
    fn the_words_of_the_breaker_are_those_that_the_manager_says() {
        let held = bowline_controllers::rails::deletion_budget::Held::BreakerOpen { gone: 4, nodes: 5 };
        assert!(held.to_string().contains(BREAKER_WORDS), "{held}");
    }

    #[test]
    fn events_tell_an_open_breaker_and_never_a_closed_one() {
        let event = |at: &str, message: &str| -> Event {
            serde_json::from_value(json!({
                "metadata": {}, "involvedObject": {"kind": "Node", "name": message}, "reason": "NodeDeletionHeld",
                "message": message, "lastTimestamp": at,
            }))
            .unwrap()
        };
        let now = "2026-11-16T10:00:00Z".parse().unwrap();
        let open = event(
            "2026-11-16T09:59:00Z",
            "Not deleting node a: 4 of 5 nodes seem gone at once, so none is deleted; check",
        );
        assert_eq!(of_events(&[open], now).breaker_open, Some(true));
        let old = event("2026-11-16T08:00:00Z", "4 of 5 nodes seem gone at once, so none is deleted");
        let other = event("2026-11-16T09:59:00Z", "too new");
        assert_eq!(of_events(&[old, other], now).breaker_open, None);
    }

    #[test]
    fn the_pod_of_the_leader_is_known_by_its_own_name_or_by_that_of_a_node_where_it_is_the_only_manager() {
        let manager = |pod: &str, node: &str| Manager {
            namespace: "kube-system".into(),
            pod: pod.into(),
            node: Some(node.into()),
            image: String::new(),
            program: crate::session::managers::Program::Bowline,
            ready: true,
            restarts: 0,
            account: String::new(),
            flags: BTreeMap::new(),
            config: None,
        };
        let managers =
            [manager("ccm-a", "n1"), manager("ccm-b", "n2"), manager("occm", "n3"), manager("ccm-c", "n3")];
        let led = |holder: &str| {
            let leader = Leader { holder: Some(holder.into()), ..Leader::default() };
            leading(&managers, &leader).map(|manager| manager.pod.clone())
        };
        assert_eq!(led("ccm-b_uuid").as_deref(), Some("ccm-b"));
        assert_eq!(led("n1_uuid").as_deref(), Some("ccm-a"));
        assert_eq!(led("elsewhere_uuid"), None);
        assert_eq!(led("n3_uuid"), None, "it may be the other program");
        assert_eq!(led("ccm-c_uuid").as_deref(), Some("ccm-c"));
    }
}
