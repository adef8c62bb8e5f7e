//! Keystone's collections: domains, projects, users, roles, role assignments, services, endpoints, regions.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{bad_request, duplicate, duplicate_project, forbidden, not_found, path_unknown};
use super::model::{Domain, Project, Role, User};
use super::{appcreds, catalog, tokens, trusts};
use crate::cloud::World;
use crate::config::Service;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Call, Refusal, Reply};
use crate::ids::steady_id;

/// Requests below `/v3` by somebody with a token.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    let method = call.request.method.as_str();
    match (method, rest) {
        ("GET" | "HEAD" | "DELETE", ["auth", "tokens"]) => tokens::serve(world, call),
        ("GET", ["auth", "catalog"]) => {
            let links = json!({"self": link(world, "auth/catalog")});
            Ok(ApiResponse::ok(json!({"catalog": catalog::render(world), "links": links})))
        }
        ("GET", ["auth", "projects"]) => Ok(projects_of(world, call, &call.caller.user_id)),
        ("GET", ["users", id, "projects"]) if *id == call.caller.user_id => Ok(projects_of(world, call, id)),
        (_, ["users", id, "application_credentials", rest @ ..]) => appcreds::serve(world, call, id, rest),
        (_, ["OS-TRUST", "trusts", rest @ ..]) => trusts::serve(world, call, rest),
        ("GET", ["projects", id]) if *id == call.caller.project_id => {
            let project = find(&world.state.identity.projects, "project", id)?;
            Ok(ApiResponse::ok(json!({"project": project_json(world, project)})))
        }
        ("GET", ["users", id]) if *id == call.caller.user_id => {
            let user = find(&world.state.identity.users, "user", id)?;
            Ok(ApiResponse::ok(json!({"user": user_json(world, user)})))
        }
        ("GET", ["roles", ..]) | ("GET", ["regions", ..]) => admin(world, call, rest),
        (
            _,
            [
                "domains" | "projects" | "users" | "roles" | "role_assignments" | "services" | "endpoints"
                | "regions",
                ..,
            ],
        ) => {
            if !call.caller.is_admin() {
                return Err(forbidden(&action(call, rest)));
            }
            admin(world, call, rest)
        }
        _ => Err(path_unknown()),
    }
}

/// The policy name of what is asked, such as `identity:list_projects`.
fn action(call: &Call<'_>, rest: &[&str]) -> String {
    let collection = rest.first().copied().unwrap_or_default();
    let single = collection.trim_end_matches('s');
    match (call.request.method.as_str(), rest.len()) {
        ("GET", 1) => format!("identity:list_{collection}"),
        ("GET", _) => format!("identity:get_{single}"),
        ("POST", _) => format!("identity:create_{single}"),
        ("DELETE", _) => format!("identity:delete_{single}"),
        _ => format!("identity:update_{single}"),
    }
}

