//! Barbican: existence and type of containers and secrets. Payloads are never read.

use serde::Deserialize;

use crate::{Client, ContainerId, Error, SecretId, Service, call::Call, decode, ids::InvalidId};

/// Barbican's API.
#[derive(Debug, Clone)]
pub struct KeyManager(pub(crate) Client);

/// A container, which groups secrets such as a certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Container {
    /// Its URL.
    pub container_ref: String,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// `certificate`, `rsa` or `generic`.
    #[serde(rename = "type", default, deserialize_with = "decode::or_default")]
    pub kind: String,
    /// `ACTIVE` or `ERROR`.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub status: String,
}

/// A secret, without its payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Secret {
    /// Its URL.
    pub secret_ref: String,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// `certificate`, `opaque`, ….
    #[serde(default, deserialize_with = "decode::or_default")]
    pub secret_type: String,
    /// `ACTIVE` or `ERROR`.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub status: String,
    /// When it expires, as Barbican writes it; `None` if it does not expire.
    #[serde(default)]
    pub expiration: Option<String>,
}

/// The object that a reference points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A container.
    Container(ContainerId),
    /// A secret.
    Secret(SecretId),
}

impl Reference {
    /// Parses a reference such as `https://barbican.example/v1/secrets/<id>`; `None` if the URL is not that of a container or a secret.
    ///
    /// # Errors
    ///
    /// [`InvalidId`] if the id in the URL is invalid.
    pub fn parse(text: &str) -> Result<Option<Self>, InvalidId> {
        let path = text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let mut segments = path.rsplit('/');
        let (id, collection) = (segments.next().unwrap_or_default(), segments.next());
        match collection {
            Some("containers") => Ok(Some(Self::Container(ContainerId::new(id)?))),
            Some("secrets") => Ok(Some(Self::Secret(SecretId::new(id)?))),
            _ => Ok(None),
        }
    }
}

impl KeyManager {
    /// A container.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn container(&self, id: &ContainerId) -> Result<Container, Error> {
        self.whole(Call::get(Service::KeyManager, "container_get", &["containers", id.as_str()])).await
    }

    /// A secret, without its payload.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn secret(&self, id: &SecretId) -> Result<Secret, Error> {
        self.whole(Call::get(Service::KeyManager, "secret_get", &["secrets", id.as_str()])).await
    }

    /// Fetches an object that is not wrapped in a key, as in all answers of Barbican.
    async fn whole<T: serde::de::DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let measured = self.0.metrics().start(call.request);
        let read = async {
            let answered = self.0.run(&call).await?;
            let body = &answered.answer.body;
            serde_json::from_slice(body).map_err(|error| {
                answered.not_understood(&decode::unreadable(&error, body), "an object of Barbican")
            })
        };
        measured.end(read.await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_says_what_it_points_to() {
        let container = Reference::Container(ContainerId::new("c-1").unwrap());
        let secret = Reference::Secret(SecretId::new("s-1").unwrap());
        for (text, expected) in [
            ("https://b.example:9311/v1/containers/c-1", Some(container.clone())),
            ("https://b.example/key-manager/v1/containers/c-1/", Some(container)),
            ("http://b/v1/secrets/s-1?x=y", Some(secret)),
            ("http://b/v1/orders/o-1", None),
            ("s-1", None),
            ("", None),
        ] {
            assert_eq!(Reference::parse(text).unwrap(), expected, "{text}");
        }
        assert!(Reference::parse("http://b/v1/secrets/..").is_err());
    }
}
