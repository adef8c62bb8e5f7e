//! Incidents with the limits of the cloud: many people want something at once, and the cloud says that it is too much.

use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde_json::json;
use sim_openstack::{Fault, LogEntry, Rule, Service};

use crate::manager::AGENT;
use crate::stage::Stage;

/// So many Services come at once.
const CROWD: usize = 20;

/// So long Octavia asks to be left alone.
const ASKED: Duration = Duration::from_secs(3);

/// Calls that were on their way when Octavia asked for it have arrived after this.
const ARRIVED: Duration = Duration::from_millis(1_500);

/// The budget of calls to each service, as the scenario's flags have it.
const CALLS_A_SECOND: usize = 10;
const CALLS_AT_ONCE: usize = 20;

/// Calls that were on their way before.
const ON_THE_WAY: usize = 2;

pub(super) async fn crowd(stage: &mut Stage) -> anyhow::Result<String> {
    stage.news.quiet(true);
    let began = stage.cloud.service.now();
    let refusal = Rule::new(Fault::too_many_requests(ASKED.as_secs())).on(Service::LoadBalancer);
    stage.cloud.fail(refusal.times(1));
    for number in 1..=CROWD {
        stage.cluster.create_service(&format!("shop-{number}"), &json!({}))?;
    }
    // The one that was there before, too.
    let all = CROWD + 1;
    let took = stage.until("all Services have their address", || stage.news.now().addressed == all).await?;
    let octavia = calls(stage, Service::LoadBalancer, began);
    let refused = octavia.iter().find(|call| call.status == 429).context("Octavia never said 429")?.at;
    let resumed = refused + ASKED;
    let too_soon = |call: &&LogEntry| (refused + ARRIVED..resumed).contains(&call.at);
    let too_soon = octavia.iter().filter(too_soon).count();
    ensure!(too_soon == 0, "{too_soon} calls came while Octavia had asked to be left alone");
    for service in [Service::LoadBalancer, Service::Network] {
        let times: Vec<Timestamp> = calls(stage, service, resumed).into_iter().map(|call| call.at).collect();
        ensure!(times.len() > CALLS_AT_ONCE, "{} calls to {service:?} are no crowd", times.len());
        ensure!(is_within_budget(resumed, &times), "more calls to {service:?} than the budget has");
    }
    let one_each = || stage.cloud.balancers().len() == all && stage.cloud.floating_ips().len() == all;
    ensure!(one_each(), "there is not one load balancer and one address for each Service");
    Ok(format!(
        "left Octavia alone for the {} s that it asked for, stayed within {CALLS_A_SECOND} calls a second \
         ({CALLS_AT_ONCE} at once), and all {CROWD} had their address after {:.1} s",
        ASKED.as_secs(),
        took.as_secs_f64()
    ))
}

/// The manager's calls to a service since then, oldest first.
fn calls(stage: &Stage, service: Service, began: Timestamp) -> Vec<LogEntry> {
    stage.cloud.service.with(|cloud| {
        let entries = cloud.log().entries();
        let ours =
            entries.filter(|call| call.agent == AGENT && call.service == Some(service) && call.at >= began);
        ours.cloned().collect()
    })
}

/// Whether there were never more calls than the budget had given out by then. A call that arrives late does not matter to that.
fn is_within_budget(began: Timestamp, times: &[Timestamp]) -> bool {
    let given_out = |at: Timestamp| {
        let millis = usize::try_from(at.duration_since(began).as_millis()).unwrap_or_default();
        CALLS_AT_ONCE + ON_THE_WAY + CALLS_A_SECOND * millis / 1_000
    };
    times.iter().zip(1..).all(|(at, made)| made <= given_out(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_so_many_a_second_are_within_the_budget_and_one_more_burst_is_not() {
        let began = Timestamp::UNIX_EPOCH;
        let at = |millis: u64| began + Duration::from_millis(millis);
        let burst = vec![began; 20];
        let steady: Vec<Timestamp> = (1..=50).map(|tick| at(tick * 100)).collect();
        assert!(is_within_budget(began, &[burst.clone(), steady].concat()));
        assert!(!is_within_budget(began, &[burst.clone(), burst].concat()));
    }
}
