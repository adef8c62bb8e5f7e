//! Barbican: secrets and containers, as much as TLS listeners need.

mod containers;
mod secrets;

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::json;

use crate::cloud::World;
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Call, Refusal, Reply};
use crate::identity;
use crate::table::{OrderKey, Row, Table};

#[cfg(test)]
mod tests;

/// A secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secret {
    /// Its identifier.
    pub id: String,
    /// Its project.
    pub project_id: String,
    /// Who made it.
    pub creator_id: String,
    /// Its name.
    pub name: Option<String>,
    /// What kind it is: certificate, private, passphrase, opaque.
    pub kind: String,
    /// Its content; none until it is stored.
    pub payload: Option<String>,
    /// The content type of the content.
    pub content_type: String,
    /// When it ends.
    pub expiration: Option<String>,
    /// When it was made.
    pub created: String,
}

/// A container: named references to secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// Its identifier.
    pub id: String,
    /// Its project.
    pub project_id: String,
    /// Who made it.
    pub creator_id: String,
    /// Its name.
    pub name: Option<String>,
    /// What kind it is: certificate, rsa, generic.
    pub kind: String,
    /// The identifiers of its secrets by what they are in it.
    pub secrets: BTreeMap<String, String>,
    /// When it was made.
    pub created: String,
}

impl Row for Secret {
    fn id(&self) -> &str {
        &self.id
    }
    fn project_id(&self) -> &str {
        &self.project_id
    }
    fn order_key(&self) -> OrderKey {
        (self.created.clone(), self.id.clone())
    }
}

impl Row for Container {
    fn id(&self) -> &str {
        &self.id
    }
    fn project_id(&self) -> &str {
        &self.project_id
    }
    fn order_key(&self) -> OrderKey {
        (self.created.clone(), self.id.clone())
    }
}

/// Everything Barbican knows.
#[derive(Clone, Debug, Default)]
pub struct KeyManagerState {
    /// Secrets.
    pub secrets: Table<Secret>,
    /// Containers.
    pub containers: Table<Container>,
}

/// Answers a request to Barbican.
pub(crate) fn serve(world: &mut World, request: &ApiRequest) -> Reply {
    let parts = request.parts();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", []) => {
            let version = version(world);
            Ok(ApiResponse::json(StatusCode::MULTIPLE_CHOICES, json!({"versions": [version]})))
        }
        ("GET", ["v1"]) => Ok(ApiResponse::ok(json!({"version": version(world)}))),
        (_, ["v1", rest @ ..]) => {
            let caller = identity::authenticate(world, request)?;
            let call = Call { request, caller: &caller };
            match rest {
                ["secrets", rest @ ..] => secrets::serve(world, &call, rest),
                ["containers", rest @ ..] => containers::serve(world, &call, rest),
                _ => Err(path_unknown()),
            }
        }
        _ => Err(path_unknown()),
    }
}

/// Whether a reference names a secret or container that a project may use.
pub(crate) fn usable(world: &World, reference: &str, project: &str) -> bool {
    let mut parts = reference.rsplit('/');
    let (id, kind) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let state = &world.state.key_manager;
    match kind {
        "secrets" => state.secrets.get(id).is_some_and(|secret| secret.project_id == project),
        "containers" => state.containers.get(id).is_some_and(|container| container.project_id == project),
        _ => false,
    }
}

fn version(world: &World) -> serde_json::Value {
    let href = format!("{}/v1/", world.config.base(Service::KeyManager));
    json!({
        "id": "v1", "status": "CURRENT", "min_version": "1.0", "max_version": "1.1",
        "links": [{"rel": "self", "href": href}],
    })
}

fn refusal(status: StatusCode, description: &str) -> Refusal {
    let title = status.canonical_reason().unwrap_or("Error");
    Refusal::json(status, json!({"code": status.as_u16(), "title": title, "description": description}))
}

fn path_unknown() -> Refusal {
    refusal(StatusCode::NOT_FOUND, "The resource could not be found.")
}

/// Barbican says so also of things that belong to others.
fn not_found(kind: &str) -> Refusal {
    refusal(StatusCode::NOT_FOUND, &format!("Not Found. Sorry but your {kind} is in another castle."))
}

/// Where a page starts and how long it is.
fn window(call: &Call<'_>) -> (usize, usize) {
    let number = |name: &str| call.request.query.get(name).and_then(|text| text.parse().ok());
    (number("offset").unwrap_or(0), number("limit").unwrap_or(10).min(100))
}

/// A list as Barbican writes it, with links by offset.
fn listed(world: &World, call: &Call<'_>, collection: &str, all: Vec<serde_json::Value>) -> ApiResponse {
    let total = all.len();
    let (offset, limit) = window(call);
    let page: Vec<_> = all.into_iter().skip(offset).take(limit).collect();
    let base = format!("{}/v1/{collection}", world.config.base(Service::KeyManager));
    let mut body = json!({collection: page, "total": total});
    if let Some(body) = body.as_object_mut() {
        if offset + limit < total {
            body.insert("next".into(), json!(format!("{base}?limit={limit}&offset={}", offset + limit)));
        }
        if offset > 0 {
            let before = offset.saturating_sub(limit);
            body.insert("previous".into(), json!(format!("{base}?limit={limit}&offset={before}")));
        }
    }
    ApiResponse::ok(body)
}
