//! A token and what came with it. Reading one is pure; time is handed in.

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

/// The header in which Keystone hands a token over.
const SUBJECT_TOKEN: &str = "x-subject-token";
/// A token is renewed when a tenth of its life is left, but not earlier than this…
const EARLIEST_RENEWAL: Duration = Duration::from_secs(300);
/// …and not later than this, where its life is long enough.
const LATEST_RENEWAL: Duration = Duration::from_secs(30);
/// So close to its end a token is not used any more: it would run out on the way.
const LAST_MOMENT: Duration = Duration::from_secs(5);

/// Who a token says that we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenIdentity {
    /// The user's id.
    pub user_id: String,
    /// The user's name.
    pub user_name: String,
    /// The project, where the token is for one.
    pub project_id: Option<ProjectId>,
    /// The project's name.
    pub project_name: Option<String>,
    /// The names of the roles.
    pub roles: Vec<String>,
    /// When the token runs out, by the cloud's clock.
    pub expires_at: Timestamp,
    /// When the token was issued, by the cloud's clock, if it says so.
    pub issued_at: Option<Timestamp>,
    /// When the user's password expires; `None` if it does not, or if the cloud does not say.
    pub password_expires_at: Option<Timestamp>,
    /// The id of the application credential that the token was issued for.
    pub application_credential_id: Option<String>,
}

/// A token.
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
    /// Read leniently: it is only reported, and a token must not be refused because of it.
    #[serde(default)]
    password_expires_at: serde_json::Value,
}

impl Token {
    /// The token in Keystone's answer to a request that was sent at `sent`; the wall clock says `now`.
    ///
    /// How long it lives is read by the cloud's own clock alone, so that a skewed clock here does no harm; only where
    /// the cloud does not say when the token was issued is the wall clock asked.
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

    /// Whether a new one should be got, although this one still works.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.renew_at
    }

    /// Whether it still works.
    pub(crate) fn is_alive(&self, now: Instant) -> bool {
        now < self.dead_at
    }
}

/// When a token that lives this long is renewed, and when it is given up.
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
