//! Who leads, by the Lease: whether somebody works at all, and whether a person paused everything.

use bowline_cloud::{PAUSED, pause_said};
use bowline_kube::lease::LeaseRecord;
use bowline_manager::serving::certs::LEASE_ANNOTATION;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use serde::Serialize;

use crate::ending::Ending;
use crate::session::Session;
use crate::session::cluster::last_seen;

/// The event by which a manager tells that the cloud does not know it any more.
const IDENTITY_LOST: &str = "CloudIdentityLost";

/// That one, and the one that ends it.
const IDENTITY: [&str; 2] = [IDENTITY_LOST, "CloudIdentityFound"];

/// Who leads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leader {
    /// The Lease, as `namespace/name`.
    pub lease: String,
    /// Who holds it.
    pub holder: Option<String>,
    /// So many seconds ago it was renewed.
    pub renewed_seconds_ago: Option<i64>,
    /// How often it changed hands.
    pub transitions: Option<i32>,
    /// Why a person paused everything.
    pub paused: Option<String>,
    /// Why nobody works, if nobody does.
    pub problem: Option<String>,
    /// Why the cloud does not know the one who leads, if it does not: nothing is changed meanwhile.
    pub identity_lost: Option<String>,
    /// The fingerprint of its serving certificate, in lower-case hexadecimal digits.
    #[serde(skip)]
    pub certificate: Option<String>,
}

/// Reads the Lease, and what was told of it.
///
/// # Errors
///
/// [`Ending`] if it cannot be read.
pub async fn read(session: &Session) -> Result<Leader, Ending> {
    let (namespace, name) = (&session.access.manager_namespace, &session.access.lease);
    let lease = session.cluster.lease(namespace, name).await?;
    let leader = judge(&format!("{namespace}/{name}"), lease.as_ref(), session.now);
    // Who may not read events hears of it by what fails.
    let events = session.cluster.events(namespace, "Lease", name).await.unwrap_or_default();
    Ok(told(leader, lease.as_ref(), &events))
}

/// The same for those who may not read it: what they cannot know is a note.
pub async fn read_if_allowed(session: &Session, notes: &mut Vec<String>) -> Leader {
    let (namespace, name) = (&session.access.manager_namespace, &session.access.lease);
    read(session).await.unwrap_or_else(|ending| {
        notes.push(format!("the leader is not known: {ending}"));
        Leader { lease: format!("{namespace}/{name}"), ..Leader::default() }
    })
}

/// With what was told of the one who leads, the last at the end. What is older was told of another. Pure.
fn told(leader: Leader, lease: Option<&Lease>, events: &[Event]) -> Leader {
    let since = lease.and_then(|lease| LeaseRecord::from_lease(lease).acquire_time);
    // An event may know no parts of seconds.
    let since = since.and_then(|since| since.checked_sub(SignedDuration::from_secs(1)).ok());
    let is_of_identity = |event: &&Event| event.reason.as_deref().is_some_and(|one| IDENTITY.contains(&one));
    let last = events.iter().rev().find(is_of_identity).filter(|event| last_seen(event) >= since);
    let lost = last.filter(|event| event.reason.as_deref() == Some(IDENTITY_LOST));
    Leader { identity_lost: lost.map(|event| event.message.clone().unwrap_or_default()), ..leader }
}

/// What a Lease says. Pure.
#[must_use]
pub fn judge(name: &str, lease: Option<&Lease>, now: Timestamp) -> Leader {
    let bare = Leader { lease: name.to_owned(), ..Leader::default() };
    let Some(lease) = lease else {
        let problem = Some(format!("there is no Lease {name}: no manager ever led"));
        return Leader { problem, ..bare };
    };
    let annotations = lease.metadata.annotations.as_ref();
    let said = annotations.and_then(|annotations| annotations.get(PAUSED)).map(String::as_str);
    let record = LeaseRecord::from_lease(lease);
    let ago = record.renew_time.map(|at| now.duration_since(at).as_secs());
    let problem = match (record.holder.as_str(), ago) {
        ("", _) => Some(format!("nobody holds Lease {name}")),
        (holder, None) => Some(format!("Lease {name} of {holder} was never renewed")),
        (holder, Some(ago)) if ago > i64::from(record.lease_duration_seconds) => Some(format!(
            "Lease {name} of {holder} was renewed {ago} seconds ago, and holds for {} seconds only",
            record.lease_duration_seconds
        )),
        _ => None,
    };
    Leader {
        holder: Some(record.holder).filter(|holder| !holder.is_empty()),
        renewed_seconds_ago: ago,
        transitions: Some(record.transitions),
        paused: pause_said(said).map(ToOwned::to_owned),
        certificate: annotations.and_then(|annotations| annotations.get(LEASE_ANNOTATION)).cloned(),
        problem,
        ..bare
    }
}

