//! A candidate that follows client-go's steps literally, written apart from the elector, to share a Lease with it.

use std::sync::Arc;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, api::PostParams};
use parking_lot::Mutex;
use rand::{RngExt, rngs::StdRng};
use tokio::time::timeout;

use super::*;

pub(super) struct GoLike {
    api: Api<Lease>,
    identity: String,
    clock: Clock,
    object: Option<Lease>,
    observed: Option<(LeaseSpec, Instant)>,
    /// Until when others must leave its lease alone: start of the last good write plus the lease.
    pub(super) protected_until: Arc<Mutex<Option<Instant>>>,
}

impl GoLike {
    pub(super) fn new(client: Client, identity: &str) -> Self {
        Self {
            api: Api::namespaced(client, "kube-system"),
            identity: identity.to_owned(),
            clock: Clock::simulated("2026-11-02T07:00:00Z".parse().unwrap()),
            object: None,
            observed: None,
            protected_until: Arc::default(),
        }
    }

    /// Acquires, renews, and returns when it has to stop leading.
    pub(super) async fn run(&mut self, rng: &mut StdRng) {
        while !self.try_acquire_or_renew().await {
            tokio::time::sleep((2 * SECOND).mul_f64(1.0 + rng.random_range(0.0..1.2))).await;
        }
        loop {
            let renewal = async {
                while !self.try_acquire_or_renew().await {
                    tokio::time::sleep(2 * SECOND).await;
                }
            };
            if timeout(10 * SECOND, renewal).await.is_err() {
                return;
            }
            tokio::time::sleep(2 * SECOND).await;
        }
    }

    fn is_leader(&self) -> bool {
        self.observed
            .as_ref()
            .is_some_and(|(spec, _)| spec.holder_identity.as_deref() == Some(&self.identity))
    }

    fn is_valid(&self) -> bool {
        self.observed.as_ref().is_some_and(|(spec, at)| {
            let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap();
            *at + Duration::from_secs(seconds) > Instant::now()
        })
    }

    async fn try_acquire_or_renew(&mut self) -> bool {
        let now = MicroTime(self.clock.now());
        let mut spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(15),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(0),
            ..LeaseSpec::default()
        };
        if self.is_leader() && self.is_valid() {
            let old = self.observed.clone().unwrap().0;
            let fast = LeaseSpec {
                acquire_time: old.acquire_time,
                lease_transitions: old.lease_transitions,
                ..spec.clone()
            };
            if self.write(fast, false).await {
                return true;
            }
        }
        let found = match timeout(5 * SECOND, self.api.get_opt("ccm")).await {
            Ok(Ok(Some(found))) => found,
            Ok(Ok(None)) => return self.write(spec, true).await,
            _ => return false,
        };
        let old = found.spec.clone().unwrap_or_default();
        if self.observed.as_ref().is_none_or(|(seen, _)| *seen != old) {
            self.observed = Some((old.clone(), Instant::now()));
        }
        self.object = Some(found);
        let held = old.holder_identity.as_deref().is_some_and(|holder| !holder.is_empty());
        if held && self.is_valid() && !self.is_leader() {
            return false;
        }
        if self.is_leader() {
            (spec.acquire_time, spec.lease_transitions) = (old.acquire_time, old.lease_transitions);
        } else {
            spec.lease_transitions = Some(old.lease_transitions.unwrap_or(0) + 1);
        }
        self.write(spec, false).await
    }

    async fn write(&mut self, spec: LeaseSpec, new: bool) -> bool {
        let start = Instant::now();
        let metadata = match &self.object {
            Some(object) if !new => object.metadata.clone(),
            _ => ObjectMeta { name: Some("ccm".into()), ..ObjectMeta::default() },
        };
        let lease = Lease { metadata, spec: Some(spec.clone()) };
        let params = PostParams::default();
        let answer = if new {
            timeout(5 * SECOND, self.api.create(&params, &lease)).await
        } else {
            timeout(5 * SECOND, self.api.replace("ccm", &params, &lease)).await
        };
        let Ok(Ok(stored)) = answer else { return false };
        self.object = Some(stored);
        self.observed = Some((spec, Instant::now()));
        *self.protected_until.lock() = Some(start + 15 * SECOND);
        true
    }
}
