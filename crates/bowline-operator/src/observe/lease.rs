//! A Lease, with for how long this process has seen it unchanged.

use std::time::Duration;

use bowline_kube::lease::LeaseRecord;
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

use super::Unchanged;
use crate::migration::LeaseFacts;

/// What is known of a Lease that was read at `now`.
pub fn lease_facts(lease: &Lease, watched: &mut Unchanged<LeaseRecord>, now: Instant) -> LeaseFacts {
    let spec = lease.spec.clone().unwrap_or_default();
    let namespace = lease.metadata.namespace.clone().unwrap_or_default();
    let name = lease.metadata.name.clone().unwrap_or_default();
    let (unchanged_for, seen_renewed) =
        watched.note(&format!("{namespace}/{name}"), LeaseRecord::from_lease(lease), now);
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    LeaseFacts {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        duration: Duration::from_secs(seconds.unwrap_or_default()),
        renewed_at: spec.renew_time.map(|time| time.0),
        unchanged_for,
        seen_renewed,
        namespace,
        name,
    }
}
