//! The way of the processes to the API server: faults, notes and judgement, as the server's interceptor.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sim_kube::{ApiError, Delivery, EventInfo, Interceptor, Reply, RequestInfo, Verdict, WatchInfo};

use crate::fault::{Kind, Place};
use crate::invariants::{Judge, is_of_leader};

/// How far into the past an old answer is, in versions.
const VERSIONS_BACK: u64 = 12;

/// How slow a slow answer is.
const SLOW: Duration = Duration::from_secs(7);

/// Sits in the API server.
pub struct KubeLink {
    judge: Arc<Judge>,
    /// What was decided before a request took effect, for after it.
    chosen: Mutex<BTreeMap<String, Kind>>,
}

impl KubeLink {
    /// In front of the world's API server.
    #[must_use]
    pub fn new(judge: Arc<Judge>) -> Self {
        Self { judge, chosen: Mutex::default() }
    }

    fn choose(&self, request: &RequestInfo, kind: Option<Kind>) {
        let mut chosen = self.chosen.lock();
        match kind {
            Some(kind) => chosen.insert(key(request), kind),
            None => chosen.remove(&key(request)),
        };
    }

    fn verdict(&self, request: &RequestInfo, process: &str, kind: Kind) -> Verdict {
        let error =
            |code, reason, text: &str| Verdict::Refuse(ApiError::custom(code, reason, text.to_owned()));
        match kind {
            Kind::CrashBefore => {
                self.judge.net.kill(process);
                Verdict::Break
            }
            Kind::LostRequest => Verdict::Break,
            Kind::Silence => Verdict::Hang,
            Kind::Forbidden => error(403, "Forbidden", "a fault"),
            Kind::Conflict => error(409, "Conflict", "the object has been modified"),
            Kind::TooMany => Verdict::Refuse(ApiError::too_many_requests(1)),
            Kind::ServerError => error(500, "InternalError", "a fault"),
            Kind::Slow => Verdict::Delay(SLOW),
            Kind::StaleRead if request.verb != "watch" => Verdict::AtVersion(
                self.judge.world.kube.resource_version().saturating_sub(VERSIONS_BACK).max(1),
            ),
            _ => Verdict::Pass,
        }
    }
}

/// Who asks, by its User-Agent.
fn process(agent: &str) -> &str {
    agent.split('/').next().unwrap_or_default()
}

/// A write that matters: elections, events and questions have rules of their own.
fn is_effect(request: &RequestInfo) -> bool {
    request.is_write()
        && !matches!(request.resource.as_str(), "leases" | "events")
        && !request.resource.ends_with("reviews")
}

/// Which request it is: others come between one that is slow and its end.
fn key(request: &RequestInfo) -> String {
    format!("{} {} {}", request.user_agent, step(request), request.name)
}

fn step(request: &RequestInfo) -> String {
    let slash = if request.subresource.is_empty() { "" } else { "/" };
    format!("{} {}{slash}{}", request.verb, request.resource, request.subresource)
}

impl Interceptor for KubeLink {
    fn before(&self, request: &RequestInfo) -> Verdict {
        let process = process(&request.user_agent);
        let net = &self.judge.net;
        self.choose(request, None);
        if !net.lives(process) || net.paused_until(process).is_some() {
            return Verdict::Break;
        }
        let is_effect = is_effect(request);
        let place = match (is_effect, request.is_write()) {
            (true, _) => Place::KubeEffect,
            (false, true) => Place::KubeChore,
            (false, false) => Place::KubeRead,
        };
        let kind = net.strike(place);
        self.choose(request, kind);
        let verdict = kind.map_or(Verdict::Pass, |kind| self.verdict(request, process, kind));
        let goes_on = matches!(verdict, Verdict::Pass | Verdict::AtVersion(_) | Verdict::Delay(_));
        if !goes_on {
            let said = kind.map_or("", Kind::text);
            let what = format!("{} {}", step(request), request.name);
            net.write(process, what, format!("[{said}]"), true);
            if is_effect {
                net.effect(process, &step(request), false, kind);
            }
        } else if is_effect {
            self.judge.before_kube(process, request);
        }
        verdict
    }

    fn after(&self, request: &RequestInfo, code: u16) -> Reply {
        let process = process(&request.user_agent);
        let kind = self.chosen.lock().remove(&key(request));
        let net = &self.judge.net;
        let done = (200..300).contains(&code);
        let what = format!("{} {}", step(request), request.name);
        let said = kind.map_or_else(|| code.to_string(), |kind| format!("{code} [{kind}]"));
        let is_effect = is_effect(request);
        net.write(process, what, said, is_effect || kind.is_some());
        if is_effect {
            net.effect(process, &step(request), done, kind);
        }
        if done && request.is_write() {
            self.judge.after_kube(process, request);
        }
        let is_told = !matches!(kind, Some(Kind::CrashAfter | Kind::LostReply | Kind::SilenceAfter));
        if done && is_told && is_of_leader(request) {
            self.judge.world.note_lease_seen(process);
        }
        match kind {
            Some(Kind::CrashAfter) => {
                net.kill(process);
                Reply::Lose
            }
            Some(Kind::LostReply) => Reply::Lose,
            Some(Kind::SilenceAfter) => Reply::Hang,
            _ => Reply::Deliver,
        }
    }

    fn event(&self, watch: &WatchInfo, event: &EventInfo) -> Delivery {
        let process = process(&watch.user_agent);
        let net = &self.judge.net;
        if !net.lives(process) || net.paused_until(process).is_some() {
            return Delivery::Break;
        }
        if event.name.is_empty() || watch.resource == "leases" {
            return Delivery::Deliver;
        }
        let place = Place::KubeWatch;
        let Some(kind) = net.strike(place) else { return Delivery::Deliver };
        net.write(process, format!("watch {} {}", watch.resource, event.name), format!("[{kind}]"), true);
        match kind {
            Kind::WatchGone => {
                self.judge.world.kube.compact();
                Delivery::Break
            }
            // Held until the next change of anything, or until somebody looks again.
            Kind::WatchHeld => Delivery::Hold,
            _ => Delivery::Break,
        }
    }
}
