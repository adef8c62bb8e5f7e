//! How kube-controller-manager leads: by the Lease `kube-controller-manager`, which it never gives back. Whoever leads next waits until
//! it has not moved for its whole duration.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use tokio::time::{Instant, sleep};

const NAME: &str = "kube-controller-manager";
/// A fifth of what they are by default.
const DURATION: Duration = Duration::from_secs(3);
const RENEW_DEADLINE: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(400);

/// One that wants to lead.
pub(super) struct Election {
    leases: Api<Lease>,
    identity: String,
    /// The record of somebody else, and since when it has not moved.
    seen: Option<(LeaseSpec, Instant)>,
}

impl Election {
    pub(super) fn new(leases: Api<Lease>, identity: String) -> Self {
        Self { leases, identity, seen: None }
    }

    /// Waits until it leads.
    pub(super) async fn won(&mut self) {
        while !self.holds().await.unwrap_or(false) {
            sleep(RETRY).await;
        }
    }

    /// Leads for as long as it can.
    pub(super) async fn lost(&mut self) {
        let mut renewed = Instant::now();
        while renewed.elapsed() < RENEW_DEADLINE {
            sleep(RETRY).await;
            match self.holds().await {
                Ok(true) => renewed = Instant::now(),
                Ok(false) => return,
                Err(_) => {}
            }
        }
    }

    /// Takes or renews it; whether it is held then.
    async fn holds(&mut self) -> anyhow::Result<bool> {
        let Some(mut lease) = self.leases.get_opt(NAME).await? else {
            let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.record(0)) };
            return written(self.leases.create(&PostParams::default(), &lease).await);
        };
        let found = lease.spec.clone().unwrap_or_default();
        let transitions = found.lease_transitions.unwrap_or_default();
        let is_own = found.holder_identity.as_ref() == Some(&self.identity);
        if !is_own && !self.is_over(found) {
            return Ok(false);
        }
        lease.spec = Some(self.record(transitions + i32::from(!is_own)));
        written(self.leases.replace(NAME, &PostParams::default(), &lease).await)
    }

    /// Whether it has not moved for its whole duration, as this one has watched it.
    fn is_over(&mut self, found: LeaseSpec) -> bool {
        match &self.seen {
            Some((record, since)) if *record == found => since.elapsed() > DURATION,
            _ => {
                self.seen = Some((found, Instant::now()));
                false
            }
        }
    }

    fn record(&self, transitions: i32) -> LeaseSpec {
        let now = Some(MicroTime(Timestamp::now()));
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            acquire_time: now.clone(),
            renew_time: now,
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }
}

/// Whether it was this one who wrote, and nobody else in between.
fn written(outcome: Result<Lease, kube::Error>) -> anyhow::Result<bool> {
    match outcome {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error.into()),
    }
}
