//! Reviews: questions about tokens and permissions that are answered and never stored.

use http::Method;
use serde_json::{Value, json};

use super::decode;
use crate::config::{AccessRequest, User};
use crate::core::{Call, Core, Outcome};
use crate::object::{self, text, texts};
use crate::status::ApiError;

impl Core {
    pub(crate) fn review(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        if call.request.method != Method::POST || !call.path.name.is_empty() {
            return Err(ApiError::method_not_allowed());
        }
        let (mut review, _) = decode::object(call)?;
        let status = match call.resource.kind.as_str() {
            "TokenReview" => self.token_status(&review),
            "SelfSubjectReview" => json!({"userInfo": user_info(&call.request.user)}),
            "SelfSubjectAccessReview" => self.access_status(&review, call.request.user.clone()),
            "SelfSubjectRulesReview" => json!({
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": false,
            }),
            _ => {
                let user = User {
                    name: text(&review, &["spec", "user"]).to_owned(),
                    groups: texts(&review, &["spec", "groups"]),
                };
                self.access_status(&review, user)
            }
        };
        object::meta(&mut review);
        object::map_of(&mut review).insert("status".into(), status);
        Ok(Outcome::json(201, review))
    }

    fn token_status(&self, review: &Value) -> Value {
        match self.config.tokens.get(text(review, &["spec", "token"])) {
            Some(user) => json!({"authenticated": true, "user": user_info(user)}),
            None => json!({"user": {}, "error": "[invalid bearer token]"}),
        }
    }

    fn access_status(&self, review: &Value, user: User) -> Value {
        let attribute = |key| text(review, &["spec", "resourceAttributes", key]).to_owned();
        let access = AccessRequest {
            user,
            verb: attribute("verb"),
            group: attribute("group"),
            resource: attribute("resource"),
            subresource: attribute("subresource"),
            namespace: attribute("namespace"),
            name: attribute("name"),
        };
        json!({"allowed": (self.config.authorizer)(&access)})
    }
}

fn user_info(user: &User) -> Value {
    json!({"username": user.name, "groups": user.groups})
}
