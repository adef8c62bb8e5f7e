//! What was said about an object before: its condition, its events, and the ids of the cloud's requests in them. Pure.

use std::collections::BTreeSet;

use bowline_controllers::view::SERVICE_CONDITION;
use bowline_kube::objects::Service;
use k8s_openapi::api::core::v1::Event;
use serde::Serialize;

use crate::session::cluster::last_seen;

/// How the id of a cloud's request stands in texts.
const REQUEST_ID: &str = "request id ";

/// Not more events are shown, the latest ones.
const MOST_EVENTS: usize = 10;

/// What the manager last said on a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Whether its load balancer is as it asks.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in words.
    pub message: String,
    /// Since when.
    pub since: String,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// When it was last told.
    pub at: Option<String>,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// In one word.
    pub reason: String,
    /// In words.
    pub message: String,
    /// How often.
    pub times: i32,
}

/// The manager's condition of a Service.
#[must_use]
pub fn condition(service: &Service) -> Option<Condition> {
    let conditions = service.status.as_ref()?.conditions.as_ref()?;
    let own = conditions.iter().find(|condition| condition.type_ == SERVICE_CONDITION)?;
    Some(Condition {
        status: own.status.clone(),
        reason: own.reason.clone(),
        message: own.message.clone(),
        since: own.last_transition_time.0.to_string(),
    })
}

/// The latest events, the last at the end.
#[must_use]
pub fn told(events: &[Event]) -> Vec<Told> {
    let one = |event: &Event| Told {
        at: last_seen(event).map(|at| at.to_string()),
        kind: event.type_.clone().unwrap_or_default(),
        reason: event.reason.clone().unwrap_or_default(),
        message: event.message.clone().unwrap_or_default(),
        times: event
            .series
            .as_ref()
            .and_then(|series| series.count)
            .or(event.count)
            .filter(|count| *count > 0)
            .unwrap_or(1),
    };
    events.iter().skip(events.len().saturating_sub(MOST_EVENTS)).map(one).collect()
}

/// The ids of requests that a cloud's operator can look up, in texts.
pub fn request_ids<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut ids = BTreeSet::new();
    for text in texts {
        for part in text.split(REQUEST_ID).skip(1) {
            let id = part.split([')', ';', ',', ' ']).next().unwrap_or_default();
            if !id.is_empty() {
                ids.insert(id.to_owned());
            }
        }
    }
    ids.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn request_ids_are_found_wherever_they_stand_each_once() {
        let texts =
            ["502 (request id req-1); then 503 (request id req-2)", "again (request id req-1)", "none"];
        assert_eq!(request_ids(texts.into_iter()), ["req-1", "req-2"]);
        assert!(request_ids(["cut (request id "].into_iter()).is_empty());
    }

    #[test]
    fn the_last_ten_events_are_shown_with_their_count_and_the_condition_is_the_managers_own() {
        let event = |number: usize| -> Event {
            serde_json::from_value(json!({
                "metadata": {"name": format!("e{number}"), "namespace": "default"}, "involvedObject": {},
                "reason": format!("R{number}"), "type": "Warning", "message": "m", "count": number,
                "lastTimestamp": "2026-11-16T10:00:00Z",
            }))
            .unwrap()
        };
        let events: Vec<_> = (1..=12).map(event).collect();
        let shown = told(&events);
        assert_eq!((shown.len(), shown[0].reason.as_str(), shown[9].times), (10, "R3", 12));
        let service: Service = serde_json::from_value(json!({"status": {"conditions": [
            {"type": "other", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2026-11-16T10:00:00Z"},
            {"type": SERVICE_CONDITION, "status": "False", "reason": "Refused", "message": "why", "lastTransitionTime": "2026-11-16T10:00:00Z"},
        ]}}))
        .unwrap();
        assert_eq!(condition(&service).unwrap().reason, "Refused");
        assert_eq!(condition(&Service::default()), None);
    }
}
