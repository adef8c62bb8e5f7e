//! Decides which load balancers a Service may join, and which Services may keep one after its owner is gone.
//!
//! The name of the load balancer identifies the owner. A name that may be truncated, or in which the end of the cluster and the start of
//! the namespace are ambiguous, never proves a namespace.

use bowline_cloud::Planned;
use openstack_client::load_balancer::LoadBalancer;
use openstack_client::network::{FloatingIp, FloatingIpUpdate};

use crate::config::Tenancy;
use crate::config::tenancy::{ANY, allows};
use crate::loadbalancer::annotations::LOAD_BALANCER_ID;
use crate::loadbalancer::found::Found;
use crate::loadbalancer::intent::{Notice, Removal};
use crate::loadbalancer::names::{LOAD_BALANCER_PREFIX, MAX_NAME_BYTES, service_in};
use crate::loadbalancer::ownership::Ownership;
use crate::loadbalancer::step::{Action, CloudStep, Seen};
use crate::loadbalancer::wanted::Wanted;

/// The length of a name that the in-tree provider of Kubernetes gave: an `a` and 31 characters of the UID.
const LEGACY_CHARS: usize = 32;

/// The owner of a load balancer, as far as its name and its tags prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner<'a> {
    /// A Service of this namespace of this cluster.
    Namespace(&'a str),
    /// A Service of another cluster, or of this one under another `--cluster-name`.
    OtherCluster,
    /// A Service, but its namespace is not proven.
    Unknown,
    /// No Service made it.
    Nobody,
}

/// Determines the owner of a load balancer.
#[must_use]
pub fn owner<'a>(balancer: &'a LoadBalancer, cluster: &str, ownership: &Ownership) -> Owner<'a> {
    let name = balancer.name.as_str();
    if !name.starts_with(LOAD_BALANCER_PREFIX) {
        let is_other = ownership.other_cluster(&balancer.tags).is_some();
        return match is_legacy(name) {
            true if is_other => Owner::OtherCluster,
            true => Owner::Unknown,
            false => Owner::Nobody,
        };
    }
    if ownership.other_cluster(&balancer.tags).is_some() {
        return Owner::OtherCluster;
    }
    match service_in(name, cluster) {
        Some((namespace, _service)) => Owner::Namespace(namespace),
        None if name.len() >= MAX_NAME_BYTES => Owner::Unknown,
        None => Owner::OtherCluster,
    }
}

fn is_legacy(name: &str) -> bool {
    let uid = name.strip_prefix('a').filter(|_uid| name.len() == LEGACY_CHARS);
    uid.is_some_and(|uid| uid.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()))
}

/// A rule that does not let a namespace join a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The owner of the load balancer, as text.
    whose: String,
    /// The rule, as text.
    rule: String,
    /// The setting that would allow it.
    allow: String,
}

/// Checks whether Services of a namespace may join a load balancer of this owner.
///
/// # Errors
///
/// The rule that denies it.
pub fn may_join(rules: &Tenancy, namespace: &str, owner: Owner<'_>) -> Result<(), Denied> {
    let (whose, key, value) = match owner {
        Owner::Namespace(other) => (format!("of namespace {other}"), "join-namespace", other),
        Owner::Unknown => ("whose namespace its name does not prove".to_owned(), "join-namespace", ANY),
        Owner::OtherCluster => ("of another cluster".to_owned(), "join-other-clusters", "yes"),
        Owner::Nobody => ("that no Service made".to_owned(), "join-unmanaged", "yes"),
    };
    let denied = |rule: String, key: &str, value: &str| {
        Err(Denied {
            whose: whose.clone(),
            rule,
            allow: format!("{key} = {value} in [Tenancy {namespace:?}]"),
        })
    };
    if let Some(share) = rules.rule(namespace, |section| section.share_load_balancers)
        && !share.value
    {
        return denied(
            format!("{} is no", share.label("share-load-balancers")),
            "share-load-balancers",
            "yes",
        );
    }
    let allowed = match owner {
        Owner::Namespace(other) if other == namespace => return Ok(()),
        Owner::Namespace(_) | Owner::Unknown => {
            let listed = rules.rule(namespace, |section| section.join_namespaces.as_deref());
            let fits = |allowed: &[String]| match owner {
                Owner::Namespace(other) => allows(allowed, other),
                _ => allowed.iter().any(|one| one == ANY || one == "*"),
            };
            listed.map(|rule| (fits(rule.value), rule.section, "does not list it"))
        }
        Owner::OtherCluster => {
            let flag = rules.rule(namespace, |section| section.join_other_clusters);
            flag.map(|rule| (rule.value, rule.section, "is no"))
        }
        Owner::Nobody => {
            let flag = rules.rule(namespace, |section| section.join_unmanaged);
            flag.map(|rule| (rule.value, rule.section, "is no"))
        }
    };
    match allowed {
        None if owner == Owner::Nobody => Ok(()),
        Some((true, ..)) => Ok(()),
        Some((false, section, why)) => {
            denied(format!("{} {key} {why}", crate::config::tenancy::header(section)), key, value)
        }
        None => denied(format!("[Tenancy] {key} is not set, and such sharing is off by default"), key, value),
    }
}

