//! How a call is made: budget, token, endpoint, fence, sending, and one more time after a 401.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use serde::de::DeserializeOwned;

use super::Client;
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

/// How long a service is left alone that says "too many requests" and not for how long.
const UNSAID_PAUSE: Duration = Duration::from_secs(5);

/// A success, and what it answers.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    line: RequestLine,
}

impl Answered {
    /// The error that it is after all.
    pub(crate) fn not_understood(&self, why: &str, what: &str) -> Error {
        not_understood(&self.answer, why, what).at(self.line.clone())
    }
}

impl Client {
    /// Makes a call whose answer says nothing.
    pub(crate) async fn done(&self, call: Call) -> Result<(), Error> {
        let measured = self.shared.settings.metrics.start(call.request);
        measured.end(self.run(&call).await.map(drop))
    }

    /// Makes a call whose answer holds a `T` below `key`.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, call: Call, key: &'static str) -> Result<T, Error> {
        let measured = self.shared.settings.metrics.start(call.request);
        let fetched = async {
            let answered = self.run(&call).await?;
            decode::unwrap(&answered.answer.body, key).map_err(|why| answered.not_understood(&why, key))
        };
        measured.end(fetched.await)
    }

    /// Makes a call whose answer is a list in pages.
    pub(crate) fn pages<T: Listed>(&self, call: Call) -> Pages<T> {
        Pages::new(self.clone(), call, self.shared.settings.pages)
    }

    pub(crate) fn metrics(&self) -> &ApiMetrics {
        &self.shared.settings.metrics
    }

    /// Makes a call, and once more with a new token if the one it had is refused.
    pub(crate) async fn run(&self, call: &Call) -> Result<Answered, Error> {
        let budget = &self.shared.settings.budget;
        budget.acquire(call.service, self.priority).await;
        let token = self.shared.session.token().await;
        let mut token = token.map_err(|error| error.with_outcome(Outcome::NotSent))?;
        let (mut answer, mut base) = self.send(call, &token, Outcome::NotSent).await?;
        if answer.status == StatusCode::UNAUTHORIZED
            && let Some(renewed) = self.renew(&token).await?
        {
            token = renewed;
            budget.acquire(call.service, self.priority).await;
            (answer, base) = self.send(call, &token, Outcome::Refused).await?;
        }
        if call.ok.contains(&answer.status.as_u16()) {
            return Ok(Answered { answer, line: call.line(base.path()) });
        }
        let error = self.shared.wire.judge(call.service, &answer, Some(token.secret()));
        let error = call.doubt(error).at(call.line(base.path()));
        if error.class() == ErrorClass::Throttled {
            budget.throttled(call.service, error.retry_after().unwrap_or(UNSAID_PAUSE));
        }
        Err(error)
    }

    /// A new token after a 401, which means that the call was refused, whatever comes now.
    async fn renew(&self, refused: &Token) -> Result<Option<Arc<Token>>, Error> {
        let renewed = self.shared.session.renew(refused).await;
        renewed.map_err(|error| error.with_outcome(Outcome::Refused))
    }

    /// Sends it; `so_far` is what became of the call before that.
    async fn send(&self, call: &Call, token: &Token, so_far: Outcome) -> Result<(Answer, BaseUrl), Error> {
        let base = self.endpoint(call.service, token).await;
        let base = base.map_err(|error| error.with_outcome(so_far))?;
        let line = call.line(base.path());
        let mut headers = call.headers.clone();
        let value = token.header().map_err(|why| Error::invalid(why).at(line.clone()))?;
        headers.insert(AUTH_TOKEN, value);
        if let Some(fence) = self.fence.as_ref().filter(|_| call.is_mutation()) {
            // Nothing waits between the answer and the sending.
            fence.check().map_err(|closed| {
                Error::new(ErrorClass::Fenced, Outcome::NotSent, format!("not writing: {}", closed.0))
                    .at(line.clone())
            })?;
        }
        let uri = base.uri(&call.path, &call.query_text());
        let answer = self.shared.wire.send(&line, uri, headers, call.body.clone()).await?;
        Ok((answer, base))
    }
}
