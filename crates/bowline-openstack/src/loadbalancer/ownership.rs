//! Ownership of load balancers: tags with the UIDs of the cluster and of the Service, in addition to the tags of OCCM.
//!
//! Names can be the same in two clusters of a project; UIDs cannot. Load balancers that OCCM created have no such tags and are recognized
//! by their names.

use std::sync::Arc;

use bowline_cloud::Text;

use super::names::LOAD_BALANCER_PREFIX;
use crate::config::Tenancy;

/// The prefix of all tags that prove ownership. Users may request no tag with it.
pub const RESERVED: &str = "bowline-";
/// The prefix of the tag of a cluster.
const CLUSTER: &str = "bowline-cluster:";
/// The prefix of the tag of a Service.
const SERVICE: &str = "bowline-service:";

/// The cluster and the Service that own a cloud object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The UID of the cluster; `None` while it is unknown.
    pub cluster: Option<Text>,
    /// The UID of the Service.
    pub service: Text,
    /// The `[Tenancy]` rules of all namespaces.
    pub tenancy: Arc<Tenancy>,
}

impl Ownership {
    /// The tags that prove ownership.
    pub fn tags(&self) -> impl Iterator<Item = String> {
        let service = Some(&self.service).filter(|uid| !uid.is_empty()).map(|uid| format!("{SERVICE}{uid}"));
        self.cluster_tag().into_iter().chain(service)
    }

    /// The tag of the cluster; `None` while its UID is unknown.
    #[must_use]
    pub fn cluster_tag(&self) -> Option<String> {
        self.cluster.as_ref().map(|uid| format!("{CLUSTER}{uid}"))
    }

    /// The tag of the Service, which is removed when the Service leaves a load balancer that other Services use.
    #[must_use]
    pub fn service_tag(&self) -> String {
        format!("{SERVICE}{}", self.service)
    }

    /// Whether the tags contain that of this Service.
    #[must_use]
    pub fn is_of_service(&self, tags: &[String]) -> bool {
        !self.service.is_empty() && tags.contains(&self.service_tag())
    }

    /// Whether the tags contain Services, but not this one. On a load balancer found by a name that is not truncated this proves nothing:
    /// these may be Services that share it, or an earlier Service of the same name.
    #[must_use]
    pub fn is_of_others(&self, tags: &[String]) -> bool {
        !self.is_of_service(tags) && tags.iter().any(|tag| is_of_a_service(tag))
    }

    /// Whether the tags prove that a load balancer of this name was created for this Service of this cluster, and that no other Service
    /// uses it.
    #[must_use]
    pub fn is_proven_by(&self, name: &str, tags: &[String]) -> bool {
        let known = self.cluster.is_some() && !self.service.is_empty();
        let ours = self.service_tag();
        let other = |tag: &String| {
            (is_of_a_service(tag) && *tag != ours) || (tag.starts_with(LOAD_BALANCER_PREFIX) && tag != name)
        };
        known && self.tags().all(|tag| tags.contains(&tag)) && !tags.iter().any(other)
    }

    /// The UID of another cluster that has its tag on a load balancer, whether or not this cluster has one there as well. `None` also while
    /// the UID of this cluster is unknown.
    #[must_use]
    pub fn foreign_cluster<'t>(&self, tags: &'t [String]) -> Option<&'t str> {
        let ours = self.cluster.as_deref()?;
        clusters_in(tags).filter(|uid| *uid != ours).min()
    }

    /// The UID of another cluster that has its tag on a load balancer, if this cluster has none there. `None` also while the UID of this
    /// cluster is unknown.
    #[must_use]
    pub fn other_cluster<'t>(&self, tags: &'t [String]) -> Option<&'t str> {
        let ours = self.cluster.as_deref()?;
        let mut clusters = tags.iter().filter_map(|tag| tag.strip_prefix(CLUSTER));
        let first = clusters.clone().min()?;
        if clusters.any(|uid| uid == ours) { None } else { Some(first) }
    }
}

