//! An API call as data, and the HTTP layer that sends it.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::{
    Error, ErrorClass, Outcome, Sent, Service, Transport, Witness,
    client::WallClock,
    error::{RequestLine, classify},
    transport::{Answer, AnswerKind, Body, ExchangeError},
};

/// Characters that need no percent-encoding in a path or query.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An API call. It does not contain the URL of the service.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) service: Service,
    /// The value of the metrics label `request`.
    pub(crate) request: &'static str,
    pub(crate) method: Method,
    /// The path below the service's version, percent-encoded.
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Payload,
    /// The status codes that mean success.
    pub(crate) ok: &'static [u16],
    /// The kind of the answer, which limits its size.
    pub(crate) answer: AnswerKind,
}

/// The request body.
#[derive(Clone)]
pub(crate) enum Payload {
    Nothing,
    Written(Bytes),
    /// Serialized when the request is sent: thousands of calls may wait for the budget, each with a body of a thousand members.
    Unwritten(Arc<dyn Fn() -> Result<Bytes, Error> + Send + Sync>),
}

impl Payload {
    /// The serialized body.
    pub(crate) fn bytes(&self) -> Result<Bytes, Error> {
        match self {
            Self::Nothing => Ok(Bytes::new()),
            Self::Written(bytes) => Ok(bytes.clone()),
            Self::Unwritten(write) => write(),
        }
    }
}

/// A value wrapped in the single key that services expect. It serializes the value directly: with thousands of members, an intermediate
/// JSON value would take several times the memory.
pub(crate) struct Below<'a, T: ?Sized>(pub(crate) &'static str, pub(crate) &'a T);

impl<T: Serialize + ?Sized> Serialize for Below<'_, T> {
    fn serialize<S: serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_map([(self.0, self.1)])
    }
}

impl Call {
    fn new(
        service: Service,
        request: &'static str,
        method: Method,
        path: &[&str],
        ok: &'static [u16],
    ) -> Self {
        let path: Vec<String> = path.iter().map(|segment| encode(segment)).collect();
        Self {
            service,
            request,
            method,
            path: path.join("/"),
            query: Vec::new(),
            headers: HeaderMap::new(),
            payload: Payload::Nothing,
            ok,
            answer: AnswerKind::Object,
        }
    }

    pub(crate) fn get(service: Service, request: &'static str, path: &[&str]) -> Self {
        Self::new(service, request, Method::GET, path, &[200, 203])
    }

    pub(crate) fn delete(service: Service, request: &'static str, path: &[&str]) -> Self {
        Self::new(service, request, Method::DELETE, path, &[200, 202, 204])
    }

    pub(crate) fn post(
        service: Service,
        request: &'static str,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<Self, Error> {
        Self::new(service, request, Method::POST, path, &[200, 201, 202]).json(body)
    }

    pub(crate) fn put(
        service: Service,
        request: &'static str,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<Self, Error> {
        Self::new(service, request, Method::PUT, path, &[200, 201, 202]).json(body)
    }

    /// A PUT whose body is serialized when it is sent.
    pub(crate) fn put_late(
        service: Service,
        request: &'static str,
        path: &[&str],
        body: impl Fn() -> Result<Bytes, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::new(service, request, Method::PUT, path, &[200, 201, 202])
            .with_json(Payload::Unwritten(Arc::new(body)))
    }

    /// A PUT without a body.
    pub(crate) fn put_nothing(service: Service, request: &'static str, path: &[&str]) -> Self {
        Self::new(service, request, Method::PUT, path, &[200, 201, 202, 204])
    }

    fn json(self, body: &impl Serialize) -> Result<Self, Error> {
        Ok(self.with_json(Payload::Written(json(body)?)))
    }

