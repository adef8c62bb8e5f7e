//! Two resources that ask for the same cluster: the younger one is refused. Pure.

use kube::ResourceExt;

use super::Problem;
use crate::api::CloudControllerManager;

/// Why a resource must not be acted on, if an older one asks for the same Lease or the same cluster in the same cloud.
#[must_use]
pub fn rival<'a>(
    resource: &CloudControllerManager,
    all: impl IntoIterator<Item = &'a CloudControllerManager>,
) -> Option<Problem> {
    let age = |resource: &CloudControllerManager| {
        let born = resource.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (born, resource.name_any())
    };
    let rivals = all.into_iter().filter(|other| other.name_any() != resource.name_any());
    let mut older = rivals.filter(|other| age(other) < age(resource));
    older.find_map(|other| {
        shared(resource, other).map(|shared| Problem::Conflicting { with: other.name_any(), shared })
    })
}

fn shared(one: &CloudControllerManager, other: &CloudControllerManager) -> Option<String> {
    let (one, other) = (&one.spec, &other.spec);
    if (&one.lease_namespace, &one.lease_name) == (&other.lease_namespace, &other.lease_name) {
        return Some(format!("uses the same Lease {}/{}", one.lease_namespace, one.lease_name));
    }
    let is_same = (one.platform, &one.cluster_name) == (other.platform, &other.cluster_name);
    is_same.then(|| format!("has the same clusterName {} in the same cloud", one.cluster_name))
}