fn judged(wanted: &Wanted, balancer: &LoadBalancer) -> Result<(), Denied> {
    let (names, ownership) = (&wanted.names, &wanted.ownership);
    may_join(&ownership.tenancy, names.namespace(), owner(balancer, names.cluster(), ownership))
}

/// The owner of a load balancer, for a Service that does not use it yet. Once Services of two clusters with the same `--cluster-name` use
/// it, its name does not prove which of the clusters created it.
fn owner_for_newcomers<'a>(balancer: &'a LoadBalancer, cluster: &str, ownership: &Ownership) -> Owner<'a> {
    match owner(balancer, cluster, ownership) {
        Owner::Namespace(_) | Owner::Unknown if ownership.foreign_cluster(&balancer.tags).is_some() => {
            Owner::OtherCluster
        }
        owner => owner,
    }
}

/// Why a Service that does not use a load balancer yet may not join it; `None` if it may.
#[must_use]
pub fn refusal(wanted: &Wanted, balancer: &LoadBalancer) -> Option<String> {
    let (names, ownership) = (&wanted.names, &wanted.ownership);
    let owner = owner_for_newcomers(balancer, names.cluster(), ownership);
    let Denied { whose, rule, allow } = may_join(&ownership.tenancy, names.namespace(), owner).err()?;
    Some(format!(
        "load balancer {} ({}) is one {whose}, and Services of namespace {} may not join it ({rule}); remove annotation {} to get a \
         load balancer of its own, or let an administrator set {allow} of cloud.conf",
        balancer.id,
        balancer.name,
        wanted.names.namespace(),
        LOAD_BALANCER_ID.key
    ))
}

/// Why a Service gets no additional port on a load balancer that it uses, but could not join today; `None` if it does.
#[must_use]
pub fn no_new_port(wanted: &Wanted, balancer: &LoadBalancer, port: &str) -> Option<String> {
    let Denied { whose, rule, allow } = judged(wanted, balancer).err()?;
    Some(format!(
        "{port} is not added: load balancer {} is one {whose}, and namespace {} keeps the ports it has there only ({rule}); let an \
         administrator set {allow} of cloud.conf, or use a load balancer of its own",
        balancer.id,
        wanted.names.namespace()
    ))
}

/// The event for a Service that shares a load balancer which it could not join today.
#[must_use]
pub fn notice(wanted: &Wanted, balancer: &LoadBalancer) -> Option<Notice> {
    let is_tenant = balancer.name != wanted.names.tag() && balancer.tags.contains(&wanted.names.tag());
    let Denied { whose, rule, allow } = judged(wanted, balancer).err().filter(|_denied| is_tenant)?;
    let message = format!(
        "load balancer {} is one {whose}, which Services of namespace {} may not join any more ({rule}); the ports it has there stay as \
         long as the Service that owns the load balancer exists. To allow it, let an administrator set {allow} of cloud.conf; to end it, \
         create the Service again without annotation {}",
        balancer.id,
        wanted.names.namespace(),
        LOAD_BALANCER_ID.key
    );
    Some(Notice { reason: "LoadBalancerSharingForbidden", message })
}

/// Why a Service on a load balancer whose owner is gone does not keep its address; `None` if it does, or if the owner is not gone.
#[must_use]
pub fn owner_is_gone(wanted: &Wanted, balancer: &LoadBalancer) -> Option<String> {
    let made_for_a_service = balancer.name.starts_with(LOAD_BALANCER_PREFIX);
    let is_tenant = balancer.name != wanted.names.tag() && balancer.tags.contains(&wanted.names.tag());
    let is_left = made_for_a_service && is_tenant && !balancer.tags.contains(&balancer.name);
    let Denied { whose, rule, allow } = judged(wanted, balancer).err().filter(|_denied| is_left)?;
    // A Service keeps what it shares within its own namespace.
    let (names, ownership) = (&wanted.names, &wanted.ownership);
    if owner(balancer, names.cluster(), ownership) == Owner::Namespace(names.namespace()) {
        return None;
    }
    Some(format!(
        "the Service that owned load balancer {}, one {whose}, is gone, and the sharing ended with it ({rule}): this Service does not \
         keep its address; create the Service again without annotation {}, or let an administrator set {allow} of cloud.conf",
        balancer.id, LOAD_BALANCER_ID.key
    ))
}

