//! Tokens as JSON; checking and revoking them.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::model::{Role, Scope, Token};
use super::{catalog, errors};
use crate::clock::micros_zulu;
use crate::cloud::World;
use crate::http::{ApiResponse, Call, Reply};

/// `GET`, `HEAD` and `DELETE` of `/v3/auth/tokens`.
pub(super) fn serve(world: &mut World, call: &Call<'_>) -> Reply {
    let subject = call.request.header("x-subject-token").unwrap_or_default().to_owned();
    let Some(token) = world.state.identity.valid_token(&subject, world.now) else {
        return Err(errors::unknown_token());
    };
    if token.user_id != call.caller.user_id && !call.caller.is_admin() {
        return Err(errors::forbidden("identity:validate_token"));
    }
    if call.request.method == Method::DELETE {
        world.state.identity.tokens.remove(&subject);
        return Ok(ApiResponse::empty(StatusCode::NO_CONTENT));
    }
    let mut shown = render(world, token);
    if let Some(shown) = shown.as_object_mut().filter(|_| call.request.query.get("nocatalog").is_some()) {
        shown.remove("catalog");
    }
    let body = json!({"token": shown});
    Ok(ApiResponse::ok(body).with("x-subject-token", &subject))
}

/// A token as Keystone shows it.
pub(super) fn render(world: &World, token: &Token) -> Value {
    let identity = &world.state.identity;
    let mut shown = Map::new();
    shown.insert("methods".into(), json!(token.methods));
    shown.insert("user".into(), user(world, &token.user_id));
    shown.insert("audit_ids".into(), json!(token.audit_ids));
    shown.insert("expires_at".into(), json!(micros_zulu(token.expires_at)));
    shown.insert("issued_at".into(), json!(micros_zulu(token.issued_at)));
    let roles = || token.roles.iter().filter_map(|id| identity.roles.get(id));
    match &token.scope {
        Scope::Unscoped => return Value::Object(shown),
        Scope::Project(_) => {
            shown.insert("is_domain".into(), json!(false));
            let brief = |role: &Role| json!({"id": role.id, "name": role.name});
            shown.insert("roles".into(), roles().map(brief).collect());
        }
        Scope::Trust { trust_id, .. } => {
            shown.insert("OS-TRUST:trust".into(), trust(world, trust_id));
            shown.insert("roles".into(), roles().map(role).collect());
        }
    }
    shown.insert("project".into(), project(world, token.scope.project_id().unwrap_or_default()));
    shown.insert("catalog".into(), catalog::render(world));
    if let Some(id) = &token.application_credential_id {
        shown.insert("application_credential".into(), application_credential(world, id));
    }
    Value::Object(shown)
}

/// A role with everything but its links.
pub(super) fn role(role: &Role) -> Value {
    let options = if role.immutable { json!({"immutable": true}) } else { json!({}) };
    json!({"id": role.id, "name": role.name, "domain_id": null, "description": null, "options": options})
}

fn user(world: &World, id: &str) -> Value {
    let Some(user) = world.state.identity.users.get(id) else { return Value::Null };
    let domain = domain(world, &user.domain_id);
    json!({"domain": domain, "id": user.id, "name": user.name, "password_expires_at": null})
}

fn project(world: &World, id: &str) -> Value {
    let Some(project) = world.state.identity.projects.get(id) else { return Value::Null };
    json!({"domain": domain(world, &project.domain_id), "id": project.id, "name": project.name})
}

fn domain(world: &World, id: &str) -> Value {
    let name = world.state.identity.domains.get(id).map(|domain| domain.name.as_str());
    json!({"id": id, "name": name})
}

fn trust(world: &World, id: &str) -> Value {
    let Some(trust) = world.state.identity.trusts.get(id) else { return json!({"id": id}) };
    json!({
        "id": trust.id, "impersonation": trust.impersonation,
        "trustor_user": {"id": trust.trustor_user_id}, "trustee_user": {"id": trust.trustee_user_id},
    })
}

fn application_credential(world: &World, id: &str) -> Value {
    let Some(credential) = world.state.identity.application_credentials.get(id) else { return Value::Null };
    json!({"id": credential.id, "name": credential.name, "restricted": credential.unrestricted != Some(true)})
}