fn admin(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    let method = call.request.method.as_str();
    match (method, rest) {
        ("GET", ["domains"]) => {
            Ok(list(world, call, "domains", |world| &world.state.identity.domains, domain_json))
        }
        ("GET", ["domains", id]) => {
            let domain = find(&world.state.identity.domains, "domain", id)?;
            Ok(ApiResponse::ok(json!({"domain": domain_json(world, domain)})))
        }
        ("GET", ["projects"]) => {
            Ok(list(world, call, "projects", |world| &world.state.identity.projects, project_json))
        }
        ("POST", ["projects"]) => create_project(world, call),
        ("GET", ["projects", id]) => {
            let project = find(&world.state.identity.projects, "project", id)?;
            Ok(ApiResponse::ok(json!({"project": project_json(world, project)})))
        }
        ("PATCH", ["projects", id]) => change_project(world, call, id),
        ("DELETE", ["projects", id]) => {
            find(&world.state.identity.projects, "project", id)?;
            world.state.identity.projects.remove(*id);
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        ("GET", ["users"]) => Ok(list(world, call, "users", |world| &world.state.identity.users, user_json)),
        ("POST", ["users"]) => create_user(world, call),
        ("GET", ["users", id]) => {
            let user = find(&world.state.identity.users, "user", id)?;
            Ok(ApiResponse::ok(json!({"user": user_json(world, user)})))
        }
        ("PATCH", ["users", id]) => change_user(world, call, id),
        ("GET", ["users", id, "projects"]) => Ok(projects_of(world, call, id)),
        ("DELETE", ["users", id]) => {
            find(&world.state.identity.users, "user", id)?;
            world.state.identity.users.remove(*id);
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        ("GET", ["roles"]) => Ok(list(world, call, "roles", |world| &world.state.identity.roles, role_json)),
        ("GET", ["roles", id]) => {
            let role = find(&world.state.identity.roles, "role", id)?;
            Ok(ApiResponse::ok(json!({"role": role_json(world, role)})))
        }
        ("PUT" | "DELETE" | "HEAD", ["projects", project, "users", user, "roles", role]) => {
            assign(world, call, project, user, role)
        }
        ("GET", ["projects", project, "users", user, "roles"]) => {
            let has = world.state.identity.roles_of(user, project);
            let roles = has.iter().filter_map(|id| world.state.identity.roles.get(id));
            let shown = roles.map(|role| role_json(world, role)).collect();
            Ok(collection(world, call, "roles", shown))
        }
        ("GET", ["role_assignments"]) => Ok(assignments(world, call)),
        ("GET", ["services"]) => {
            let shown = Service::ALL.into_iter().map(|service| service_json(world, service)).collect();
            Ok(collection(world, call, "services", shown))
        }
        ("GET", ["endpoints"]) => {
            let shown = Service::ALL.into_iter().flat_map(|service| endpoints_json(world, service)).collect();
            Ok(collection(world, call, "endpoints", shown))
        }
        ("GET", ["regions"]) => {
            let region = |region: &crate::config::Region| {
                let links = json!({"self": link(world, &format!("regions/{}", region.name))});
                json!({"id": region.name, "description": "", "parent_region_id": null, "links": links})
            };
            let shown = world.config.regions.iter().map(region).collect();
            Ok(collection(world, call, "regions", shown))
        }
        _ => Err(path_unknown()),
    }
}

/// A list as Keystone writes it.
pub(super) fn collection(world: &World, call: &Call<'_>, name: &str, shown: Vec<Value>) -> ApiResponse {
    let query = crate::http::Query::write(call.request.query.pairs());
    let path = call.request.path.trim_start_matches("/v3/");
    let own = if query.is_empty() { link(world, path) } else { format!("{}?{query}", link(world, path)) };
    let mut body = json!({"links": {"next": null, "self": own, "previous": null}});
    if let Some(body) = body.as_object_mut() {
        body.insert(name.to_owned(), Value::Array(shown));
    }
    ApiResponse::ok(body)
}

/// The address of something below `/v3`.
pub(super) fn link(world: &World, path: &str) -> String {
    format!("{}/v3/{path}", world.config.base(Service::Identity))
}

fn find<'a, T>(
    rows: &'a std::collections::BTreeMap<String, T>,
    kind: &str,
    id: &str,
) -> Result<&'a T, Refusal> {
    rows.get(id).ok_or_else(|| not_found(kind, id))
}

fn list<T>(
    world: &World,
    call: &Call<'_>,
    name: &str,
    rows: impl Fn(&World) -> &std::collections::BTreeMap<String, T>,
    render: impl Fn(&World, &T) -> Value,
) -> ApiResponse {
    let filters =
        crate::listing::Filters::of(&call.request.query, &["limit", "marker", "sort_key", "sort_dir"]);
    let shown = rows(world).values().map(|row| render(world, row));
    let wanted = |row: &Value| {
        let known = |name: &str| row.get(name).is_some();
        filters.names().filter(|name| known(name)).all(|name| {
            let values = filters.values(name).unwrap_or_default();
            let actual = row.get(name).cloned().unwrap_or_default();
            let text = actual.as_str().map_or_else(|| actual.to_string(), str::to_owned);
            values.iter().any(|value| value.eq_ignore_ascii_case(&text))
        })
    };
    collection(world, call, name, shown.filter(wanted).collect())
}

fn projects_of(world: &World, call: &Call<'_>, user_id: &str) -> ApiResponse {
    let identity = &world.state.identity;
    let mine = |project: &&Project| !identity.roles_of(user_id, &project.id).is_empty();
    let shown = identity.projects.values().filter(mine).map(|project| project_json(world, project)).collect();
    collection(world, call, "projects", shown)
}

fn create_project(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = call.request.body.get("project").cloned().unwrap_or_default();
    let name = wanted.text("name").ok_or_else(|| bad_request("'name' is a required property"))?.to_owned();
    let domain_id = wanted.text("domain_id").unwrap_or("default").to_owned();
    let taken = |project: &Project| project.name == name && project.domain_id == domain_id;
    if world.state.identity.projects.values().any(taken) {
        return Err(duplicate_project(&name, &world.ids.hex()));
    }
    let project = Project {
        id: world.ids.hex(),
        name,
        domain_id,
        description: wanted.text("description").unwrap_or_default().to_owned(),
        enabled: wanted.flag("enabled").unwrap_or(true),
        tags: wanted.texts("tags"),
    };
    let shown = project_json(world, &project);
    world.state.identity.projects.insert(project.id.clone(), project);
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"project": shown})))
}

fn change_project(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let wanted = call.request.body.get("project").cloned().unwrap_or_default();
    let project = world.state.identity.projects.get_mut(id).ok_or_else(|| not_found("project", id))?;
    if let Some(name) = wanted.text("name") {
        name.clone_into(&mut project.name);
    }
    if let Some(description) = wanted.text("description") {
        description.clone_into(&mut project.description);
    }
    project.enabled = wanted.flag("enabled").unwrap_or(project.enabled);
    let project = project.clone();
    Ok(ApiResponse::ok(json!({"project": project_json(world, &project)})))
}

