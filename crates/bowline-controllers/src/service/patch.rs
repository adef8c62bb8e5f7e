//! What is written to a Service, as data: the finalizer, the status, the condition, and what the provider notes. Pure.
//!
//! Everything goes through the status subresource, as upstream does it: it lets metadata be written too, so that what belongs
//! together is one write, and the right to patch Services themselves is not needed. No patch here can take away what somebody else added since we looked: lists are merged by the server, by
//! finalizer and by the type of a condition.

use bowline_cloud::{Ingress, IpMode, LoadBalancerStatus, Notes, ServiceCondition, ServiceView};
use bowline_kube::write::Change;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::desire::{FINALIZER, has_finalizer};
use crate::view::SERVICE_CONDITION;

/// The annotation of a Service that was last written when all was as it shall be: the provider's word for that.
pub const FINGERPRINT: &str = "bowline.dev/fingerprint";

/// Adds our finalizer. The server merges it into the list it has, so that nobody else's is lost.
#[must_use]
pub fn add_finalizer() -> Change {
    Change::Strategic(json!({"metadata": {"finalizers": [FINALIZER]}}))
}

/// Lets the Service go: takes our finalizer and our condition off, clears the status and writes the notes, in one write.
/// Empty if nothing of it is there.
#[must_use]
pub fn release(service: &ServiceView, notes: &Notes) -> Change {
    let metadata = [
        ("$deleteFromPrimitiveList/finalizers", has_finalizer(service).then(|| json!([FINALIZER]))),
        ("annotations", annotations(notes)),
    ];
    let cleared = || json!({"ingress": null});
    let status = [
        ("loadBalancer", (!service.status.ingress.is_empty()).then(cleared)),
        ("conditions", service.condition.is_some().then(|| json!([no_condition()]))),
    ];
    both(object(metadata), object(status))
}

/// Writes the status, if it is another than the one that is there, and in the same write the condition, if one is given, and
/// the notes: whoever sees an address sees what is noted of it.
#[must_use]
pub fn status(
    service: &ServiceView,
    wanted: &LoadBalancerStatus,
    condition: Option<Value>,
    notes: &Notes,
) -> Change {
    let ingress = || if wanted.ingress.is_empty() { json!(null) } else { json!(wanted.ingress) };
    let differs = !same_status(&service.status, wanted);
    let status = [
        ("loadBalancer", differs.then(|| json!({"ingress": ingress()}))),
        ("conditions", condition.map(|condition| json!([condition]))),
    ];
    both(noted(notes), object(status))
}

/// Writes the condition, if one is given, and the notes.
#[must_use]
pub fn say(condition: Option<&Value>, notes: &Notes) -> Change {
    both(noted(notes), condition.map(|condition| json!({"conditions": [condition]})))
}

/// Takes our condition off.
#[must_use]
pub fn unsay() -> Change {
    say(Some(&no_condition()), &Notes::default())
}

/// The condition as it is written over the one that is `there`, whose time stays if its status does.
#[must_use]
pub fn condition(there: Option<&ServiceCondition>, wanted: &ServiceCondition, now: Timestamp) -> Value {
    let ServiceCondition { status, reason, message } = wanted;
    let is_another = there.is_none_or(|there| there.status != *status);
    // Times of conditions count seconds.
    let since = is_another.then(|| json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
    let fields = [
        ("type", Some(json!(SERVICE_CONDITION))),
        ("status", Some(json!(status))),
        ("reason", Some(json!(reason))),
        ("message", Some(json!(message))),
        ("lastTransitionTime", since),
    ];
    object(fields).unwrap_or_default()
}

/// What takes our condition off: the server finds it by its type.
fn no_condition() -> Value {
    json!({"$patch": "delete", "type": SERVICE_CONDITION})
}

/// The part of a patch that is about annotations.
fn annotations(notes: &Notes) -> Option<Value> {
    (!notes.is_empty()).then(|| json!(notes))
}

fn noted(notes: &Notes) -> Option<Value> {
    object([("annotations", annotations(notes))])
}

fn both(metadata: Option<Value>, status: Option<Value>) -> Change {
    Change::Strategic(object([("metadata", metadata), ("status", status)]).unwrap_or_default())
}

/// The fields that are there; `None` if none is.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Option<Value> {
    let there = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let object: Map<String, Value> = there.collect();
    (!object.is_empty()).then_some(Value::Object(object))
}

/// Whether two statuses say the same. The API server reads an address without a mode as `VIP` and writes that down: to
/// it, and so to us, both are the same.
#[must_use]
pub fn same_status(one: &LoadBalancerStatus, other: &LoadBalancerStatus) -> bool {
    let plain = |status: &LoadBalancerStatus| -> Vec<Ingress> {
        status.ingress.iter().cloned().map(with_default_mode).collect()
    };
    plain(one) == plain(other)
}

fn with_default_mode(mut ingress: Ingress) -> Ingress {
    if ingress.ip.is_some() {
        ingress.ip_mode = ingress.ip_mode.or(Some(IpMode::Vip));
    }
    ingress
}

