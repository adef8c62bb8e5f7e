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
        object::meta(&mut review);
        let asked = |user| {
            Outcome::Review(Box::new(Review { access: access_of(&review, user), review: review.clone() }))
        };
        let status = match call.resource.kind.as_str() {
            "TokenReview" => self.token_status(&review),
            "SelfSubjectReview" => json!({"userInfo": user_info(&call.request.user)}),
            "SelfSubjectAccessReview" => return Ok(asked(call.request.user.clone())),
            // The authorizer is a function: it answers questions, and has no rules to list. Webhooks answer alike.
            "SelfSubjectRulesReview" => json!({
                "resourceRules": [],
                "nonResourceRules": [],
                "incomplete": true,
                "evaluationError": "the authorizer does not support user rule resolution",
            }),
            _ => {
                let user = User {
                    name: text(&review, &["spec", "user"]).to_owned(),
                    groups: texts(&review, &["spec", "groups"]),
                };
                return Ok(asked(user));
            }
        };
        object::map_of(&mut review).insert("status".into(), status);
        Ok(Outcome::json(201, review))
    }

    fn token_status(&self, review: &Value) -> Value {
        match self.token_owner(text(review, &["spec", "token"])) {
            Some(user) => json!({"authenticated": true, "user": user_info(user)}),
            None => json!({"user": {}, "error": "[invalid bearer token]"}),
        }
    }
}

/// A question about somebody's rights, which the authorizer answers when the state is not locked.
#[derive(Debug)]
pub(crate) struct Review {
    pub(crate) access: AccessRequest,
    review: Value,
}

impl Review {
    pub(crate) fn answered(mut self, allowed: bool) -> Outcome {
        object::map_of(&mut self.review).insert("status".into(), json!({"allowed": allowed}));
        Outcome::json(201, self.review)
    }
}

fn access_of(review: &Value, user: User) -> AccessRequest {
    let attribute = |key| text(review, &["spec", "resourceAttributes", key]).to_owned();
    AccessRequest {
        user,
        verb: attribute("verb"),
        group: attribute("group"),
        resource: attribute("resource"),
        subresource: attribute("subresource"),
        namespace: attribute("namespace"),
        name: attribute("name"),
    }
}

fn user_info(user: &User) -> Value {
    json!({"username": user.name, "groups": user.groups})
}