impl Leader {
    /// Whether the Lease could be read: it has a holder, or there is a problem with it.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.holder.is_some() || self.problem.is_some()
    }

    /// It in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let paused = self.paused.as_deref().map(|why| format!("; paused: {why}")).unwrap_or_default();
        let said = match (&self.problem, &self.holder) {
            (Some(why), _) => format!("nobody works: {why}"),
            (None, Some(holder)) => {
                format!(
                    "{holder} leads, renewed {} seconds ago",
                    self.renewed_seconds_ago.unwrap_or_default()
                )
            }
            (None, None) => "not known".to_owned(),
        };
        let lost = self.identity_lost.as_deref().map(|why| format!("; the cloud does not know it: {why}"));
        format!("{said}{paused}{}", lost.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(spec: &serde_json::Value, annotations: &serde_json::Value) -> Leader {
        let lease: Lease =
            serde_json::from_value(json!({"metadata": {"annotations": annotations}, "spec": spec})).unwrap();
        judge("kube-system/ccm", Some(&lease), "2026-11-16T10:00:30Z".parse().unwrap())
    }

    #[test]
    fn a_lease_that_is_renewed_has_a_leader_and_every_other_says_why_not() {
        let spec = |renewed: &str| json!({"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": renewed, "leaseTransitions": 2});
        let held = judged(&spec("2026-11-16T10:00:25.000000Z"), &json!({}));
        assert_eq!((held.holder.as_deref(), held.problem.as_deref()), (Some("a_1"), None));
        assert!(held.words().contains("a_1 leads, renewed 5 seconds ago"), "{}", held.words());
        let old = judged(&spec("2026-11-16T10:00:00.000000Z"), &json!({}));
        assert!(old.problem.unwrap().contains("30 seconds ago"));
        assert!(judged(&json!({"holderIdentity": ""}), &json!({})).problem.unwrap().contains("nobody holds"));
        assert!(judge("ns/x", None, Timestamp::UNIX_EPOCH).problem.unwrap().contains("no Lease ns/x"));
    }

    #[test]
    fn a_pause_is_told_with_its_reason() {
        let spec = json!({"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": "2026-11-16T10:00:25.000000Z"});
        let paused = judged(&spec, &json!({"bowline.dev/paused": "rack 7 moves"}));
        assert!(paused.words().ends_with("; paused: rack 7 moves"), "{}", paused.words());
        assert_eq!(judged(&spec, &json!({"bowline.dev/paused": "false"})).paused, None);
    }

    #[test]
    fn that_the_cloud_lost_the_leader_is_told_until_it_knows_it_again_or_another_one_leads() {
        let lease: Lease =
            serde_json::from_value(json!({"spec": {"acquireTime": "2026-11-16T10:00:00.500000Z"}})).unwrap();
        let event = |reason: &str, at: &str| -> Event {
            serde_json::from_value(json!({
                "metadata": {}, "involvedObject": {}, "reason": reason, "message": "401", "lastTimestamp": at,
            }))
            .unwrap()
        };
        let lost = |events: &[Event]| told(Leader::default(), Some(&lease), events).identity_lost;
        let loss = || event("CloudIdentityLost", "2026-11-16T10:00:00Z");
        assert_eq!(lost(&[]), None);
        assert_eq!(lost(&[loss()]).as_deref(), Some("401"));
        assert_eq!(lost(&[loss(), event("CloudIdentityFound", "2026-11-16T10:01:00Z")]), None);
        assert_eq!(lost(&[event("CloudIdentityLost", "2026-11-16T09:59:00Z")]), None, "of another leader");
    }
}
