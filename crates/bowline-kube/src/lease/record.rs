//! The Lease as plain data. What the record does not name (labels, annotations) stays as it was found.

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};

/// Who holds a Lease, since when and for how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The holder; empty means free.
    pub holder: String,
    /// How long others must wait after the last change that they saw.
    pub lease_duration_seconds: i32,
    /// When the holder got it.
    pub acquire_time: Option<Timestamp>,
    /// When the holder last renewed it. For people: nobody's expiry depends on it.
    pub renew_time: Option<Timestamp>,
    /// How often it changed hands.
    pub transitions: i32,
    /// Only for coordinated election, which a CCM does not use; kept by a renewal, dropped by a new holder.
    pub strategy: Option<String>,
    /// As `strategy`.
    pub preferred_holder: Option<String>,
}

impl LeaseRecord {
    /// Reads a Lease; what is missing in it counts as empty.
    #[must_use]
    pub fn from_lease(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        Self {
            holder: spec.holder_identity.unwrap_or_default(),
            lease_duration_seconds: spec.lease_duration_seconds.unwrap_or_default(),
            acquire_time: spec.acquire_time.map(|time| time.0),
            renew_time: spec.renew_time.map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
            strategy: spec.strategy,
            preferred_holder: spec.preferred_holder,
        }
    }

    /// The Lease to write over `found`: its metadata (and so its resourceVersion, which guards the write) stays.
    #[must_use]
    pub fn over(&self, found: &Lease) -> Lease {
        Lease { metadata: found.metadata.clone(), spec: Some(self.spec()) }
    }

    /// A Lease that does not exist yet.
    #[must_use]
    pub fn new_lease(&self, namespace: &str, name: &str) -> Lease {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        };
        Lease { metadata, spec: Some(self.spec()) }
    }

    fn spec(&self) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.holder.clone()),
            lease_duration_seconds: Some(self.lease_duration_seconds),
            acquire_time: self.acquire_time.map(micro),
            renew_time: self.renew_time.map(micro),
            lease_transitions: Some(self.transitions),
            strategy: self.strategy.clone(),
            preferred_holder: self.preferred_holder.clone(),
        }
    }
}

fn micro(time: Timestamp) -> MicroTime {
    MicroTime(to_microseconds(time))
}

/// Times in a Lease count microseconds. Cut to them at once, or a record differs from itself once it was stored.
pub(super) fn to_microseconds(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lease_written_by_go_survives_the_round_trip() {
        let wire = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "ccm", "namespace": "kube-system", "resourceVersion": "7", "labels": {"team": "a"}},
            "spec": {
                "holderIdentity": "host_uuid", "leaseDurationSeconds": 15, "leaseTransitions": 3,
                "acquireTime": "2026-11-02T08:00:00.000001Z", "renewTime": "2026-11-02T08:00:02.100000Z",
            },
        });
        let lease: Lease = serde_json::from_value(wire.clone()).unwrap();
        let record = LeaseRecord::from_lease(&lease);
        assert_eq!((record.holder.as_str(), record.transitions), ("host_uuid", 3));
        assert_eq!(serde_json::to_value(record.over(&lease)).unwrap(), wire);
    }

    #[test]
    fn nanoseconds_are_cut_so_that_a_record_equals_what_is_stored() {
        let time = to_microseconds("2026-11-02T08:00:00.123456789Z".parse().unwrap());
        let record = LeaseRecord { renew_time: Some(time), ..LeaseRecord::default() };
        let wire = serde_json::to_string(&record.new_lease("ns", "n")).unwrap();
        assert!(wire.contains("2026-11-02T08:00:00.123456Z"), "{wire}");
        assert_eq!(LeaseRecord::from_lease(&serde_json::from_str(&wire).unwrap()), record);
    }

    #[test]
    fn a_lease_without_a_spec_is_free() {
        assert_eq!(LeaseRecord::from_lease(&Lease::default()), LeaseRecord::default());
    }
}
