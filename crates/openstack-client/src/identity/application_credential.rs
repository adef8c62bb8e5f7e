//! The expiry of an application credential, which its tokens do not contain.

use jiff::Timestamp;
use serde::Deserialize;

use crate::{Client, Error, Service, call::Call};

#[derive(Deserialize)]
struct ApplicationCredential {
    #[serde(default)]
    expires_at: Option<String>,
}

/// Parses a timestamp of Keystone. Those of application credentials have no time zone and are in UTC.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, jiff::Error> {
    format!("{}Z", text.trim_end_matches('Z')).parse()
}

impl Client {
    /// When the application credential of this client expires. `None` if it does not expire or the client uses another authentication
    /// method; in the latter case no request for it is made.
    ///
    /// # Errors
    ///
    /// [`Error`] if Keystone issues no token, or the request for the application credential fails.
    pub async fn application_credential_expires_at(&self) -> Result<Option<Timestamp>, Error> {
        let identity = self.identity().await?;
        let Some(id) = identity.application_credential_id else { return Ok(None) };
        let path = ["users", identity.user_id.as_str(), "application_credentials", id.as_str()];
        let call = Call::get(Service::Identity, "application_credential_get", &path);
        let credential: ApplicationCredential = self.fetch(call, "application_credential").await?;
        let expires_at = credential.expires_at.as_deref().map(timestamp).transpose();
        expires_at
            .map_err(|error| Error::invalid(format!("application credential {id}: expires_at: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_a_time_zone() {
        let expected: Timestamp = "2027-03-01T12:00:00Z".parse().unwrap();
        for text in ["2027-03-01T12:00:00.000000", "2027-03-01T12:00:00.000000Z", "2027-03-01T12:00:00Z"] {
            assert_eq!(timestamp(text).unwrap(), expected, "{text}");
        }
        assert!(timestamp("never").is_err());
    }
}