fn create_user(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = call.request.body.get("user").cloned().unwrap_or_default();
    let name = wanted.text("name").ok_or_else(|| bad_request("'name' is a required property"))?.to_owned();
    let domain_id = wanted.text("domain_id").unwrap_or("default").to_owned();
    if world.state.identity.users.values().any(|user| user.name == name && user.domain_id == domain_id) {
        return Err(duplicate("user", &name));
    }
    let user = User {
        id: world.ids.hex(),
        name,
        domain_id,
        password: wanted.text("password").unwrap_or_default().to_owned(),
        enabled: wanted.flag("enabled").unwrap_or(true),
        default_project_id: wanted.text("default_project_id").map(str::to_owned),
    };
    let shown = user_json(world, &user);
    world.state.identity.users.insert(user.id.clone(), user);
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"user": shown})))
}

fn change_user(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let wanted = call.request.body.get("user").cloned().unwrap_or_default();
    let user = world.state.identity.users.get_mut(id).ok_or_else(|| not_found("user", id))?;
    if let Some(password) = wanted.text("password") {
        password.clone_into(&mut user.password);
    }
    user.enabled = wanted.flag("enabled").unwrap_or(user.enabled);
    let user = user.clone();
    let mut shown = user_json(world, &user);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("extra".into(), json!({}));
    }
    Ok(ApiResponse::ok(json!({"user": shown})))
}

fn assign(world: &mut World, call: &Call<'_>, project: &str, user: &str, role: &str) -> Reply {
    find(&world.state.identity.projects, "project", project)?;
    find(&world.state.identity.users, "user", user)?;
    find(&world.state.identity.roles, "role", role)?;
    let assignment = (user.to_owned(), project.to_owned(), role.to_owned());
    let assignments = &mut world.state.identity.assignments;
    let there = match call.request.method.as_str() {
        "PUT" => {
            assignments.insert(assignment);
            true
        }
        "DELETE" => assignments.remove(&assignment),
        _ => assignments.contains(&assignment),
    };
    if there {
        Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
    } else {
        Err(not_found("role assignment", role))
    }
}

fn assignments(world: &World, call: &Call<'_>) -> ApiResponse {
    let query = &call.request.query;
    let wanted = |name: &str, value: &str| query.get(name).is_none_or(|wanted| wanted == value);
    let shown = world.state.identity.assignments.iter().filter(|(user, project, role)| {
        wanted("user.id", user) && wanted("scope.project.id", project) && wanted("role.id", role)
    });
    let shown = shown.map(|(user, project, role)| {
        let path = format!("projects/{project}/users/{user}/roles/{role}");
        json!({
            "role": {"id": role}, "user": {"id": user}, "scope": {"project": {"id": project}},
            "links": {"assignment": link(world, &path)},
        })
    });
    collection(world, call, "role_assignments", shown.collect())
}

fn domain_json(world: &World, domain: &Domain) -> Value {
    json!({
        "id": domain.id, "name": domain.name, "description": "", "enabled": true, "tags": [], "options": {},
        "links": {"self": link(world, &format!("domains/{}", domain.id))},
    })
}

fn project_json(world: &World, project: &Project) -> Value {
    json!({
        "id": project.id, "name": project.name, "domain_id": project.domain_id,
        "description": project.description, "enabled": project.enabled, "parent_id": project.domain_id,
        "is_domain": false, "tags": project.tags, "options": {},
        "links": {"self": link(world, &format!("projects/{}", project.id))},
    })
}

fn user_json(world: &World, user: &User) -> Value {
    json!({
        "id": user.id, "name": user.name, "domain_id": user.domain_id, "enabled": user.enabled,
        "default_project_id": user.default_project_id, "password_expires_at": null, "options": {},
        "links": {"self": link(world, &format!("users/{}", user.id))},
    })
}

fn role_json(world: &World, role: &Role) -> Value {
    let mut shown = tokens::role(role);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("links".into(), json!({"self": link(world, &format!("roles/{}", role.id))}));
    }
    shown
}

fn service_json(world: &World, service: Service) -> Value {
    let id = steady_id(service.catalog_type());
    let links = json!({"self": link(world, &format!("services/{id}"))});
    json!({"id": id, "type": service.catalog_type(), "name": service.project_name(), "enabled": true, "links": links})
}

fn endpoints_json(world: &World, service: Service) -> Vec<Value> {
    let mut endpoints = catalog::endpoints(world, service);
    for endpoint in endpoints.iter_mut().filter_map(Value::as_object_mut) {
        endpoint.insert("service_id".into(), json!(steady_id(service.catalog_type())));
        endpoint.insert("enabled".into(), json!(true));
    }
    endpoints
}
