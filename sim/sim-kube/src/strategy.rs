//! Rules of single kinds: defaults, what may change, what is allocated. Generic rules are in `verbs`.

use serde_json::Value;

use crate::core::Core;
use crate::object;
use crate::resource::Resource;
use crate::status::{ApiError, FieldError};

mod allocations;
mod config;
pub(crate) mod crd;
pub(crate) mod event;
pub(crate) mod fields;
mod lease;
pub(crate) mod namespace;
mod node;
mod secret;
mod service;
mod workload;

pub(crate) use allocations::Allocations;

/// Defaults of a new object, and the parts that a client cannot set.
pub(crate) fn default_new(resource: &Resource, object: &mut Value) {
    // Nodes may be created with a status; nobody else may.
    if resource.has_status && !resource.is("", "nodes") {
        object::map_of(object).remove("status");
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "services") => service::default_new(object),
        ("", "nodes") => node::default_new(object),
        ("", "namespaces") => namespace::default_new(object),
        ("", "secrets") => secret::default(object),
        ("apiextensions.k8s.io", "customresourcedefinitions") => crd::default_new(object),
        ("apps", _) | ("", "pods") => workload::default_new(resource, object),
        _ => {}
    }
}

/// A new object as its creator owns it: without what the server itself has set.
pub(crate) fn claimed_new(resource: &Resource, given: &Value, object: &Value) -> Value {
    let mut claimed = object.clone();
    let (part, servers) = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "services") => ("spec", "clusterIPs"),
        ("", "namespaces") => ("spec", "finalizers"),
        ("", "nodes") => ("spec", "taints"),
        _ => return claimed,
    };
    let own = object::at(given, &[part, servers]).cloned();
    let map = object::map_at(&mut claimed, &[part]);
    match own {
        Some(own) => map.insert(servers.into(), own),
        None => map.remove(servers),
    };
    claimed
}

/// The defaults that count as the writer's own.
pub(crate) fn default_claimed(resource: &Resource, object: &mut Value) {
    if resource.is("", "services") {
        service::default_spec(object);
    } else if resource.is("", "nodes") {
        node::default_change(object);
    }
}

/// Defaults of an object that is put into place as it is.
pub(crate) fn default_seeded(resource: &Resource, object: &mut Value) {
    if resource.is("", "nodes") {
        // Without the taint of new nodes: the caller says what the node is like.
        node::default_change(object);
    } else {
        default_new(resource, object);
    }
}

/// Complaints about a new object beyond its metadata.
pub(crate) fn validate_new(resource: &Resource, object: &Value) -> Vec<FieldError> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "services") => service::validate(object),
        ("", "configmaps" | "secrets") => config::validate(object),
        ("", "nodes") => node::validate(object),
        ("coordination.k8s.io", "leases") => lease::validate(object),
        ("", "events") => event::validate(object, "reportingComponent"),
        ("events.k8s.io", "events") => event::validate_strictly(object),
        ("apiextensions.k8s.io", "customresourcedefinitions") => crd::validate(object),
        _ => Vec::new(),
    }
}

/// Complaints about a changed object beyond its metadata.
pub(crate) fn validate_change(resource: &Resource, old: &Value, new: &Value) -> Vec<FieldError> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "services") => service::validate_change(old, new),
        ("", "configmaps" | "secrets") => config::validate_change(old, new),
        ("", "namespaces") => namespace::validate_change(new),
        ("", "nodes") => node::validate_change(old, new),
        ("coordination.k8s.io", "leases") => lease::validate(new),
        ("", "events") => event::validate(new, "reportingComponent"),
        ("events.k8s.io", "events") => event::validate(new, "reportingController"),
        ("apiextensions.k8s.io", "customresourcedefinitions") => crd::validate(new),
        _ => Vec::new(),
    }
}

/// Whether something must happen before the object may go.
pub(crate) fn is_held(resource: &Resource, object: &Value) -> bool {
    !object::finalizers(object).is_empty()
        || (resource.is("", "namespaces") && !object::list(object, &["spec", "finalizers"]).is_empty())
}

/// Refuses deletions that are never allowed.
///
/// # Errors
/// Forbidden, for the namespaces that a cluster cannot be without.
pub(crate) fn check_delete(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    if resource.is("", "namespaces") {
        return namespace::check_delete(resource, object);
    }
    Ok(())
}

impl Core {
    /// Gives a new object what the server allocates.
    ///
    /// # Errors
    /// When there is nothing left to give, or what was chosen is taken.
    pub(crate) fn allocate_new(&mut self, resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
        if resource.is("", "services") {
            return self.allocate_service(resource, None, object);
        }
        Ok(())
    }

    /// Gives a changed and valid object what its new form needs.
    ///
    /// # Errors
    /// When there is nothing left to give, or what was chosen is taken.
    pub(crate) fn allocate_change(
        &mut self,
        resource: &Resource,
        subresource: &str,
        old: &Value,
        new: &mut Value,
    ) -> Result<(), ApiError> {
        if resource.is("", "services") && subresource.is_empty() {
            return self.allocate_service(resource, Some(old), new);
        }
        Ok(())
    }
}

/// Defaults of a changed object.
pub(crate) fn default_change(resource: &Resource, subresource: &str, old: &Value, new: &mut Value) {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "services") if subresource.is_empty() => service::default_change(old, new),
        ("", "services") => service::default_status(new),
        ("", "nodes") => node::default_change(new),
        ("", "namespaces") => namespace::keep_finalizers(old, new),
        ("", "secrets") => secret::default(new),
        ("apiextensions.k8s.io", "customresourcedefinitions") => crd::default_change(new),
        ("apps", _) => workload::default_change(resource, new),
        _ => {}
    }
}
