//! `serviceaccounts/NAME/token`: tokens that name their ServiceAccount from then on.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::create::seconds;
use super::decode;
use crate::config::User;
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::status::ApiError;

/// What a request without `expirationSeconds` gets.
const LIFETIME_SECONDS: u64 = 3_600;

impl Core {
    pub(crate) fn issue_token(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        if call.request.method != Method::POST {
            return Err(ApiError::method_not_allowed());
        }
        self.stored(call)?;
        let mut request = if call.request.body.is_empty() { json!({}) } else { decode::document(call)? };
        let wanted = object::at(&request, &["spec", "expirationSeconds"]).and_then(Value::as_u64);
        let lifetime = Duration::from_secs(wanted.unwrap_or(LIFETIME_SECONDS));
        let expires = self.now().checked_add(lifetime).unwrap_or(jiff::Timestamp::MAX);
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
        self.config.tokens.insert(token.clone(), user);
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
