//! Trusts.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{bad_request, forbidden, not_found};
use super::model::Trust;
use super::resources::{collection, link};
use super::tokens;
use crate::clock::micros_zulu;
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Call, Refusal, Reply};

/// Requests below `/v3/OS-TRUST/trusts`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let mine = |trust: &&Trust| may_see(call, trust);
            let shown = world.state.identity.trusts.values().filter(mine);
            let shown = shown.map(|trust| render(world, trust, false)).collect();
            Ok(collection(world, call, "trusts", shown))
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let trust = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"trust": render(world, trust, true)})))
        }
        ("DELETE", [id]) => {
            find(world, call, id)?;
            world.state.identity.trusts.remove(*id);
            let gone = |scope: &super::Scope| matches!(scope, super::Scope::Trust { trust_id, .. } if trust_id == id);
            world.state.identity.tokens.retain(|_, token| !gone(&token.scope));
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(super::errors::path_unknown()),
    }
}

fn may_see(call: &Call<'_>, trust: &Trust) -> bool {
    let user = &call.caller.user_id;
    call.caller.is_admin() || trust.trustor_user_id == *user || trust.trustee_user_id == *user
}

fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a Trust, Refusal> {
    let trust = world.state.identity.trusts.get(id).ok_or_else(|| not_found("trust", id))?;
    if may_see(call, trust) { Ok(trust) } else { Err(forbidden("identity:get_trust")) }
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = call.request.body.get("trust").cloned().unwrap_or_default();
    let required = |name: &str| {
        let missing = || bad_request(&format!("'{name}' is a required property"));
        wanted.text(name).map(str::to_owned).ok_or_else(missing)
    };
    let (trustor, trustee) = (required("trustor_user_id")?, required("trustee_user_id")?);
    let project_id = required("project_id")?;
    if trustor != call.caller.user_id {
        return Err(forbidden("identity:create_trust"));
    }
    let has = world.state.identity.roles_of(&trustor, &project_id);
    let mut roles = Vec::new();
    for role in wanted.list("roles") {
        let (id, name) = (role.text("id"), role.text("name"));
        let found = match (id, name) {
            (Some(id), _) => world.state.identity.roles.get(id),
            (None, Some(name)) => world.state.identity.role_named(name),
            (None, None) => None,
        };
        let found = found.filter(|role| has.contains(&role.id));
        let missing = || not_found("role", id.or(name).unwrap_or_default());
        roles.push(found.ok_or_else(missing)?.id.clone());
    }
    let trust = Trust {
        id: world.ids.hex(),
        trustor_user_id: trustor,
        trustee_user_id: trustee,
        project_id,
        impersonation: wanted.flag("impersonation").unwrap_or(false),
        roles,
        expires_at: wanted.text("expires_at").and_then(|time| time.parse().ok()),
        remaining_uses: wanted.integer("remaining_uses"),
    };
    let shown = render(world, &trust, true);
    world.state.identity.trusts.insert(trust.id.clone(), trust);
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"trust": shown})))
}

fn render(world: &World, trust: &Trust, with_roles: bool) -> Value {
    let mut shown = json!({
        "id": trust.id, "trustor_user_id": trust.trustor_user_id, "trustee_user_id": trust.trustee_user_id,
        "project_id": trust.project_id, "impersonation": trust.impersonation,
        "expires_at": trust.expires_at.map(micros_zulu), "remaining_uses": trust.remaining_uses,
        "deleted_at": null, "redelegated_trust_id": null, "redelegation_count": 0,
        "roles_links": {"self": link(world, &format!("{}/roles", trust.id)), "next": null, "previous": null},
        "links": {"self": link(world, &format!("OS-TRUST/trusts/{}", trust.id))},
    });
    if let Some(shown) = shown.as_object_mut().filter(|_| with_roles) {
        let roles = trust.roles.iter().filter_map(|id| world.state.identity.roles.get(id));
        let full = |role: &super::Role| {
            let mut full = tokens::role(role);
            if let Some(full) = full.as_object_mut() {
                full.insert("links".into(), json!({"self": link(world, &format!("roles/{}", role.id))}));
            }
            full
        };
        shown.insert("roles".into(), roles.map(full).collect());
    }
    shown
}
