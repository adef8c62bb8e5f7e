//! Bad luck from a seed: one thing after the other goes wrong, and each time it is told how long it took until all was as wanted
//! again. Which things is decided in [`deed`]; here they are done.

mod deed;
mod well;

use std::time::Duration;

use anyhow::ensure;
use http::{Method, StatusCode};
use serde_json::json;
use sim_openstack::{Fault, Rule};
use tokio::time::sleep;

use self::deed::{Deed, Deeds, Meanwhile};
use self::well::trouble;
use crate::stage::Stage;
use crate::terminal::Tone;

/// What the manager is told beside: it notices sooner what is done behind its back, and the rails that count deaths and births over
/// minutes and hours let a playground go on. Whoever takes over from a manager that crashed waits for its Lease: not for minutes.
pub(crate) const FLAGS: [&str; 7] = [
    "--leader-elect-lease-duration=25s",
    "--leader-elect-renew-deadline=20s",
    "--load-balancer-repair-period=3s",
    "--node-monitor-period=1s",
    "--node-deletion-window=5s",
    "--create-limit=100",
    "--second-look-delay=1s",
];

/// How many things go wrong if it shall end by itself.
const ROUNDS_ONCE: usize = 8;

/// How long an outage takes.
const OUTAGE: Duration = Duration::from_secs(3);

/// The pause before the next. Octavia tells times of change in seconds: what is done within the same second as the last
/// repair would leave no trace.
const REST: Duration = Duration::from_secs(2);

/// Nothing may take longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// So many Services of ours there are at most.
const SERVICES_MAX: usize = 4;

/// Lets things go wrong, for ever or as often as `once` allows.
pub(crate) async fn play(stage: &mut Stage, seed: u64, once: bool) -> anyhow::Result<()> {
    stage.tell(&format!("chaos with seed {seed}: the same seed gives the same faults in the same order"));
    let mut deeds = Deeds::new(seed);
    let mut state = State { servers: stage.news.now().nodes, services: Vec::new(), made: 0 };
    let mut round = 0;
    while !once || round < ROUNDS_ONCE {
        sleep(REST).await;
        round += 1;
        let (deed, meanwhile) = deeds.next_two();
        state.round(stage, round, deed, meanwhile).await?;
    }
    Ok(())
}

/// What the rounds so far have made.
struct State {
    servers: usize,
    services: Vec<String>,
    made: usize,
}

impl State {
    async fn round(
        &mut self,
        stage: &mut Stage,
        round: usize,
        deed: Deed,
        meanwhile: Meanwhile,
    ) -> anyhow::Result<()> {
        let before = stage.cloud.asked();
        stage.terminal().tell(Tone::Stage, "chaos", &format!("{round}: {deed}"));
        self.perform(stage, deed).await?;
        self.person(stage, meanwhile)?;
        let what = format!("all is well after: {deed}");
        let status = async {
            loop {
                stage.terminal().status(&stage.standing());
                sleep(Duration::from_millis(150)).await;
            }
        };
        let mut why = None;
        let healed = {
            let healed = stage.until_within(PATIENCE, &what, || {
                why = trouble(stage);
                why.is_none()
            });
            tokio::select! {
                healed = healed => healed,
                () = status => Ok(Duration::ZERO),
            }
        };
        stage.cloud.mend();
        ensure!(healed.is_ok(), "{what}: not within {} s: {}", PATIENCE.as_secs(), why.unwrap_or_default());
        let (asked, took) = (stage.cloud.asked(), healed.unwrap_or_default());
        let text = format!(
            "{round}: all is as wanted again after {:.1} s; it took {} cloud calls, {} of them changes",
            took.as_secs_f64(),
            asked.reads + asked.writes - before.reads - before.writes,
            asked.writes - before.writes
        );
        stage.terminal().tell(Tone::Good, "chaos", &text);
        Ok(())
    }

    async fn perform(&mut self, stage: &mut Stage, deed: Deed) -> anyhow::Result<()> {
        let now = stage.cloud.service.now();
        let until = now.checked_add(OUTAGE).unwrap_or(now);
        let outage = |fault: Fault| Rule::new(fault).between(now, until);
        let balancer =
            stage.cloud.balancers().first().map(|balancer| balancer.id.clone()).unwrap_or_default();
        match deed {
            Deed::BrownOut(service) => {
                stage.cloud.fail(
                    outage(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(service).method(Method::GET),
                );
            }
            Deed::Throttle(service) => stage.cloud.fail(outage(Fault::too_many_requests(1)).on(service)),
            Deed::LostReplies(service) => {
                let lost = Rule::new(Fault::DisconnectAfter).on(service).method(Method::POST);
                stage.cloud.fail(lost.times(2));
            }
            Deed::TokensRevoked => stage.cloud.revoke_tokens(),
            Deed::BalancerError => stage.cloud.break_balancer(&balancer),
            Deed::BalancerDeleted => stage.cloud.delete_balancer(&balancer),
            Deed::ListenerDeleted => stage.cloud.delete_listener(&balancer),
            Deed::MemberDeleted => stage.cloud.delete_member(&balancer),
            Deed::WatchesBroken => stage.cluster.kube.break_watches(),
            Deed::WatchesExpired => stage.cluster.kube.expire_watches(),
            Deed::ApiServerOverloaded => stage.cluster.gate.stick(OUTAGE),
            Deed::ManagerRestarted => stage.restart_manager().await?,
            Deed::ManagerCrashed => stage.crash_manager().await?,
            Deed::ServerReplaced => {
                if let Some(machine) = stage.cloud.machines("").first() {
                    stage.cloud.delete_server(&machine.name);
                }
                self.servers += 1;
                stage.cloud.add_server(&format!("node-{}", self.servers), "");
            }
        }
        Ok(())
    }

    /// What a person does at the same time.
    fn person(&mut self, stage: &Stage, meanwhile: Meanwhile) -> anyhow::Result<()> {
        match meanwhile {
            Meanwhile::Creates if self.services.len() < SERVICES_MAX => {
                self.made += 1;
                let name = format!("chaos-{}", self.made);
                stage.terminal().tell(
                    Tone::Stage,
                    "chaos",
                    &format!("meanwhile somebody creates the Service {name}"),
                );
                stage.cluster.create_service(&name, &json!({}))?;
                self.services.push(name);
            }
            Meanwhile::Creates | Meanwhile::Deletes if !self.services.is_empty() => {
                let name = self.services.remove(0);
                stage.terminal().tell(
                    Tone::Stage,
                    "chaos",
                    &format!("meanwhile somebody deletes the Service {name}"),
                );
                stage.cluster.services().delete(&name)?;
            }
            _ => {}
        }
        Ok(())
    }
}
