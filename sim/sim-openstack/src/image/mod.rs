//! Glance: as much as the command-line client asks for when it makes servers. Images have no content.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use crate::cloud::World;
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Refusal, Reply};
use crate::identity;

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its identifier.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Who owns it.
    pub project_id: String,
    /// When it was made.
    pub created_at: String,
}

/// Everything Glance knows.
#[derive(Clone, Debug, Default)]
pub struct ImageState {
    /// Images by identifier.
    pub images: BTreeMap<String, Image>,
}

/// Answers a request to Glance.
pub(crate) fn serve(world: &World, request: &ApiRequest) -> Reply {
    let parts = request.parts();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", [] | ["versions"]) => Ok(versions(world, parts.is_empty())),
        ("GET", ["v2", "images"]) => {
            identity::authenticate(world, request)?;
            Ok(list(world, request))
        }
        ("GET", ["v2", "images", id]) => {
            identity::authenticate(world, request)?;
            match world.state.image.images.get(*id) {
                Some(image) => Ok(ApiResponse::ok(render(image))),
                None => Err(not_found(&format!("No image found with ID {id}"))),
            }
        }
        _ => Err(not_found("The resource could not be found.")),
    }
}

fn versions(world: &World, choices: bool) -> ApiResponse {
    let href = format!("{}/v2/", world.config.base(Service::Image));
    let version = |minor: u32| {
        let status = if minor == 17 { "CURRENT" } else { "SUPPORTED" };
        json!({"id": format!("v2.{minor}"), "status": status, "links": [{"rel": "self", "href": href}]})
    };
    let versions: Vec<Value> =
        (0..=17).rev().filter(|minor| !matches!(minor, 14 | 16)).map(version).collect();
    let status = if choices { StatusCode::MULTIPLE_CHOICES } else { StatusCode::OK };
    ApiResponse::json(status, json!({"versions": versions}))
}

fn list(world: &World, request: &ApiRequest) -> ApiResponse {
    let name = request.query.get("name").map(|name| name.strip_prefix("in:").unwrap_or(name));
    let marker = request.query.get("marker");
    let images = world.state.image.images.values().filter(|image| {
        name.is_none_or(|name| image.name == name) && marker.is_none_or(|marker| image.id.as_str() > marker)
    });
    let images: Vec<Value> = images.map(render).collect();
    ApiResponse::ok(json!({"images": images, "first": "/v2/images", "schema": "/v2/schemas/images"}))
}

fn render(image: &Image) -> Value {
    json!({
        "id": image.id, "name": image.name, "owner": image.project_id, "status": "active",
        "visibility": "public", "container_format": "bare", "disk_format": "raw", "size": 512,
        "min_disk": 0, "min_ram": 0, "protected": false, "tags": [], "os_hidden": false,
        "created_at": image.created_at, "updated_at": image.created_at, "checksum": null,
        "self": format!("/v2/images/{}", image.id), "file": format!("/v2/images/{}/file", image.id),
        "schema": "/v2/schemas/image",
    })
}

fn not_found(message: &str) -> Refusal {
    let body = json!({"message": format!("{message}<br /><br />\n\n\n"), "code": "404 Not Found", "title": "Not Found"});
    Refusal::json(StatusCode::NOT_FOUND, body)
}
