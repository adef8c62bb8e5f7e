//! The cluster in a name, for load balancers that were made under another `--cluster-name`.
//!
//! A name does not say for sure where the cluster ends: who renames must know by other signs whose object it is.

use super::{LOAD_BALANCER_PREFIX, MAX_NAME_BYTES, as_sent, cut};

/// What stands before the cluster, the cluster, and what stands behind it.
struct Parts<'a> {
    before: &'a str,
    cluster: &'a str,
    behind: &'a str,
}

/// The cluster in a tag, or in the name of a load balancer, listener, pool or monitor; none if it is no name of ours.
#[must_use]
pub fn cluster_of(name: &str) -> Option<&str> {
    parts(name).map(|parts| parts.cluster)
}

/// The same name in another cluster; none if it is no name of ours.
#[must_use]
pub fn in_cluster(name: &str, cluster: &str) -> Option<String> {
    let Parts { before, behind, .. } = parts(name)?;
    Some(as_sent(&cut(format!("{before}{cluster}{behind}").into_bytes())))
}

/// Namespace and name of the Service of this cluster for which a load balancer of this name was made, or whose tag it is. None if the
/// name is of another cluster, or may have been truncated: truncated names are ambiguous.
#[must_use]
pub fn service_in<'n>(name: &'n str, cluster: &str) -> Option<(&'n str, &'n str)> {
    let rest = name.strip_prefix(LOAD_BALANCER_PREFIX)?.strip_prefix(cluster)?.strip_prefix('_')?;
    let (namespace, service) = rest.split_once('_')?;
    let is_one = name.len() < MAX_NAME_BYTES && !namespace.is_empty() && !service.is_empty();
    (is_one && !service.contains('_')).then_some((namespace, service))
}

fn parts(name: &str) -> Option<Parts<'_>> {
    let of_load_balancer = name.strip_prefix(LOAD_BALANCER_PREFIX).or_else(|| {
        let (_kind, rest) = ["listener_", "pool_", "monitor_"]
            .into_iter()
            .find_map(|kind| name.strip_prefix(kind).map(|rest| (kind, rest)))?;
        let (place, rest) = rest.split_once('_')?;
        let counted = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
        rest.strip_prefix(LOAD_BALANCER_PREFIX).filter(|_rest| counted)
    })?;
    let cluster = before_the_service(of_load_balancer)?;
    let start = name.len().checked_sub(of_load_balancer.len())?;
    let (before, rest) = name.split_at_checked(start)?;
    Some(Parts { before, cluster, behind: rest.strip_prefix(cluster)? })
}

/// Namespaces and names have no underscore, so two of them from the end are not the cluster's; one if the name was cut.
fn before_the_service(text: &str) -> Option<&str> {
    let (rest, last) = text.rsplit_once('_')?;
    if rest.is_empty() || last.is_empty() {
        return None;
    }
    let uncut =
        rest.rsplit_once('_').filter(|(cluster, namespace)| !cluster.is_empty() && !namespace.is_empty());
    Some(uncut.map_or(rest, |(cluster, _namespace)| cluster))
}
