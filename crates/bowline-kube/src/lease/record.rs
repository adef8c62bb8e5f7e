//! The spec of a Lease as plain data. Fields that the record does not contain (labels, annotations) stay unchanged.

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};

/// The holder of a Lease, since when and for how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The identity of the holder; empty if the Lease is free.
    pub holder: String,
    /// How long other candidates must wait after the last change that they observed.
    pub lease_duration_seconds: i32,
    /// When the holder acquired it.
    pub acquire_time: Option<Timestamp>,
    /// When the holder last renewed it. Informational: the expiry does not depend on it.
    pub renew_time: Option<Timestamp>,
    /// How often the holder changed.
    pub transitions: i32,
    /// Only for coordinated leader election, which a CCM does not use. A renewal keeps it, a new holder drops it.
    pub strategy: Option<String>,
    /// Same as `strategy`.
    pub preferred_holder: Option<String>,
}

impl LeaseRecord {
    /// Reads a Lease; missing fields become empty.
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

    /// The Lease to write in place of `found`: keeps its metadata, and so its resourceVersion, which guards the write.
    #[must_use]
    pub fn over(&self, found: &Lease) -> Lease {
        Lease { metadata: found.metadata.clone(), spec: Some(self.spec()) }
    }

    /// A new Lease, to be created.
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

/// Times in a Lease have microsecond precision. They are truncated at once; otherwise a record would differ from itself after it was
/// stored.
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
