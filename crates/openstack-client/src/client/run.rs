//! Executes a call: budget, token, endpoint, fence, request, and one repetition after a 401. A patient client also retries calls that were
//! refused temporarily.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use http::StatusCode;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::{Client, patience};
use crate::{
    ApiMetrics, Error, ErrorClass, Outcome,
    auth::Token,
    base_url::BaseUrl,
    call::Call,
    decode,
    error::RequestLine,
    identity::{AUTH_TOKEN, not_understood},
    paging::{Listed, Pages},
    transport::Answer,
};

/// How long a service is not called after a 429 without `Retry-After`.
const UNSAID_PAUSE: Duration = Duration::from_secs(5);

/// A successful answer.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    line: RequestLine,
}

impl Answered {
    /// The error for a successful answer that cannot be decoded.
    pub(crate) fn not_understood(&self, why: &str, what: &str) -> Error {
        not_understood(&self.answer, why, what).at(self.line.clone())
    }
}

impl Client {
    /// Makes a call and ignores the body of the answer.
    pub(crate) async fn done(&self, call: Call) -> Result<(), Error> {
        let measured = self.shared.settings.metrics.start(call.request);
        measured.end(self.run(&call).await.map(drop))
    }

    /// Makes a call and decodes the `T` below `key` in the answer.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, call: Call, key: &'static str) -> Result<T, Error> {
        let measured = self.shared.settings.metrics.start(call.request);
        let fetched = async {
            let answered = self.run(&call).await?;
            decode::unwrap(&answered.answer.body, key).map_err(|why| answered.not_understood(&why, key))
        };
        measured.end(fetched.await)
    }

    /// Makes a call that returns a paged list.
    pub(crate) fn pages<T: Listed>(&self, call: Call) -> Pages<T> {
        Pages::new(self.clone(), call.answered_by_list(), self.shared.settings.pages)
    }

    pub(crate) fn metrics(&self) -> &ApiMetrics {
        &self.shared.settings.metrics
    }

    /// Makes a call; a patient client retries it if it was refused temporarily.
    pub(crate) async fn run(&self, call: &Call) -> Result<Answered, Error> {
        let mut repeats = 0;
        loop {
            let ended = self.run_once(call).await;
            let failures = self.shared.failures.note(call.service, &ended);
            let pause = match &ended {
                Err(error) if self.is_patient => {
                    patience::pause(call.is_mutation(), error, repeats, failures)
                }
                _ => None,
            };
            let Some(pause) = pause else { return ended };
            repeats += 1;
            sleep(pause).await;
        }
    }

    /// Makes a call, and repeats it once with a new token after a 401.
    async fn run_once(&self, call: &Call) -> Result<Answered, Error> {
        self.wait_for_budget(call).await?;
        let token = self.shared.session.token().await;
        let mut token = token.map_err(|error| error.with_outcome(Outcome::NotSent))?;
        let (mut answer, mut base) = self.send(call, &token, Outcome::NotSent).await?;
        if answer.status == StatusCode::UNAUTHORIZED
            && let Some(renewed) = self.renew(&token).await?
        {
            token = renewed;
            self.wait_for_budget(call).await.map_err(|error| error.with_outcome(Outcome::Refused))?;
            (answer, base) = self.send(call, &token, Outcome::Refused).await?;
        }
        if call.ok.contains(&answer.status.as_u16()) {
            return Ok(Answered { answer, line: call.line(base.path()) });
        }
        let error = self.shared.wire.judge(call.service, &answer, Some(token.secret()));
        let error = call.doubt(error).at(call.line(base.path()));
        if error.class() == ErrorClass::Throttled {
            let budget = &self.shared.settings.budget;
            budget.throttled(call.service, error.retry_after().unwrap_or(UNSAID_PAUSE));
        }
        Err(error)
    }

    /// Waits for the budget. A mutation whose fence closes meanwhile takes no permit; the fence is checked on each poll while the permit is
    /// pending.
    async fn wait_for_budget(&self, call: &Call) -> Result<(), Error> {
        let mut acquired = self.shared.settings.budget.acquire(call.service, self.priority);
        poll_fn(|context| match acquired.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => {
                self.ask_fence(call).err().map_or(Poll::Pending, |closed| Poll::Ready(Err(closed)))
            }
        })
        .await
    }

    /// Fails if the call is a mutation and the fence is closed.
    fn ask_fence(&self, call: &Call) -> Result<(), Error> {
        let fence = self.fence.as_ref().filter(|_| call.is_mutation());
        fence.map_or(Ok(()), |fence| fence.check()).map_err(|closed| {
            Error::new(ErrorClass::Fenced, Outcome::NotSent, format!("not writing: {}", closed.0))
        })
    }

    /// Gets a new token after a 401. The outcome of an error is `Refused`, because the service rejected the call.
    async fn renew(&self, refused: &Token) -> Result<Option<Arc<Token>>, Error> {
        let renewed = self.shared.session.renew(refused).await;
        renewed.map_err(|error| error.with_outcome(Outcome::Refused))
    }

    /// Sends the call. `so_far` is the outcome of errors before the request is sent: `Refused` if an earlier attempt got a 401.
    async fn send(&self, call: &Call, token: &Token, so_far: Outcome) -> Result<(Answer, BaseUrl), Error> {
        let base = self.endpoint(call.service, token).await;
        let base = base.map_err(|error| error.with_outcome(so_far))?;
        let line = call.line(base.path());
        let mut headers = call.headers.clone();
        let value = token.header().map_err(|why| Error::invalid(why).at(line.clone()))?;
        headers.insert(AUTH_TOKEN, value);
        let body = call.payload.bytes().map_err(|error| error.at(line.clone()))?;
        // There is no await between the fence check and the request.
        self.ask_fence(call).map_err(|error| error.at(line.clone()))?;
        let uri = base.uri(&call.path, &call.query_text());
        let answer = self.shared.wire.send(&line, uri, headers, body, call.answer).await?;
        Ok((answer, base))
    }
}
