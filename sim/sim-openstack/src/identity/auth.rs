//! `POST /v3/auth/tokens`: who somebody is, what the token is for.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{application_credential_misused, bad_request, not_found, unauthorized};
use super::model::{ApplicationCredential, Scope, Token, User};
use super::tokens;
use crate::clock::later;
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiRequest, ApiResponse, Refusal, Reply};

/// Somebody who has proven who it is.
struct Proven {
    user_id: String,
    methods: Vec<String>,
    credential: Option<ApplicationCredential>,
    /// The scope of the token that was shown, if one was.
    former_scope: Option<Scope>,
}

/// Makes a token.
pub(super) fn issue(world: &mut World, request: &ApiRequest) -> Reply {
    let auth = request.body.get("auth").ok_or_else(|| bad_request("'auth' is a required property"))?;
    let identity = auth.get("identity").ok_or_else(|| bad_request("'identity' is a required property"))?;
    if identity.get("methods").is_none() {
        return Err(bad_request("'methods' is a required property"));
    }
    let proven = prove(world, identity)?;
    let scope = auth.get("scope");
    if proven.credential.is_some() && scope.is_some() {
        return Err(application_credential_misused(world, "Application credentials cannot request a scope."));
    }
    let (user_id, scope, roles) = grant(world, &proven, scope)?;
    if scope.project_id().is_some() && roles.is_empty() {
        return Err(unauthorized(world));
    }
    let text = format!("gAAAAAB{}", world.ids.secret(176));
    let token = Token {
        methods: proven.methods,
        user_id,
        scope,
        roles,
        audit_id: world.ids.secret(22),
        issued_at: world.now,
        expires_at: later(world.now, world.config.token_lifetime),
        application_credential_id: proven.credential.map(|credential| credential.id),
    };
    let body = json!({"token": tokens::render(world, &token)});
    forget_expired(world);
    world.state.identity.tokens.insert(text.clone(), token);
    Ok(ApiResponse::json(StatusCode::CREATED, body).with("x-subject-token", &text))
}

/// Keeps the table of tokens small in long simulations.
fn forget_expired(world: &mut World) {
    let now = world.now;
    world.state.identity.tokens.retain(|_, token| now < token.expires_at);
}

fn prove(world: &World, identity: &Value) -> Result<Proven, Refusal> {
    let methods = identity.texts("methods");
    let mut proven: Option<Proven> = None;
    for method in &methods {
        let data = identity.get(method).ok_or_else(|| unauthorized(world))?;
        let next = match method.as_str() {
            "password" => by_password(world, data),
            "token" => by_token(world, data),
            "application_credential" => {
                is_there(world, data)?;
                by_application_credential(world, data)
            }
            _ => None,
        };
        let next = next.ok_or_else(|| unauthorized(world))?;
        if proven.as_ref().is_some_and(|former| former.user_id != next.user_id) {
            return Err(unauthorized(world));
        }
        proven = Some(next);
    }
    let proven = proven.ok_or_else(|| unauthorized(world))?;
    let enabled = world.state.identity.users.get(&proven.user_id).is_some_and(|user| user.enabled);
    if !enabled {
        return Err(unauthorized(world));
    }
    let methods = if proven.former_scope.is_some() { proven.methods.clone() } else { methods };
    Ok(Proven { methods, ..proven })
}

fn by_password(world: &World, data: &Value) -> Option<Proven> {
    let wanted = data.get("user")?;
    let user = find_user(world, wanted)?;
    let password = wanted.text("password")?;
    (user.password == password).then(|| Proven {
        user_id: user.id.clone(),
        methods: Vec::new(),
        credential: None,
        former_scope: None,
    })
}

fn by_token(world: &World, data: &Value) -> Option<Proven> {
    let token = world.state.identity.valid_token(data.text("id")?, world.now)?;
    let mut methods = token.methods.clone();
    if !methods.iter().any(|method| method == "token") {
        methods.push("token".to_owned());
    }
    let (user_id, former_scope) = (token.user_id.clone(), Some(token.scope.clone()));
    Some(Proven { user_id, methods, credential: None, former_scope })
}

/// Keystone says 404 of an id that it does not know, and of a user; of a name that the user does not have it says 401.
fn is_there(world: &World, data: &Value) -> Result<(), Refusal> {
    let user = data.get("user").unwrap_or(&Value::Null);
    match (data.text("id"), user.text("name")) {
        (Some(id), _) if !world.state.identity.application_credentials.contains_key(id) => {
            Err(not_found("Application Credential", id))
        }
        (None, Some(name)) if find_user(world, user).is_none() => Err(not_found("user", name)),
        _ => Ok(()),
    }
}

