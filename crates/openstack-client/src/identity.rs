//! Keystone: API versions, token requests, and the catalog in a token.

mod application_credential;
mod catalog;
mod versions;

pub use self::versions::{Version, VersionStatus};
pub(crate) use self::{
    application_credential::timestamp, catalog::Catalog, versions::parse as parse_versions,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use secrecy::SecretString;
use tokio::time::Instant;

use crate::{
    Credentials, Error, ErrorClass, Method as AuthMethod, Outcome, Service,
    auth::{Token, request_body},
    base_url::BaseUrl,
    call::Wire,
    error::{RequestLine, classify},
    transport::{Answer, AnswerKind},
};

/// The request header that carries the token.
pub(crate) const AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// The versions that the service lists at `root`, with status 200 or 300. Keystone needs no token for this; the other services get one,
/// because some clouds require it there.
pub(crate) async fn list_versions(
    wire: &Wire,
    service: Service,
    root: &BaseUrl,
    token: Option<&Token>,
) -> Result<Vec<Version>, Error> {
    let line = RequestLine { service, method: Method::GET, path: root.path().to_owned() };
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        let value = token.header().map_err(|why| Error::invalid(why).at(line.clone()))?;
        headers.insert(AUTH_TOKEN, value);
    }
    let answer = wire.send(&line, root.uri("", ""), headers, Bytes::new(), AnswerKind::Versions).await?;
    if !matches!(answer.status, StatusCode::OK | StatusCode::MULTIPLE_CHOICES) {
        return Err(wire.judge(service, &answer, token.map(Token::secret)).at(line).on_the_way());
    }
    parse_versions(&answer.body).map_err(|why| not_understood(&answer, &why, "the list of versions").at(line))
}

/// Checks that Keystone supports v3. The links in its version document are not followed: behind a proxy they may be unreachable, or lead to
/// an URL to which the password would be sent without TLS.
pub(crate) async fn confirm_v3(wire: &Wire, root: &BaseUrl) -> Result<(), Error> {
    let versions = list_versions(wire, Service::Identity, root, None).await?;
    if versions.iter().any(|version| version.major() == Some(3) && version.status.is_usable()) {
        return Ok(());
    }
    let listed: Vec<&str> = versions.iter().map(|version| version.id.as_str()).collect();
    Err(Error::new(
        ErrorClass::Unsupported,
        Outcome::Refused,
        format!("{root} offers the identity API in the versions {listed:?}, but not v3"),
    ))
}

/// Requests a token from Keystone.
pub(crate) async fn issue_token(
    wire: &Wire,
    keystone: &BaseUrl,
    credentials: &Credentials,
    generation: u64,
) -> Result<Token, Error> {
    let path = format!("{}auth/tokens", keystone.path());
    let line = RequestLine { service: Service::Identity, method: Method::POST, path };
    let body =
        request_body(credentials).map_err(|error| Error::invalid(error.to_string()).at(line.clone()))?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let sent = Instant::now();
    let answer = wire.send(&line, keystone.uri("auth/tokens", ""), headers, body, AnswerKind::Token).await?;
    if !matches!(answer.status.as_u16(), 200..=202) {
        return Err(wire.judge(Service::Identity, &answer, Some(secret(credentials))).at(line).of_a_login());
    }
    Token::read(&answer, sent, wire.now(), generation)
        .map_err(|why| not_understood(&answer, &why, "the token").at(line))
}

fn secret(credentials: &Credentials) -> &SecretString {
    match &credentials.method {
        AuthMethod::Password { password: secret, .. }
        | AuthMethod::Token(secret)
        | AuthMethod::ApplicationCredential { secret, .. } => secret,
    }
}

/// The error for a successful answer that cannot be decoded. It is transient, because the cause may be the page of a proxy or a truncated
/// body.
pub(crate) fn not_understood(answer: &Answer, why: &str, what: &str) -> Error {
    let message = format!("the answer cannot be understood as {what}: {why}");
    Error::new(ErrorClass::Transient, Outcome::Unknown, message)
        .with_status(answer.status.as_u16())
        .with_request_id(classify::request_id(&answer.headers))
}
