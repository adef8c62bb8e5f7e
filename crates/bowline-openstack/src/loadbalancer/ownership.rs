//! Whose a load balancer is: tags of our own beside OCCM's, which say it by the UIDs of the cluster and of the Service.
//!
//! Names can be the same in two clusters of a project; UIDs cannot. What OCCM made has no such tags, and is ours by its name.

use bowline_cloud::Text;

/// How the tag of the cluster begins.
const CLUSTER: &str = "bowline-cluster:";
/// How the tag of a Service begins.
const SERVICE: &str = "bowline-service:";

/// Who wants something in the cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The UID of the cluster, if it is known.
    pub cluster: Option<Text>,
    /// The UID of the Service.
    pub service: Text,
}

impl Ownership {
    /// The tags that say so.
    pub fn tags(&self) -> impl Iterator<Item = String> {
        let cluster = self.cluster.as_ref().map(|uid| format!("{CLUSTER}{uid}"));
        let service = Some(&self.service).filter(|uid| !uid.is_empty()).map(|uid| format!("{SERVICE}{uid}"));
        cluster.into_iter().chain(service)
    }

    /// The tag of the Service, which goes when it leaves a load balancer that others stay on.
    #[must_use]
    pub fn service_tag(&self) -> String {
        format!("{SERVICE}{}", self.service)
    }

    /// Whether tags prove that something was made for this very Service, of this cluster.
    #[must_use]
    pub fn is_proven_by(&self, tags: &[String]) -> bool {
        let known = self.cluster.is_some() && !self.service.is_empty();
        known && self.tags().all(|tag| tags.contains(&tag))
    }

    /// Another cluster that says by its tag that it is its own, if we know who we are.
    #[must_use]
    pub fn other_cluster<'t>(&self, tags: &'t [String]) -> Option<&'t str> {
        let ours = self.cluster.as_deref()?;
        let mut clusters = tags.iter().filter_map(|tag| tag.strip_prefix(CLUSTER));
        let first = clusters.clone().next()?;
        if clusters.any(|uid| uid == ours) { None } else { Some(first) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ownership() -> Ownership {
        Ownership { cluster: Some("c1".into()), service: "s1".into() }
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
    }

    #[test]
    fn only_the_tags_of_both_cluster_and_service_are_a_proof() {
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        let both = tags(&["kube_service_kubernetes_default_web", "bowline-cluster:c1", "bowline-service:s1"]);
        assert!(ownership().is_proven_by(&both));
        assert!(!ownership().is_proven_by(&tags(&["bowline-cluster:c1", "bowline-service:s2"])));
        assert!(!ownership().is_proven_by(&tags(&["bowline-cluster:c2", "bowline-service:s1"])));
        assert!(!ownership().is_proven_by(&tags(&["kube_service_kubernetes_default_web"])));
        let unknown = Ownership { cluster: None, ..ownership() };
        assert!(!unknown.is_proven_by(&both), "who we are is not known");
    }
}