fn by_application_credential(world: &World, data: &Value) -> Option<Proven> {
    let credentials = &world.state.identity.application_credentials;
    let credential = match data.text("id") {
        Some(id) => credentials.get(id)?,
        None => {
            let user = find_user(world, data.get("user")?)?;
            let name = data.text("name")?;
            credentials
                .values()
                .find(|credential| credential.user_id == user.id && credential.name == name)?
        }
    };
    let usable = credential.expires_at.is_none_or(|end| world.now < end);
    (usable && data.text("secret") == Some(credential.secret.as_str())).then(|| Proven {
        user_id: credential.user_id.clone(),
        methods: Vec::new(),
        credential: Some(credential.clone()),
        former_scope: None,
    })
}

fn find_user<'a>(world: &'a World, wanted: &Value) -> Option<&'a User> {
    let identity = &world.state.identity;
    if let Some(id) = wanted.text("id") {
        return identity.users.get(id);
    }
    let domain = wanted.get("domain").unwrap_or(&Value::Null);
    let domain = identity.domain(domain.text("id"), domain.text("name"))?;
    let name = wanted.text("name")?;
    identity.users.values().find(|user| user.name == name && user.domain_id == domain.id)
}

/// Who the token is for, its scope and its roles.
fn grant(
    world: &mut World,
    proven: &Proven,
    scope: Option<&Value>,
) -> Result<(String, Scope, Vec<String>), Refusal> {
    let user_id = proven.user_id.clone();
    if let Some(credential) = &proven.credential {
        let scope = Scope::Project(credential.project_id.clone());
        return Ok((user_id, scope, credential.roles.clone()));
    }
    if let Some(trust_id) =
        scope.and_then(|scope| scope.get("OS-TRUST:trust")).and_then(|trust| trust.text("id"))
    {
        return by_trust(world, &user_id, trust_id);
    }
    let project = match scope {
        Some(Value::String(_)) => None,
        Some(scope) if scope.get("project").is_some() => {
            let wanted = scope.get("project").unwrap_or(&Value::Null);
            Some(find_project(world, wanted).ok_or_else(|| unauthorized(world))?)
        }
        Some(scope) if scope.get("unscoped").is_some() => None,
        Some(_) => return Err(unauthorized(world)),
        None => default_project(world, &user_id),
    };
    match project {
        None => Ok((user_id, Scope::Unscoped, Vec::new())),
        Some(project) => {
            let roles = world.state.identity.roles_of(&user_id, &project);
            Ok((user_id, Scope::Project(project), roles))
        }
    }
}

fn default_project(world: &World, user_id: &str) -> Option<String> {
    let identity = &world.state.identity;
    let project = identity.users.get(user_id)?.default_project_id.clone()?;
    (!identity.roles_of(user_id, &project).is_empty()).then_some(project)
}

fn find_project(world: &World, wanted: &Value) -> Option<String> {
    let identity = &world.state.identity;
    let project = match wanted.text("id") {
        Some(id) => identity.projects.get(id)?,
        None => {
            let domain = wanted.get("domain").unwrap_or(&Value::Null);
            let domain = identity.domain(domain.text("id"), domain.text("name"))?;
            let name = wanted.text("name")?;
            identity
                .projects
                .values()
                .find(|project| project.name == name && project.domain_id == domain.id)?
        }
    };
    project.enabled.then(|| project.id.clone())
}

fn by_trust(
    world: &mut World,
    trustee: &str,
    trust_id: &str,
) -> Result<(String, Scope, Vec<String>), Refusal> {
    let now = world.now;
    let usable = world.state.identity.trusts.get_mut(trust_id).filter(|trust| {
        trust.trustee_user_id == trustee
            && trust.expires_at.is_none_or(|end| now < end)
            && trust.remaining_uses.is_none_or(|uses| uses > 0)
    });
    let Some(trust) = usable else { return Err(unauthorized(world)) };
    trust.remaining_uses = trust.remaining_uses.map(|uses| uses - 1);
    let trust = trust.clone();
    let user_id = if trust.impersonation { &trust.trustor_user_id } else { &trust.trustee_user_id };
    let scope = Scope::Trust { trust_id: trust.id.clone(), project_id: trust.project_id.clone() };
    // A trust gives no more than its trustor still has.
    let has = world.state.identity.roles_of(&trust.trustor_user_id, &trust.project_id);
    let mut roles: Vec<String> = trust.roles.iter().filter(|role| has.contains(role)).cloned().collect();
    let identity = &world.state.identity;
    if let (Some(member), Some(reader)) = (identity.role_named("member"), identity.role_named("reader"))
        && roles.contains(&member.id)
        && !roles.contains(&reader.id)
    {
        roles.push(reader.id.clone());
    }
    Ok((user_id.clone(), scope, roles))
}
