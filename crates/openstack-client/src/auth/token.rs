//! A token and the data issued with it. Decoding is pure; callers pass the time.

use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::time::Instant;

use crate::{
    ProjectId, decode,
    identity::{Catalog, timestamp},
    transport::Answer,
};

/// The response header in which Keystone returns the token.
const SUBJECT_TOKEN: &str = "x-subject-token";
/// A token is renewed when a tenth of its lifetime is left, but at most this long before it expires…
const EARLIEST_RENEWAL: Duration = Duration::from_secs(300);
/// …and at least this long before it expires, unless that exceeds half of the lifetime.
const LATEST_RENEWAL: Duration = Duration::from_secs(30);
/// A token that expires within this time is not used, because it could expire while a request is in flight.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// The identity of a token: its user, project and roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenIdentity {
    /// The user's id.
    pub user_id: String,
    /// The user's name.
    pub user_name: String,
    /// The project; `None` if the token is not scoped to one.
    pub project_id: Option<ProjectId>,
    /// The project's name.
    pub project_name: Option<String>,
    /// The names of the roles.
    pub roles: Vec<String>,
    /// When the token expires, by the cloud's clock.
    pub expires_at: Timestamp,
    /// When the token was issued, by the cloud's clock; `None` if Keystone does not return it.
    pub issued_at: Option<Timestamp>,
    /// When the user's password expires; `None` if it does not expire or Keystone does not return it.
    pub password_expires_at: Option<Timestamp>,
    /// The id of the application credential that the token was issued for; `None` for other methods.
    pub application_credential_id: Option<String>,
}

/// A token with its catalog and identity.
#[derive(Debug)]
pub(crate) struct Token {
    secret: SecretString,
    pub(crate) generation: u64,
    pub(crate) catalog: Catalog,
    pub(crate) identity: TokenIdentity,
    renew_at: Instant,
    dead_at: Instant,
}

#[derive(Deserialize)]
struct TokenBody {
    expires_at: Timestamp,
    #[serde(default)]
    issued_at: Option<Timestamp>,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    project: Option<Named>,
    #[serde(default)]
    application_credential: Option<Named>,
    #[serde(default, deserialize_with = "decode::or_default")]
    roles: Vec<Named>,
    #[serde(default, deserialize_with = "decode::or_default")]
    catalog: Catalog,
}

#[derive(Deserialize, Default)]
struct Named {
    #[serde(default, deserialize_with = "decode::or_default")]
    id: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    name: String,
}

#[derive(Deserialize, Default)]
struct User {
    #[serde(flatten)]
    named: Named,
    /// Decoded leniently: the value is only reported, so an unexpected format must not reject the token.
    #[serde(default)]
    password_expires_at: serde_json::Value,
}

impl Token {
    /// Decodes Keystone's response to a request that was sent at `sent`; `now` is the wall clock.
    ///
    /// The lifetime is computed from the cloud's own timestamps, so a skewed local clock does no harm. Only if the response has no
    /// `issued_at` the local wall clock is used.
    pub(crate) fn read(
        answer: &Answer,
        sent: Instant,
        now: Timestamp,
        generation: u64,
    ) -> Result<Self, String> {
        let header = answer.headers.get(SUBJECT_TOKEN).and_then(|value| value.to_str().ok());
        let secret = header.filter(|text| !text.is_empty()).ok_or("it has no X-Subject-Token")?;
        let body: TokenBody = decode::unwrap(&answer.body, "token")?;
        let since = body.issued_at.unwrap_or(now);
        let life = Duration::try_from(body.expires_at.duration_since(since)).unwrap_or_default();
        let (renew_in, dead_in) = schedule(life);
        let user = body.user.unwrap_or_default();
        let project = body.project.filter(|project| !project.id.is_empty());
        let project_id = project.as_ref().map(|project| ProjectId::new(&project.id)).transpose();
        let application_credential =
            body.application_credential.filter(|credential| !credential.id.is_empty());
        Ok(Self {
            secret: SecretString::from(secret),
            generation,
            catalog: body.catalog,
            identity: TokenIdentity {
                password_expires_at: user.password_expires_at.as_str().and_then(|text| timestamp(text).ok()),
                user_id: user.named.id,
                user_name: user.named.name,
                project_id: project_id.map_err(|error| error.to_string())?,
                project_name: project.map(|project| project.name),
                roles: body.roles.into_iter().map(|role| role.name).collect(),
                expires_at: body.expires_at,
                issued_at: body.issued_at,
                application_credential_id: application_credential.map(|credential| credential.id),
            },
            renew_at: sent + renew_in,
            dead_at: sent + dead_in,
        })
    }

    /// The value of `X-Auth-Token`.
    pub(crate) fn header(&self) -> Result<HeaderValue, String> {
        let mut value = HeaderValue::from_str(self.secret.expose_secret())
            .map_err(|_quoting| "the token cannot stand in a header".to_owned())?;
        value.set_sensitive(true);
        Ok(value)
    }

    pub(crate) fn secret(&self) -> &SecretString {
        &self.secret
    }

    /// Whether the token should be renewed although it is still valid.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.renew_at
    }

    /// Whether the token can still be used.
    pub(crate) fn is_alive(&self, now: Instant) -> bool {
        now < self.dead_at
    }
}

/// When a token of this lifetime is renewed, and when it is no longer used; both relative to the request.
fn schedule(life: Duration) -> (Duration, Duration) {
    let margin = (life / 10).clamp(LATEST_RENEWAL, EARLIEST_RENEWAL).min(life / 2);
    (life - margin, life - LAST_MOMENT.min(life / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_well_before_it_dies_whatever_its_life() {
        for (life, renew, dead) in [(3600, 3300, 3595), (86400, 86100, 86395), (300, 270, 295), (60, 30, 55)]
        {
            let (renew_in, dead_in) = schedule(Duration::from_secs(life));
            assert_eq!((renew_in.as_secs(), dead_in.as_secs()), (renew, dead), "{life}");
        }
        assert_eq!(schedule(Duration::ZERO), (Duration::ZERO, Duration::ZERO));
    }
}
