//! Security groups; every project has one that is called `default`.

use http::StatusCode;
use serde_json::{Value, json};

use super::changes::{
    check_known, check_revision, may_change, may_write, now, project, wanted_changes, with_changes,
    with_tenant,
};
use super::collection::Listing;
use super::errors::{conflict, missing, path_unknown};
use super::model::{SecurityGroup, SecurityGroupRule, Standard};
use super::{quotas, rules};
use crate::cloud::World;
use crate::http::json::to_map;
use crate::http::{ApiResponse, Call, Refusal, Reply};

const WRITABLE: [&str; 3] = ["name", "description", "stateful"];

/// Requests below `/security-groups`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            if !call.caller.project_id.is_empty() {
                default_group(world, &call.caller.project_id);
            }
            let listing = Listing {
                collection: "security-groups",
                table: &world.state.network.security_groups,
                indexed: &[],
                computed: &[],
                visible: &|group| call.caller.may_see(&group.project_id),
                render: &|group| render(world, group, false),
                special: None,
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let group = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"security_group": render(world, group, true)})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        _ => Err(path_unknown()),
    }
}

/// A group the caller may see.
pub(super) fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a SecurityGroup, Refusal> {
    let group = world.state.network.security_groups.get(id);
    group.filter(|group| call.caller.may_see(&group.project_id)).ok_or_else(|| missing("security-groups", id))
}

/// A group of a project by its name or identifier.
pub(super) fn by_name_or_id(world: &World, project: &str, name: &str) -> Option<String> {
    let groups = &world.state.network.security_groups;
    let key = format!("{project}/{name}");
    let found = groups.get(name).or_else(|| groups.find("project_name", &key).next());
    found.map(|group| group.id.clone())
}

fn render(world: &World, group: &SecurityGroup, single: bool) -> Value {
    let mut shown = with_tenant(to_map(group));
    let rules = world.state.network.rules.find("security_group_id", &group.id);
    let rules: Vec<Value> = rules.map(|rule| rules::nested(rule, single)).collect();
    shown.insert("security_group_rules".into(), Value::Array(rules));
    Value::Object(shown)
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    may_write(call.caller, "create_security_group")?;
    let changes = wanted_changes(call, "security_group")?;
    check_known(&changes, &WRITABLE)?;
    let wanted = Value::Object(changes.clone());
    let project = project(call.caller, &wanted, "create_security_group")?;
    default_group(world, &project);
    quotas::check(world, &project, "security_group", 1)?;
    let blank = blank(world, &project, "");
    let group = with_changes(&blank, &changes, &WRITABLE)?;
    if group.name == "default" {
        let message = "Default security group already exists.";
        return Err(conflict("SecurityGroupDefaultAlreadyExists", message));
    }
    insert_with_egress(world, group.clone());
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"security_group": render(world, &group, true)})))
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let group = find(world, call, id)?.clone();
    may_change(call.caller, &group.project_id, "update_security_group", missing("security-groups", id))?;
    check_revision(call, &group)?;
    let changes = wanted_changes(call, "security_group")?;
    check_known(&changes, &WRITABLE)?;
    let mut changed = with_changes(&group, &changes, &WRITABLE)?;
    if group.name == "default" && changed.name != group.name {
        let message = "Updating default security group not allowed.";
        return Err(conflict("SecurityGroupCannotUpdateDefault", message));
    }
    changed.touch(&now(world));
    world.state.network.security_groups.insert(changed.clone());
    Ok(ApiResponse::ok(json!({"security_group": render(world, &changed, true)})))
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let group = find(world, call, id)?;
    may_change(call.caller, &group.project_id, "delete_security_group", missing("security-groups", id))?;
    if world.state.network.ports.find("security_groups", id).next().is_some() {
        return Err(conflict("SecurityGroupInUse", &format!("Security Group {id} in use.")));
    }
    if group.name == "default" && !call.caller.is_admin() {
        let message = "Removing default security group not allowed.";
        return Err(conflict("SecurityGroupCannotRemoveDefault", message));
    }
    forget(world, id);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

/// Takes a group out, with its rules, and those of others that let its members in.
pub(crate) fn forget(world: &mut World, id: &str) {
    for rule in world.state.network.rules.find_ids("security_group_id", id) {
        world.state.network.rules.remove(&rule);
    }
    let from_it = |rule: &&SecurityGroupRule| rule.remote_group_id.as_deref() == Some(id);
    let rules = world.state.network.rules.iter().filter(from_it).map(|rule| rule.id.clone());
    for rule in rules.collect::<Vec<_>>() {
        world.state.network.rules.remove(&rule);
    }
    world.state.network.security_groups.remove(id);
}

fn blank(world: &mut World, project: &str, name: &str) -> SecurityGroup {
    let now = now(world);
    SecurityGroup {
        id: world.ids.uuid(),
        name: name.to_owned(),
        project_id: project.to_owned(),
        stateful: true,
        created_at: now.clone(),
        updated_at: now,
        revision_number: 1,
        ..SecurityGroup::default()
    }
}

/// Every new group lets everything out.
fn insert_with_egress(world: &mut World, group: SecurityGroup) {
    for ethertype in ["IPv4", "IPv6"] {
        let blank = rules::blank(world, &group.project_id, &group.id);
        let egress = SecurityGroupRule {
            direction: "egress".to_owned(),
            ethertype: ethertype.to_owned(),
            description: None,
            ..blank
        };
        world.state.network.rules.insert(egress);
    }
    world.state.network.security_groups.insert(group);
}

/// Adds a group to an estate; gives its identifier.
pub fn add_group(world: &mut World, project: &str, name: &str) -> String {
    let group = blank(world, project, name);
    let id = group.id.clone();
    insert_with_egress(world, group);
    id
}

/// The default group of a project, which is made when it is first needed: lets everything in from its own members.
pub fn default_group(world: &mut World, project: &str) -> String {
    let key = format!("{project}/default");
    if let Some(group) = world.state.network.security_groups.find("project_name", &key).next() {
        return group.id.clone();
    }
    let mut group = blank(world, project, "default");
    "Default security group".clone_into(&mut group.description);
    let id = group.id.clone();
    insert_with_egress(world, group);
    for ethertype in ["IPv4", "IPv6"] {
        let blank = rules::blank(world, project, &id);
        let ingress = SecurityGroupRule {
            direction: "ingress".to_owned(),
            ethertype: ethertype.to_owned(),
            remote_group_id: Some(id.clone()),
            description: None,
            ..blank
        };
        world.state.network.rules.insert(ingress);
    }
    id
}
