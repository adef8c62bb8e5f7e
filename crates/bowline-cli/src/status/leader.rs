//! Who leads, by the Lease: whether somebody works at all, and whether a person paused everything.

use bowline_cloud::{PAUSED, pause_said};
use bowline_kube::lease::LeaseRecord;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use serde::Serialize;

use crate::ending::Ending;
use crate::session::Session;

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
}

/// Reads the Lease.
///
/// # Errors
///
/// [`Ending`] if it cannot be read.
pub async fn read(session: &Session) -> Result<Leader, Ending> {
    let (namespace, name) = (&session.access.manager_namespace, &session.access.lease);
    let lease = session.cluster.lease(namespace, name).await?;
    Ok(judge(&format!("{namespace}/{name}"), lease.as_ref(), session.now))
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
        problem,
        ..bare
    }
}

impl Leader {
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
            (None, None) => "nobody works".to_owned(),
        };
        format!("{said}{paused}")
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
}
