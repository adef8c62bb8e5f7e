//! The way of a process to the cloud: each call can be struck by a fault, is written down, and is judged by the invariants.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use sim_openstack::{Fault, Outcome, ReplyLost, Rule};
use tokio::time::{sleep, sleep_until};

use crate::fault::{Kind, Place};
use crate::invariants::Judge;
use crate::museum::{self, Workshop};

/// How long a reply that never comes is waited for.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// How slow a slow answer is.
const SLOW: Duration = Duration::from_secs(7);

/// One process's way to the cloud.
#[derive(Clone)]
pub struct CloudLink {
    judge: Arc<Judge>,
    process: String,
    pub(crate) workshop: Workshop,
}

impl CloudLink {
    /// The way of this process.
    #[must_use]
    pub fn new(judge: Arc<Judge>, process: &str, workshop: Workshop) -> Self {
        Self { judge, process: process.to_owned(), workshop }
    }

    /// Sends a call, as it is.
    pub(crate) async fn deliver(self, request: Request<Bytes>) -> Result<Response<Full<Bytes>>, ReplyLost> {
        let net = &self.judge.net;
        if let Some(until) = net.paused_until(&self.process) {
            sleep_until(until).await;
            return Err(ReplyLost);
        }
        if !net.lives(&self.process) {
            return Err(ReplyLost);
        }
        let step = step(&request);
        let is_effect = is_effect(&request);
        let place = if is_effect { Place::CloudEffect } else { Place::CloudRead };
        let kind = net.strike(place);
        let under_way = is_effect.then(|| self.judge.begin(&self.process, &request)).flatten();
        if kind == Some(Kind::CrashBefore) {
            self.record(&step, is_effect, "not sent", kind, false);
            net.kill(&self.process);
            return Err(ReplyLost);
        }
        self.judge.call(&self.process, &request);
        let members = self.judge.members_written_as_they_are(&request);
        let outcome = self.ask(request, kind);
        let (said, done) = told(&outcome, kind);
        if done {
            self.judge.members_differ(&step, members);
        }
        self.record(&step, is_effect, &said, kind, is_effect && done);
        if is_effect {
            self.judge.after_cloud(&step);
        }
        if kind == Some(Kind::CrashAfter) {
            net.kill(&self.process);
            return Err(ReplyLost);
        }
        let answer = self.arrive(outcome).await;
        drop(under_way);
        answer
    }

    fn record(&self, step: &str, is_effect: bool, said: &str, kind: Option<Kind>, done: bool) {
        let outcome = kind.map_or_else(|| said.to_owned(), |kind| format!("{said} [{kind}]"));
        self.judge.net.write(&self.process, step.to_owned(), outcome, is_effect || kind.is_some());
        if is_effect {
            self.judge.net.effect(&self.process, step, done, kind);
        }
    }

    fn ask(&self, request: Request<Bytes>, kind: Option<Kind>) -> Outcome {
        let cloud = &self.judge.world.cloud;
        let now = cloud.now();
        cloud.with(|cloud| {
            let old = self.judge.world.setting.old;
            let rule = kind
                .and_then(|kind| fault(kind, old))
                .map(|fault| cloud.faults().add(Rule::new(fault).times(1)));
            let outcome = cloud.handle(request, now);
            if let Some(rule) = rule {
                cloud.faults().remove(rule);
            }
            outcome
        })
    }

    async fn arrive(&self, outcome: Outcome) -> Result<Response<Full<Bytes>>, ReplyLost> {
        let answer = match outcome {
            Outcome::Reply(answer) => answer,
            Outcome::Slow(wait, answer) => {
                sleep(wait).await;
                answer
            }
            Outcome::Silence => {
                sleep(FOR_EVER).await;
                return Err(ReplyLost);
            }
            Outcome::Disconnect => return Err(ReplyLost),
        };
        if let Some(token) = answer.headers().get("x-subject-token").and_then(|token| token.to_str().ok()) {
            self.judge.net.secret(token);
        }
        if self.judge.net.lives(&self.process) { Ok(answer.map(Full::new)) } else { Err(ReplyLost) }
    }
}

fn told(outcome: &Outcome, kind: Option<Kind>) -> (String, bool) {
    match outcome {
        Outcome::Reply(answer) | Outcome::Slow(_, answer) => {
            (answer.status().as_u16().to_string(), answer.status().is_success())
        }
        Outcome::Silence => ("no answer".to_owned(), kind == Some(Kind::SilenceAfter)),
        Outcome::Disconnect => ("cut off".to_owned(), kind == Some(Kind::LostReply)),
    }
}

fn fault(kind: Kind, old: Duration) -> Option<Fault> {
    Some(match kind {
        Kind::LostRequest => Fault::DisconnectBefore,
        Kind::LostReply => Fault::DisconnectAfter,
        Kind::Silence => Fault::SilenceBefore,
        Kind::SilenceAfter => Fault::SilenceAfter,
        Kind::Unauthorized => Fault::unauthorized(),
        Kind::Forbidden => Fault::forbidden(),
        Kind::NotFoundLie => Fault::not_found_lie(),
        Kind::Conflict => Fault::conflict(),
        Kind::TooMany => Fault::too_many_requests(3),
        Kind::ServerError => Fault::status(StatusCode::INTERNAL_SERVER_ERROR),
        Kind::BadGateway => Fault::html(StatusCode::BAD_GATEWAY),
        Kind::Slow => Fault::Slow(SLOW),
        Kind::TruncatedList => Fault::TruncateList { keep: 1 },
        Kind::StaleCloud => Fault::Stale(old),
        Kind::CutBody => Fault::CutBody { bytes: 25 },
        Kind::BalancerError => Fault::LoadBalancerError,
        Kind::BalancerStuck => Fault::LoadBalancerStuck,
        Kind::TokensExpire => Fault::ExpireTokens,
        Kind::CrashBefore
        | Kind::CrashAfter
        | Kind::WatchBroken
        | Kind::WatchGone
        | Kind::WatchHeld
        | Kind::StaleRead => return None,
    })
}

/// Whether a call changes the cloud. To log in changes nothing that anybody has.
fn is_effect(request: &Request<Bytes>) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD) && !request.uri().path().starts_with("/identity")
}

/// A call by its kind: without identifiers.
fn step(request: &Request<Bytes>) -> String {
    let is_id = |part: &str| {
        part.len() >= 32 && part.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-')
    };
    let path: Vec<&str> =
        request.uri().path().split('/').map(|part| if is_id(part) { "{id}" } else { part }).collect();
    format!("{} {}", request.method(), path.join("/"))
}

impl<B> tower::Service<Request<B>> for CloudLink
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Debug,
{
    type Response = Response<Full<Bytes>>;
    type Error = ReplyLost;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let link = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(|_broken| ReplyLost)?.to_bytes();
            museum::wire::send(&link, Request::from_parts(parts, body)).await
        })
    }
}
