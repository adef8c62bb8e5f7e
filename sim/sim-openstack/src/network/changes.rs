//! What creating, changing and deleting have in common for all of Neutron's objects.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::errors::{bad_request, invalid, not_in_body, policy, refusal};
use super::model::Standard;
use crate::cloud::World;
use crate::http::json::{members, merged};
use crate::http::{Call, Caller, Refusal};

/// The objects to create: one, or a list of them. The flag says whether it is a list.
pub(super) fn wanted(call: &Call<'_>, single: &str, plural: &str) -> Result<(Vec<Value>, bool), Refusal> {
    let body = &call.request.body;
    match (body.get(single), body.get(plural)) {
        (Some(one @ Value::Object(_)), _) => Ok((vec![one.clone()], false)),
        (None, Some(Value::Array(many))) => Ok((many.clone(), true)),
        _ => Err(not_in_body(single)),
    }
}

/// The members of the object in an update.
pub(super) fn wanted_changes(call: &Call<'_>, single: &str) -> Result<Map<String, Value>, Refusal> {
    call.request.body.get(single).map(members).ok_or_else(|| not_in_body(single))
}

/// For which project: one's own, or any for an administrator.
pub(super) fn project(caller: &Caller, wanted: &Value, action: &str) -> Result<String, Refusal> {
    let named = wanted.get("project_id").or_else(|| wanted.get("tenant_id")).and_then(Value::as_str);
    match named.filter(|named| !named.is_empty()) {
        None => Ok(caller.project_id.clone()),
        Some(named) if caller.may_see(named) => Ok(named.to_owned()),
        Some(_) => Err(policy(&format!("rule:{action}"))),
    }
}

/// Writing needs the member role.
pub(super) fn may_write(caller: &Caller, action: &str) -> Result<(), Refusal> {
    if caller.may_write() { Ok(()) } else { Err(policy(&format!("rule:{action}"))) }
}

/// Only the owner or an administrator changes an object; for others it is not there.
pub(super) fn may_change(caller: &Caller, owner: &str, action: &str, gone: Refusal) -> Result<(), Refusal> {
    if !caller.may_see(owner) {
        return Err(gone);
    }
    may_write(caller, action)
}

/// Attributes that neither the API nor anybody knows.
pub(super) fn check_known(wanted: &Map<String, Value>, known: &[&str]) -> Result<(), Refusal> {
    let own = ["project_id", "tenant_id", "id"];
    let unknown = wanted.keys().find(|name| !known.contains(&name.as_str()) && !own.contains(&name.as_str()));
    match unknown {
        None => Ok(()),
        Some(name) => Err(bad_request("HTTPBadRequest", &format!("Unrecognized attribute(s) '{name}'"))),
    }
}

/// A row with changes.
pub(super) fn with_changes<T: Serialize + DeserializeOwned>(
    row: &T,
    changes: &Map<String, Value>,
    allowed: &[&str],
) -> Result<T, Refusal> {
    merged(row, changes, allowed).map_err(|attribute| invalid(&attribute))
}

/// Refuses when the caller knows an older revision than there is.
pub(super) fn check_revision(call: &Call<'_>, row: &impl Standard) -> Result<(), Refusal> {
    let header = call.request.header("if-match").and_then(|header| header.strip_prefix("revision_number="));
    let Some(wanted) = header.and_then(|number| number.trim().parse::<u64>().ok()) else { return Ok(()) };
    let current = row.revision();
    if wanted == current {
        return Ok(());
    }
    let message = format!("Constrained to {wanted}, but current revision is {current}");
    Err(refusal(http::StatusCode::PRECONDITION_FAILED, "RevisionNumberConstraintFailed", &message))
}

/// The time as Neutron writes it.
pub(super) fn now(world: &World) -> String {
    crate::clock::zulu(world.now)
}

/// Adds the old name of the project, which Neutron still shows.
pub(super) fn with_tenant(mut shown: Map<String, Value>) -> Map<String, Value> {
    let project = shown.get("project_id").cloned().unwrap_or_default();
    shown.insert("tenant_id".to_owned(), project);
    shown
}
