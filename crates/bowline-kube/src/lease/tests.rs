//! Tests of the election in virtual time, on an API server in memory that can be slow, lossy, or gone.

mod chaos;
mod election;
mod go_like;
mod note;
mod pause;
mod release;
mod server;

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Elector, Ended, Leadership, LeaseConfig, LeaseFence, LeaseMetrics};
use crate::clock::Clock;

const SECOND: Duration = Duration::from_secs(1);

/// The times of upstream: 15 s, 10 s, 2 s.
fn config(identity: &str) -> LeaseConfig {
    LeaseConfig {
        namespace: "kube-system".into(),
        name: "ccm".into(),
        identity: identity.into(),
        lease_duration: 15 * SECOND,
        renew_deadline: 10 * SECOND,
        retry_period: 2 * SECOND,
    }
}

fn elector(client: Client, identity: &str) -> Elector {
    elector_with(client, identity, LeaseMetrics::default(), 7)
}

fn elector_with(client: Client, identity: &str, metrics: LeaseMetrics, seed: u64) -> Elector {
    let clock = Clock::simulated("2026-11-02T08:00:00Z".parse::<Timestamp>().unwrap());
    Elector::new(client, config(identity), clock, metrics, seed).unwrap()
}

/// An elector that runs by itself.
struct Running {
    leadership: tokio::sync::watch::Receiver<Leadership>,
    fence: LeaseFence,
    health: super::ElectionHealth,
    cancel: CancellationToken,
    task: JoinHandle<(Elector, Ended)>,
}

impl Running {
    fn start(mut elector: Elector) -> Self {
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let (leadership, fence, health) = (elector.leadership(), elector.fence(), elector.health());
        let task = tokio::spawn(async move {
            let ended = elector.run(&stop).await;
            (elector, ended)
        });
        Self { leadership, fence, health, cancel, task }
    }

    /// Waits until the state is as wanted and says how long that took.
    async fn until(&mut self, wanted: impl FnMut(&Leadership) -> bool) -> Duration {
        let start = Instant::now();
        tokio::time::timeout(600 * SECOND, self.leadership.wait_for(wanted)).await.expect("in time").unwrap();
        start.elapsed()
    }

    async fn until_leading(&mut self) -> Duration {
        self.until(|now| matches!(now, Leadership::Leading { .. })).await
    }

    async fn stop(self) -> (Elector, Ended) {
        self.cancel.cancel();
        self.task.await.unwrap()
    }
}
