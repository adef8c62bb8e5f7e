//! What the leader says of its own parts: with the reasons by a way that shows it our credentials, else without them as it tells everybody.

use serde_json::Value;

use crate::session::Session;
use crate::status::leader::Leader;
use crate::status::rails::{leading, port_of};
use crate::way::{self, Way};

/// The parts at which somebody should look; none if nobody leads, which is told elsewhere.
///
/// # Errors
///
/// Why the leader cannot be asked.
pub(super) async fn read(
    session: &Session,
    leader: &Leader,
    way: &way::Arguments,
) -> Result<Option<Vec<String>>, String> {
    if leader.problem.is_some() {
        return Ok(None);
    }
    let why = match overview(session, way).await {
        Ok(overview) => return Ok(Some(of_overview(&overview))),
        Err(why) => why,
    };
    let Some(manager) = leading(&session.managers, leader).filter(|_| way.url.is_none()) else {
        return Err(why);
    };
    let (namespace, pod, port) = (&manager.namespace, &manager.pod, port_of(manager));
    let text =
        session.cluster.health(namespace, pod, port).await.map_err(|error| format!("{why}; {error}"))?;
    Ok(Some(of_lines(&text)))
}

async fn overview(session: &Session, way: &way::Arguments) -> Result<Value, String> {
    Way::of(way, &session.access).map_err(|ending| ending.why)?.overview().await
}

/// What the overview says. Pure.
fn of_overview(overview: &Value) -> Vec<String> {
    let checks = overview.get("checks").and_then(Value::as_array).into_iter().flatten();
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let bad = checks.filter(|row| text(row, "state") == "look");
    bad.map(|row| format!("{} ({})", text(row, "name"), text(row, "why"))).collect()
}

/// What the lines of `/readyz?verbose` say: a sign in brackets, and the name. Pure.
fn of_lines(text: &str) -> Vec<String> {
    let bad = |line: &str| {
        let rest = line.strip_prefix("[-]").or_else(|| line.strip_prefix("[!]"))?;
        rest.split_whitespace().next().map(ToOwned::to_owned)
    };
    text.lines().filter_map(bad).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_parts_at_which_somebody_should_look_are_told_with_the_reason_where_it_is_known() {
        let overview = json!({"checks": [
            {"name": "ping", "state": "works", "why": null}, {"name": "route", "state": "off", "why": "not started"},
            {"name": "cloud-identity", "state": "look", "why": "401"},
        ]});
        assert_eq!(of_overview(&overview), ["cloud-identity (401)"]);
        let lines = "[+]ping ok\n[!]cloud-identity degraded: reason withheld\n[-]informers failed: reason withheld\nreadyz check failed\n";
        assert_eq!(of_lines(lines), ["cloud-identity", "informers"]);
    }
}
