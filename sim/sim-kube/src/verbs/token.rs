//! `serviceaccounts/NAME/token`: tokens that name their ServiceAccount until they expire.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::decode;
use super::seconds;
use crate::config::User;
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::status::ApiError;

/// What a request without `expirationSeconds` gets.
const LIFETIME_SECONDS: u64 = 3_600;

/// The tokens that the server has issued, until they expire.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    issued: BTreeMap<String, (User, Timestamp)>,
}

impl Tokens {
    fn add(&mut self, token: String, user: User, expires: Timestamp, now: Timestamp) {
        self.issued.retain(|_, (_, expires)| *expires > now);
        self.issued.insert(token, (user, expires));
    }

    fn owner(&self, token: &str, now: Timestamp) -> Option<&User> {
        self.issued.get(token).filter(|(_, expires)| *expires > now).map(|(user, _)| user)
    }
}

impl Core {
    /// Whose the token is, unless nobody knows it or it has expired.
    pub(crate) fn token_owner(&self, token: &str) -> Option<&User> {
        self.config.tokens.get(token).or_else(|| self.tokens.owner(token, self.now()))
    }

    pub(crate) fn issue_token(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        if call.request.method != Method::POST {
            return Err(ApiError::method_not_allowed());
        }
        self.stored(call)?;
        let mut request = if call.request.body.is_empty() { json!({}) } else { decode::document(call)? };
        let wanted = object::at(&request, &["spec", "expirationSeconds"]).and_then(Value::as_u64);
        let lifetime = Duration::from_secs(wanted.unwrap_or(LIFETIME_SECONDS));
        let expires = self.now().checked_add(lifetime).unwrap_or(Timestamp::MAX);
        let (namespace, name) = call.key();
        let token = format!("sim.{}", self.new_uid());
        let user = User {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".into(),
            ],
        };
        self.tokens.add(token.clone(), user, expires, self.config.clock.now());
        object::map_at(&mut request, &["spec"])
            .entry("expirationSeconds")
            .or_insert_with(|| json!(LIFETIME_SECONDS));
        let now = seconds(self.now());
        let meta = object::meta(&mut request);
        meta.insert("name".into(), json!(name));
        meta.insert("namespace".into(), json!(namespace));
        meta.insert("creationTimestamp".into(), json!(now));
        let map = object::map_of(&mut request);
        map.insert("kind".into(), json!("TokenRequest"));
        map.insert("apiVersion".into(), json!("authentication.k8s.io/v1"));
        map.insert("status".into(), json!({"token": token, "expirationTimestamp": seconds(expires)}));
        Ok(Outcome::json(201, request))
    }
}