/// Whether the Service of a tag may keep a load balancer after its owner is gone: it is in the same namespace, or may join it.
#[must_use]
pub fn may_keep(tag: &str, balancer: &LoadBalancer, cluster: &str, ownership: &Ownership) -> bool {
    let Some((namespace, _service)) = service_in(tag, cluster) else { return false };
    let owner = owner(balancer, cluster, ownership);
    owner == Owner::Namespace(namespace) || may_join(&ownership.tenancy, namespace, owner).is_ok()
}

/// The steps for the floating IPs when an owner leaves a load balancer to Services that may not keep its address. They are the same as if
/// the load balancer were deleted: the Service's own floating IP is deleted unless it is kept, others are detached.
pub fn release(removal: &Removal, found: &Found, seen: &Seen) -> Vec<Planned<CloudStep>> {
    let names = &removal.names;
    let is_free = |one: &&FloatingIp| !found.floating.is_of_other(&one.id);
    let mut attached: Vec<_> = found.floating.attached.iter().filter(is_free).collect();
    attached.sort_by(|one, other| one.id.cmp(&other.id));
    let step = |floating: &FloatingIp| {
        let goes = !removal.keep_floating_ip && names.describes_own_floating_ip(&floating.description);
        let action = if goes {
            Action::DeleteFloatingIp(floating.id.clone())
        } else {
            let nowhere = FloatingIpUpdate { port_id: None, description: None };
            Action::update_floating_ip(floating, nowhere)
        };
        let reason = format!(
            "the Service is gone, and no Service that stays on the load balancer may keep its address ({})",
            floating.floating_ip_address
        );
        Planned::new(CloudStep::while_as(seen.clone(), action), reason)
    };
    attached.into_iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balancer(name: &str, tags: &[&str]) -> LoadBalancer {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        serde_json::from_value(serde_json::json!({
            "id": "lb-1", "name": name, "provisioning_status": "ACTIVE", "operating_status": "ONLINE", "tags": tags,
        }))
        .unwrap()
    }

    fn of(name: &str, tags: &[&str], cluster: &str) -> Owner<'static> {
        let ownership = Ownership { cluster: Some("c1".into()), ..Ownership::default() };
        owner(Box::leak(Box::new(balancer(name, tags))), cluster, &ownership)
    }

    #[test]
    fn a_namespace_is_told_only_by_a_name_that_can_be_read_in_one_way() {
        assert_eq!(of("kube_service_c_a_b", &[], "c"), Owner::Namespace("a"));
        assert_eq!(
            of("kube_service_my_c_a_b", &[], "my_c"),
            Owner::Namespace("a"),
            "a cluster with an underscore"
        );
        assert_eq!(
            of("kube_service_c_a_b_c", &[], "c"),
            Owner::OtherCluster,
            "namespace a and name b_c, or cluster c_a"
        );
        assert_eq!(of("kube_service_c_a_b_c", &[], "c_a"), Owner::Namespace("b"));
        assert_eq!(of("kube_service_d_a_b", &[], "c"), Owner::OtherCluster);
        assert_eq!(of("kube_service_cc_a_b", &[], "c"), Owner::OtherCluster);
        for broken in
            ["kube_service_c_a_", "kube_service_c__b", "kube_service_c_a", "kube_service_c", "kube_service_"]
        {
            assert_eq!(of(broken, &[], "c"), Owner::OtherCluster, "{broken}");
        }
        assert_eq!(of("kube_service_c_a_b", &["bowline-cluster:c2"], "c"), Owner::OtherCluster);
        assert_eq!(of("users-own", &["kube_service_c_a_b"], "c"), Owner::Nobody);
        assert_eq!(
            of("a0123456789abcdef0123456789abcde", &[], "c"),
            Owner::Unknown,
            "Kubernetes' own provider"
        );
    }

    #[test]
    fn a_name_that_may_be_truncated_proves_no_namespace() {
        let (namespace, cluster) = ("n".repeat(63), "c".repeat(200));
        let whole = |service: usize| format!("kube_service_{cluster}_{namespace}_{}", "s".repeat(service));
        assert!(whole(63).len() > 255);
        let cut: String = whole(63).chars().take(255).collect();
        assert_eq!(of(&cut, &[], &cluster), Owner::Unknown, "the cut went through the namespace");
        let short = "c".repeat(100);
        let exact = format!("kube_service_{short}_{namespace}_{}", "s".repeat(255 - 13 - 100 - 63 - 2));
        assert_eq!((exact.len(), of(&exact, &[], &short)), (255, Owner::Unknown));
        let one_less = exact.strip_suffix('s').unwrap();
        assert_eq!(of(one_less, &[], &short), Owner::Namespace(namespace.as_str()));
    }
}