#[cfg(test)]
mod tests {
    use bowline_cloud::ConditionStatus;

    use super::*;

    fn at(ip: &str, ip_mode: Option<IpMode>) -> LoadBalancerStatus {
        LoadBalancerStatus { ingress: vec![Ingress { ip: ip.parse().ok(), ip_mode, ..Ingress::default() }] }
    }

    fn service(finalizers: &[&str], status: LoadBalancerStatus) -> ServiceView {
        let finalizers = finalizers.iter().copied().collect();
        ServiceView { finalizers, status, ..ServiceView::default() }
    }

    fn none() -> Notes {
        Notes::default()
    }

    #[test]
    fn an_address_without_a_mode_is_a_vip() {
        assert!(same_status(&at("192.0.2.1", None), &at("192.0.2.1", Some(IpMode::Vip))));
        assert!(!same_status(&at("192.0.2.1", None), &at("192.0.2.1", Some(IpMode::Proxy))));
        assert!(!same_status(&at("192.0.2.1", None), &at("192.0.2.2", None)));
    }

    #[test]
    fn patch_status_as_upstream_same_add_empty_and_clear() {
        let nothing = LoadBalancerStatus::default();
        let there = service(&[], at("192.0.2.1", Some(IpMode::Vip)));
        assert!(status(&there, &at("192.0.2.1", None), None, &none()).is_empty(), "same");
        assert!(status(&service(&[], nothing.clone()), &nothing, None, &none()).is_empty());
        let add = status(&service(&[], nothing.clone()), &at("192.0.2.1", None), None, &none());
        assert_eq!(
            add,
            Change::Strategic(json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}))
        );
        let clear = status(&there, &nothing, None, &none());
        assert_eq!(clear, Change::Strategic(json!({"status": {"loadBalancer": {"ingress": null}}})));
    }

    fn said(status: ConditionStatus) -> ServiceCondition {
        ServiceCondition { status, reason: "Why".into(), message: "because".into() }
    }

    #[test]
    fn a_condition_goes_with_the_status_and_its_time_changes_with_its_status_only() {
        let now: Timestamp = "2026-11-02T08:00:00.5Z".parse().unwrap();
        let no = said(ConditionStatus::False);
        let first = condition(None, &no, now);
        assert_eq!(
            first,
            json!({"type": SERVICE_CONDITION, "status": "False", "reason": "Why", "message": "because",
                   "lastTransitionTime": "2026-11-02T08:00:00Z"})
        );
        assert!(condition(Some(&no), &no, now).get("lastTransitionTime").is_none());
        assert!(condition(Some(&no), &said(ConditionStatus::True), now).get("lastTransitionTime").is_some());
        let both = status(
            &service(&[], LoadBalancerStatus::default()),
            &at("192.0.2.1", None),
            Some(first),
            &none(),
        );
        let Change::Strategic(both) = both else { panic!("not a strategic merge patch") };
        assert_eq!(both["status"].as_object().unwrap().len(), 2, "{both}");
    }

    #[test]
    fn only_what_is_ours_goes_with_the_release() {
        let mut ours = service(&["foreign", FINALIZER], at("192.0.2.1", None));
        ours.condition = Some(said(ConditionStatus::True).into());
        let expected = json!({
            "metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]},
            "status": {"loadBalancer": {"ingress": null},
                       "conditions": [{"$patch": "delete", "type": SERVICE_CONDITION}]}
        });
        assert_eq!(release(&ours, &none()), Change::Strategic(expected));
    }

    #[test]
    fn releasing_what_has_nothing_of_ours_writes_nothing() {
        assert!(release(&service(&["foreign"], LoadBalancerStatus::default()), &none()).is_empty());
        let cleared = json!({"status": {"loadBalancer": {"ingress": null}}});
        assert_eq!(release(&service(&[], at("192.0.2.1", None)), &none()), Change::Strategic(cleared));
    }

    #[test]
    fn notes_are_part_of_whatever_is_written_and_alone_only_if_nothing_else_is() {
        let notes = none().with("id", "85a2").without("address");
        let metadata = json!({"annotations": {"id": "85a2", "address": null}});
        let there = service(&[FINALIZER], at("192.0.2.1", None));
        let alone = Change::Strategic(json!({"metadata": metadata}));
        assert_eq!(status(&there, &at("192.0.2.1", None), None, &notes), alone);
        assert_eq!(say(None, &notes), alone);
        assert!(say(None, &none()).is_empty());
        let Change::Strategic(both) = status(&there, &at("192.0.2.2", None), None, &notes) else { panic!() };
        assert_eq!((&both["metadata"], both["status"].is_object()), (&metadata, true));
        let Change::Strategic(released) = release(&there, &none().without("id")) else { panic!() };
        let gone = json!({"annotations": {"id": null}, "$deleteFromPrimitiveList/finalizers": [FINALIZER]});
        assert_eq!(released["metadata"], gone);
    }
}
