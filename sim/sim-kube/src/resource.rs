//! What the server knows about a resource: names, scope, subresources and update policy. Holds no objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

mod builtin;
mod custom;

pub(crate) use builtin::builtin;
pub(crate) use custom::from_crd;

/// Where a resource's objects are kept: versions of one resource share them.
pub(crate) type BucketKey = (String, String);

/// One resource in one version.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resource {
    /// API group, "" for core.
    pub group: String,
    /// Version, as `v1`.
    pub version: String,
    /// Plural name, as in paths.
    pub plural: String,
    /// Singular name.
    pub singular: String,
    /// Kind of one object.
    pub kind: String,
    /// Kind of a list.
    pub list_kind: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Short names for kubectl.
    pub short_names: Vec<String>,
    /// Categories for kubectl, as `all`.
    pub categories: Vec<String>,
    /// Whether `/status` is a separate write.
    pub has_status: bool,
    /// Whether `/scale` exists.
    pub has_scale: bool,
    /// Compiled into the real server (typed), as opposed to a custom resource.
    pub builtin: bool,
    /// Only answered, never stored, as a SubjectAccessReview.
    pub virtual_only: bool,
    /// A PUT on a missing name creates.
    pub create_on_update: bool,
    /// A PUT without a resourceVersion is taken.
    pub unconditional_update: bool,
    /// DELETE answers with the object instead of a Status.
    pub returns_deleted: bool,
    /// `metadata.generation` counts changes of the spec.
    pub has_generation: bool,
    /// Columns of a custom resource's table (`additionalPrinterColumns`).
    pub columns: Vec<Value>,
    /// Fields that a custom resource's field selector may name, as `spec.color`.
    pub selectable_fields: Vec<String>,
    /// Bucket of another group that holds the objects (events.k8s.io events are core events).
    pub stored_in_core: bool,
}

impl Resource {
    /// `nodes`, or `leases.coordination.k8s.io`.
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// `v1`, or `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub(crate) fn bucket(&self) -> BucketKey {
        let group = if self.stored_in_core { String::new() } else { self.group.clone() };
        (group, self.plural.clone())
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }
}

/// All resources that are served now.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    by_path: BTreeMap<(String, String, String), Arc<Resource>>,
}

impl Registry {
    pub(crate) fn with_builtin() -> Self {
        let mut registry = Self::default();
        builtin().into_iter().for_each(|resource| registry.add(resource));
        registry
    }

    pub(crate) fn add(&mut self, resource: Resource) {
        let key = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
        self.by_path.insert(key, Arc::new(resource));
    }

    /// Forgets every version of a custom resource.
    pub(crate) fn remove(&mut self, group: &str, plural: &str) {
        self.by_path.retain(|(g, _, p), _| g != group || p != plural);
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.by_path.get(&(group.to_owned(), version.to_owned(), plural.to_owned())).cloned()
    }

    /// The resource of an object's `apiVersion` and `kind`.
    pub(crate) fn find_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        self.all().find(|resource| resource.kind == kind && resource.api_version() == api_version).cloned()
    }

    /// Any version of what a bucket holds.
    pub(crate) fn of_bucket(&self, bucket: &BucketKey) -> Option<Arc<Resource>> {
        self.all().find(|resource| resource.group == bucket.0 && resource.plural == bucket.1).cloned()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_path.values()
    }

    /// Groups with their versions, the best version first.
    pub(crate) fn groups(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for resource in self.all() {
            let versions = groups.entry(resource.group.clone()).or_default();
            if !versions.contains(&resource.version) {
                versions.push(resource.version.clone());
            }
        }
        groups.values_mut().for_each(|versions| versions.sort_by_key(|version| rank(version)));
        groups
    }
}

/// Kubernetes' order of versions: stable before beta before alpha, higher first.
fn rank(version: &str) -> (u8, std::cmp::Reverse<u32>, String) {
    let rest = version.strip_prefix('v').unwrap_or(version);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let stage = match rest.get(digits.len()..).unwrap_or_default() {
        "" => 0,
        beta if beta.starts_with("beta") => 1,
        alpha if alpha.starts_with("alpha") => 2,
        _ => 3,
    };
    (stage, std::cmp::Reverse(digits.parse().unwrap_or(0)), version.to_owned())
}