    fn with_json(mut self, payload: Payload) -> Self {
        self.payload = payload;
        self.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The same call with the response size limit of a list.
    pub(crate) fn answered_by_list(mut self) -> Self {
        self.answer = AnswerKind::List;
        self
    }

    /// The same call with one more query parameter.
    pub(crate) fn with(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.query.push((key.to_owned(), value.to_string()));
        self
    }

    /// The same call with one more query parameter, if `value` is `Some`.
    pub(crate) fn with_some(self, key: &str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// A 404 on a POST or PUT may be about an object that the body references. It keeps its class only if the message names an id of the
    /// path; otherwise it becomes a conflict.
    pub(crate) fn doubt(&self, error: Error) -> Error {
        let writes = matches!(self.method, Method::POST | Method::PUT);
        if !writes || !error.is_not_found() || self.is_named_by(error.message()) {
            return error;
        }
        error.reclassified(ErrorClass::Conflict, "something that the request needs is not there")
    }

    /// Whether `text` names an object of the path. Path segments with a digit are taken as ids; collection names have none.
    fn is_named_by(&self, text: &str) -> bool {
        let mut ids = self.path.split('/').filter(|part| part.bytes().any(|byte| byte.is_ascii_digit()));
        ids.any(|id| {
            text.split(|c: char| c.is_whitespace() || "'\"()[]{},:;".contains(c))
                .any(|word| word.trim_end_matches('.') == id)
        })
    }

    pub(crate) fn is_mutation(&self) -> bool {
        self.method != Method::GET
    }

    /// The encoded query string, without the question mark.
    pub(crate) fn query_text(&self) -> String {
        let pairs: Vec<String> =
            self.query.iter().map(|(key, value)| format!("{}={}", encode(key), encode(value))).collect();
        pairs.join("&")
    }

    /// The call as it appears in errors and logs.
    pub(crate) fn line(&self, base_path: &str) -> RequestLine {
        RequestLine {
            service: self.service,
            method: self.method.clone(),
            path: format!("{base_path}{}", self.path),
        }
    }
}

/// Serializes a request body as JSON.
pub(crate) fn json(body: &impl Serialize) -> Result<Bytes, Error> {
    let text = serde_json::to_vec(body).map_err(|error| Error::invalid(error.to_string()))?;
    Ok(text.into())
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// A transport with the common request headers, the error classification and the observer of requests.
pub(crate) struct Wire {
    pub(crate) transport: Transport,
    pub(crate) user_agent: Option<HeaderValue>,
    pub(crate) clock: WallClock,
    pub(crate) witness: Arc<dyn Witness>,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("transport", &self.transport).finish_non_exhaustive()
    }
}

impl Wire {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Sends a request once, without retries.
    pub(crate) async fn send(
        &self,
        line: &RequestLine,
        uri: Result<Uri, http::Error>,
        headers: HeaderMap,
        body: Bytes,
        kind: AnswerKind,
    ) -> Result<Answer, Error> {
        let fail =
            |error: http::Error| Error::invalid(format!("no request can be made: {error}")).at(line.clone());
        let mut request = Request::builder()
            .method(line.method.clone())
            .uri(uri.map_err(fail)?)
            .body(Body::new(body))
            .map_err(fail)?;
        *request.headers_mut() = headers;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(agent) = &self.user_agent {
            request.headers_mut().insert(header::USER_AGENT, agent.clone());
        }
        let mut awaited =
            Awaited { witness: self.witness.as_ref(), line, begun: Instant::now(), answered: None };
        let exchanged = self.transport.exchange(line.service, request, kind).await;
        let answer = exchanged.map_err(|error| no_answer(&error).at(line.clone()))?;
        awaited.answered = Some((answer.status.as_u16(), classify::request_id(&answer.headers)));
        tracing::debug!(
            service = %line.service,
            method = %line.method,
            path = line.path,
            status = answer.status.as_u16(),
            bytes = answer.body.len(),
            "answered"
        );
        Ok(answer)
    }

    /// Converts an unsuccessful answer to an error. A body that contains `secret` is not shown: Keystone quotes requests that it cannot
    /// parse.
    pub(crate) fn judge(&self, service: Service, answer: &Answer, secret: Option<&SecretString>) -> Error {
        let repeats = secret.is_some_and(|secret| repeats(&answer.body, secret));
        let body = if repeats {
            &br#"{"error": {"message": "(not shown, for it repeats a secret)"}}"#[..]
        } else {
            &answer.body
        };
        classify::classify(service, answer.status, &answer.headers, body, self.now())
    }
}

/// A request in flight. It reports to the witness when it is dropped, so requests whose caller was cancelled are reported as well.
struct Awaited<'a> {
    witness: &'a dyn Witness,
    line: &'a RequestLine,
    begun: Instant,
    answered: Option<(u16, Option<String>)>,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        let (status, request_id) = match self.answered.take() {
            Some((status, request_id)) => (Some(status), request_id),
            None => (None, None),
        };
        let RequestLine { service, method, path } = self.line;
        let (service, method, took) = (*service, method.as_str(), self.begun.elapsed());
        self.witness.sent(Sent { service, method, path, status, took, request_id });
    }
}

