//! A candidate that behaves as client-go's does, written from its rules alone: look; a record that did not change for
//! its own duration on our own clock is free, an empty holder is free at once; write with the resourceVersion.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::PostParams;

pub(crate) const IDENTITY: &str = "go-host_1f0c";

pub(crate) struct GoLike {
    pub(crate) leases: Api<Lease>,
    pub(crate) name: &'static str,
    pub(crate) lease_seconds: i32,
    seen: Option<(LeaseSpec, Instant)>,
}

impl GoLike {
    pub(crate) fn new(leases: Api<Lease>, name: &'static str, lease_seconds: i32) -> Self {
        Self { leases, name, lease_seconds, seen: None }
    }

    /// One try to acquire or renew; true if the Lease is ours now.
    pub(crate) async fn attempt(&mut self) -> anyhow::Result<bool> {
        let Some(mut lease) = self.leases.get_opt(self.name).await? else {
            let lease = Lease { metadata: named(self.name), spec: Some(self.record(None)) };
            return accepted(self.leases.create(&PostParams::default(), &lease).await);
        };
        let found = lease.spec.clone().unwrap_or_default();
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != found) {
            self.seen = Some((found.clone(), Instant::now()));
        }
        let holder = found.holder_identity.clone().unwrap_or_default();
        let observed_at = self.seen.as_ref().map_or_else(Instant::now, |(_, at)| *at);
        let duration =
            Duration::from_secs(found.lease_duration_seconds.unwrap_or_default().unsigned_abs().into());
        if !holder.is_empty() && holder != IDENTITY && observed_at + duration > Instant::now() {
            return Ok(false);
        }
        lease.spec = Some(self.record(Some(&found)));
        accepted(self.leases.replace(self.name, &PostParams::default(), &lease).await)
    }

    fn record(&self, found: Option<&LeaseSpec>) -> LeaseSpec {
        let now = Some(MicroTime(Timestamp::now()));
        let ours = found.filter(|found| found.holder_identity.as_deref() == Some(IDENTITY));
        let transitions = found.and_then(|found| found.lease_transitions).unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(IDENTITY.to_owned()),
            lease_duration_seconds: Some(self.lease_seconds),
            acquire_time: ours.and_then(|found| found.acquire_time.clone()).or_else(|| now.clone()),
            renew_time: now,
            lease_transitions: Some(match (found, ours) {
                (None, _) => 0,
                (Some(_), Some(_)) => transitions,
                (Some(_), None) => transitions + 1,
            }),
            ..LeaseSpec::default()
        }
    }
}

fn named(name: &str) -> kube::api::ObjectMeta {
    kube::api::ObjectMeta { name: Some(name.to_owned()), ..kube::api::ObjectMeta::default() }
}

/// A conflict is a lost race, not an error.
fn accepted(answer: kube::Result<Lease>) -> anyhow::Result<bool> {
    match answer {
        Ok(_written) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error.into()),
    }
}