/// The UIDs in the cluster tags.
pub fn clusters_in(tags: &[String]) -> impl Iterator<Item = &str> {
    tags.iter().filter_map(|tag| tag.strip_prefix(CLUSTER))
}

/// Whether a tag is that of a cluster.
#[must_use]
pub fn is_of_a_cluster(tag: &str) -> bool {
    tag.starts_with(CLUSTER)
}

/// Whether a tag is that of a Service.
#[must_use]
pub fn is_of_a_service(tag: &str) -> bool {
    tag.starts_with(SERVICE)
}

/// The UIDs in the Service tags.
pub fn services_in(tags: &[String]) -> impl Iterator<Item = &str> {
    tags.iter().filter_map(|tag| tag.strip_prefix(SERVICE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ownership() -> Ownership {
        Ownership { cluster: Some("c1".into()), service: "s1".into(), ..Ownership::default() }
    }

    #[test]
    fn the_tag_of_the_service_tells_it_from_others() {
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        let (ours, others) =
            (tags(&["bowline-service:s1", "bowline-service:s2"]), tags(&["bowline-service:s2"]));
        assert!(ownership().is_of_service(&ours) && !ownership().is_of_others(&ours));
        assert!(!ownership().is_of_service(&others) && ownership().is_of_others(&others));
        let nobody = tags(&["kube_service_kubernetes_default_web"]);
        assert!(!ownership().is_of_service(&nobody) && !ownership().is_of_others(&nobody));
    }

    #[test]
    fn what_another_cluster_says_is_its_own_is_told_from_what_nobody_says() {
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        assert_eq!(ownership().tags().collect::<Vec<_>>(), ["bowline-cluster:c1", "bowline-service:s1"]);
        assert_eq!(ownership().other_cluster(&tags(&["kube_service_kubernetes_default_web"])), None);
        assert_eq!(ownership().other_cluster(&tags(&["bowline-cluster:c1"])), None);
        assert_eq!(ownership().other_cluster(&tags(&["bowline-cluster:c2"])), Some("c2"));
        let shared = tags(&["bowline-cluster:c2", "bowline-cluster:c1"]);
        assert_eq!(ownership().other_cluster(&shared), None, "shared by two clusters");
        let unknown = Ownership { cluster: None, ..ownership() };
        assert_eq!(unknown.other_cluster(&tags(&["bowline-cluster:c2"])), None, "who we are is not known");
        assert_eq!(
            ownership().foreign_cluster(&shared),
            Some("c2"),
            "two clusters may have Services of one name"
        );
        assert_eq!(ownership().foreign_cluster(&tags(&["bowline-cluster:c1"])), None);
        assert_eq!(unknown.foreign_cluster(&shared), None);
    }

    #[test]
    fn only_the_tags_of_both_cluster_and_service_are_a_proof() {
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        let name = "kube_service_kubernetes_default_web";
        let proven = |of: &Ownership, tags: &[String]| of.is_proven_by(name, tags);
        let both = tags(&[name, "bowline-cluster:c1", "bowline-service:s1"]);
        assert!(proven(&ownership(), &both));
        assert!(!proven(&ownership(), &tags(&["bowline-cluster:c1", "bowline-service:s2"])));
        assert!(!proven(&ownership(), &tags(&["bowline-cluster:c2", "bowline-service:s1"])));
        assert!(!proven(&ownership(), &tags(&["kube_service_kubernetes_default_web"])));
        for sharer in ["bowline-service:s2", "kube_service_kubernetes_default_other"] {
            let shared: Vec<_> = both.iter().cloned().chain([sharer.to_owned()]).collect();
            assert!(!proven(&ownership(), &shared), "{sharer} uses it");
        }
        let unknown = Ownership { cluster: None, ..ownership() };
        assert!(!proven(&unknown, &both), "who we are is not known");
    }
}