/// Whether a body contains the secret, in plain form or JSON-escaped.
fn repeats(body: &[u8], secret: &SecretString) -> bool {
    let secret = secret.expose_secret();
    let escaped = Zeroizing::new(serde_json::to_string(secret).unwrap_or_default());
    let inner = escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default();
    [secret, inner]
        .iter()
        .any(|text| !text.is_empty() && body.windows(text.len()).any(|window| window == text.as_bytes()))
}

fn no_answer(error: &ExchangeError) -> Error {
    let outcome = match error {
        ExchangeError::NoConnection(_) => Outcome::NotSent,
        _ => Outcome::Unknown,
    };
    Error::new(ErrorClass::Transient, outcome, error.to_string())
}

/// The system's wall clock.
pub(crate) fn system_clock() -> WallClock {
    Arc::new(Timestamp::now)
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use http::{Response, StatusCode};
    use parking_lot::Mutex;
    use tokio::time::timeout;
    use tower::service_fn;

    use super::*;
    use crate::Timeouts;

    /// The path, the status, and the request id.
    type OneCall = (String, Option<u16>, Option<String>);

    /// The requests that were reported.
    #[derive(Default)]
    struct Told(Mutex<Vec<OneCall>>);

    impl Witness for Told {
        fn sent(&self, sent: Sent<'_>) {
            self.0.lock().push((sent.path.to_owned(), sent.status, sent.request_id));
        }
    }

    fn line(path: &str) -> RequestLine {
        RequestLine { service: Service::Compute, method: Method::GET, path: path.to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn the_witness_is_told_of_answers_and_of_calls_that_were_given_up() {
        let answer = service_fn(|request: Request<Body>| async move {
            if request.uri().path() == "/never" {
                std::future::pending::<()>().await;
            }
            let response =
                Response::builder().status(StatusCode::NOT_FOUND).header("x-openstack-request-id", "req-1");
            Ok::<_, Infallible>(response.body(Body::default()).unwrap())
        });
        let told = Arc::new(Told::default());
        let transport = Transport::new(answer, Timeouts::default());
        let wire = Wire { transport, user_agent: None, clock: system_clock(), witness: told.clone() };
        let send = async |path: &str| {
            let uri = Ok(format!("http://cloud{path}?name=secret").parse().unwrap());
            wire.send(&line(path), uri, HeaderMap::new(), Bytes::new(), AnswerKind::Object).await
        };
        assert_eq!(send("/servers/1").await.unwrap().status, StatusCode::NOT_FOUND);
        assert!(timeout(Duration::from_secs(1), send("/never")).await.is_err());
        let expected = [
            ("/servers/1".to_owned(), Some(404), Some("req-1".to_owned())),
            ("/never".to_owned(), None, None),
        ];
        assert_eq!(*told.0.lock(), expected);
    }
}
