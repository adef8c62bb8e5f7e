//! The names of cloud objects: the same as those of OCCM, byte for byte, so that each finds what the other created.
//!
//! Names are used to find objects, and are never the only proof of ownership. Nothing here accesses the cloud.

mod cluster;
#[cfg(test)]
mod tests;

use bowline_cloud::ServiceView;

pub use self::cluster::{cluster_of, in_cluster, service_in};

/// The prefix of the name of every load balancer that Bowline or OCCM created, and of the tag of every Service on it.
pub const LOAD_BALANCER_PREFIX: &str = "kube_service_";

/// The prefix of the description of a floating IP that was created for a Service. It decides whether the floating IP is deleted with its
/// load balancer.
pub const FLOATING_IP_PREFIX: &str = "Floating IP for Kubernetes external service ";

/// The prefix of the description of a floating IP that a Service uses and that is not proven to have been created for it. Neither Bowline
/// nor OCCM deletes such a floating IP.
pub const USED_FLOATING_IP_PREFIX: &str = "Floating IP used by Kubernetes external service ";

/// The prefix of the name of every security group that Bowline or OCCM created.
pub const SECURITY_GROUP_PREFIX: &str = "lb-sg-";

/// The text between the Service and the cluster in a description.
const OF_CLUSTER: &str = " from cluster ";

/// The longest name, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 255;
/// The longest description that Octavia and Neutron accept, in characters.
const MAX_DESCRIPTION_CHARS: usize = 255;

/// The names of all cloud objects of one Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    cluster: String,
    service: String,
    /// Bytes, because truncation may split a character, and other names are built from the truncated bytes.
    load_balancer: Vec<u8>,
    is_cut: bool,
    legacy: String,
    security_group: Vec<u8>,
    former_clusters: Vec<String>,
}

/// The Service for which a floating IP was created, or that uses it, as its description says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloatingIpOwner<'t> {
    /// The namespace of the Service.
    pub namespace: &'t str,
    /// The name of the Service.
    pub name: &'t str,
    /// The cluster of the Service; `None` if it is this one.
    pub other_cluster: Option<&'t str>,
}

impl Names {
    /// The names for a Service of the cluster with this `--cluster-name`.
    #[must_use]
    pub fn of(cluster: &str, service: &ServiceView) -> Self {
        let (namespace, name, uid) = (&service.namespace, &service.name, &service.uid);
        let load_balancer = format!("{LOAD_BALANCER_PREFIX}{cluster}_{namespace}_{name}").into_bytes();
        Self {
            is_cut: load_balancer.len() > MAX_NAME_BYTES,
            cluster: cluster.to_owned(),
            service: format!("{namespace}/{name}"),
            load_balancer: cut(load_balancer),
            legacy: service.default_load_balancer_name(),
            security_group: cut(format!("{SECURITY_GROUP_PREFIX}{uid}-{namespace}-{name}").into_bytes()),
            former_clusters: Vec::new(),
        }
    }

    /// Adds the former names of the cluster, as configured by an administrator: `[LoadBalancer] former-cluster-name`.
    #[must_use]
    pub fn with_former_clusters(self, clusters: &[String]) -> Self {
        Self { former_clusters: clusters.to_vec(), ..self }
    }

    /// The namespace of the Service.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.service.split_once('/').map_or("", |(namespace, _name)| namespace)
    }

    /// `--cluster-name`.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The name of the load balancer.
    #[must_use]
    pub fn load_balancer(&self) -> String {
        as_sent(&self.load_balancer)
    }

    /// Whether the name of the load balancer is truncated. Another Service may then have the same one.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The tag of this Service on its load balancer and listeners: the name of the load balancer that the Service would own.
    #[must_use]
    pub fn tag(&self) -> String {
        self.load_balancer()
    }

    /// The name that the in-tree provider of Kubernetes gave to the load balancer. Bowline looks it up and never gives it.
    #[must_use]
    pub fn legacy_load_balancer(&self) -> &str {
        &self.legacy
    }

    /// The name of the listener for the port at this index of `spec.ports`.
    #[must_use]
    pub fn listener(&self, place: usize) -> String {
        self.child("listener", place)
    }

    /// The name of the pool for the port at this index.
    #[must_use]
    pub fn pool(&self, place: usize) -> String {
        self.child("pool", place)
    }

    /// The name of the health monitor for the port at this index.
    #[must_use]
    pub fn monitor(&self, place: usize) -> String {
        self.child("monitor", place)
    }

    fn child(&self, kind: &str, place: usize) -> String {
        let mut name = format!("{kind}_{place}_").into_bytes();
        name.extend_from_slice(&self.load_balancer);
        as_sent(&cut(name))
    }

    /// The name of the security group.
    #[must_use]
    pub fn security_group(&self) -> String {
        as_sent(&self.security_group)
    }

    /// The description of the load balancer, internal or not.
    #[must_use]
    pub fn load_balancer_description(&self) -> String {
        description(&format!("Kubernetes external service {}{OF_CLUSTER}{}", self.service, self.cluster))
    }

    /// The description of the floating IP.
    #[must_use]
    pub fn floating_ip_description(&self) -> String {
        self.floating_ip_description_in(&self.cluster)
    }

    /// The description of the floating IP with another name of the cluster.
    #[must_use]
    pub fn floating_ip_description_in(&self, cluster: &str) -> String {
        floating_ip_description(&self.service, cluster)
    }

    /// Whether a description is that of a floating IP that was created for this Service, under the present or a configured former name of
    /// the cluster.
    #[must_use]
    pub fn describes_own_floating_ip(&self, text: &str) -> bool {
        let former = |cluster: &String| self.floating_ip_description_in(cluster) == text;
        text == self.floating_ip_description() || self.former_clusters.iter().any(former)
    }

    /// The description for a floating IP that this Service uses, but that is not proven to have been created for it.
    #[must_use]
    pub fn used_floating_ip_description(&self) -> String {
        used_description(&self.service, &self.cluster)
    }

    /// Whether a description is that of a floating IP that this Service uses, but that is not proven to have been created for it.
    #[must_use]
    pub fn describes_used_floating_ip(&self, text: &str) -> bool {
        let in_cluster = |cluster: &String| used_description(&self.service, cluster) == text;
        in_cluster(&self.cluster) || self.former_clusters.iter().any(in_cluster)
    }

    /// The other Service for which a floating IP with this description was created, or that uses it. `None` if that is this Service, or if
    /// the description has another format, such as that of a floating IP created by a user.
    #[must_use]
    pub fn other_owner<'t>(&self, text: &'t str) -> Option<FloatingIpOwner<'t>> {
        if self.describes_own_floating_ip(text) || self.describes_used_floating_ip(text) {
            return None;
        }
        let rest =
            text.strip_prefix(FLOATING_IP_PREFIX).or_else(|| text.strip_prefix(USED_FLOATING_IP_PREFIX))?;
        // Namespaces and names contain no spaces, so the text before the first separator is the Service.
        let (service, cluster) = rest.split_once(OF_CLUSTER)?;
        let (namespace, name) = service.split_once('/')?;
        let ours = |ours: &String| {
            floating_ip_description(service, ours) == text || used_description(service, ours) == text
        };
        let in_this_cluster = ours(&self.cluster) || self.former_clusters.iter().any(ours);
        Some(FloatingIpOwner { namespace, name, other_cluster: (!in_this_cluster).then_some(cluster) })
    }

    /// Whether this is a configured former name of the cluster.
    #[must_use]
    pub fn is_former_cluster(&self, cluster: &str) -> bool {
        self.former_clusters.iter().any(|former| former == cluster)
    }

    /// Whether this is the name of this Service's load balancer under another cluster name.
    #[must_use]
    pub fn is_of_other_cluster(&self, name: &str) -> bool {
        let own = self.load_balancer();
        name != own && in_cluster(name, &self.cluster).as_deref() == Some(own.as_str())
    }

    /// Whether this is exactly the name of a pool of this Service.
    #[must_use]
    pub fn is_own_pool(&self, name: &str) -> bool {
        self.is_own_child("pool", name)
    }

    /// Whether this is exactly the name of a listener of this Service, in the form of OCCM (`listener_0_kube_service_…`), of its first
    /// releases (`listener_kube_service_…_0`), or of the in-tree provider of Kubernetes (`listener_a…_0`).
    #[must_use]
    pub fn is_own_listener(&self, name: &str) -> bool {
        let earlier = || name.strip_prefix("listener_").and_then(|rest| rest.rsplit_once('_'));
        let is_earlier = |(balancer, place): (&str, &str)| {
            let is_counted = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
            is_counted && (balancer == self.load_balancer() || balancer == self.legacy)
        };
        self.is_own_child("listener", name) || earlier().is_some_and(is_earlier)
    }

    /// Whether a description is that of this Service's load balancer. It has the Service before the cluster, so the Service is never
    /// truncated: it distinguishes load balancers whose truncated names are the same.
    #[must_use]
    pub fn describes_own_load_balancer(&self, text: &str) -> bool {
        text == self.load_balancer_description()
    }

    fn is_own_child(&self, kind: &str, name: &str) -> bool {
        let rest = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('_')?.split_once('_'));
        let place = rest.and_then(|(place, _rest)| place.parse().ok());
        place.is_some_and(|place| self.child(kind, place) == name)
    }

    /// The description of the security group.
    #[must_use]
    pub fn security_group_description(&self) -> String {
        let (service, cluster) = (&self.service, &self.cluster);
        description(&format!("Security Group for {service} Service LoadBalancer in cluster {cluster}"))
    }
}

/// The description of a floating IP for a Service, given as `namespace/name`.
#[must_use]
pub fn floating_ip_description(service: &str, cluster: &str) -> String {
    description(&format!("{FLOATING_IP_PREFIX}{service}{OF_CLUSTER}{cluster}"))
}

fn used_description(service: &str, cluster: &str) -> String {
    description(&format!("{USED_FLOATING_IP_PREFIX}{service}{OF_CLUSTER}{cluster}"))
}

/// Whether a description is that of a floating IP that was created for the Service in the name of a load balancer, under any cluster name.
#[must_use]
pub fn describes_floating_ip_of(load_balancer: &str, text: &str) -> bool {
    let service = text.strip_prefix(FLOATING_IP_PREFIX).and_then(|rest| rest.split(OF_CLUSTER).next());
    let tail = service.map(|service| format!("_{}", service.replacen('/', "_", 1)));
    load_balancer.starts_with(LOAD_BALANCER_PREFIX) && tail.is_some_and(|tail| load_balancer.ends_with(&tail))
}

/// The name of a member that is created alone, for providers that require serial calls; in a batch the name is that of the Node.
#[must_use]
pub fn serial_member(node: &str, address: &str, node_port: u16) -> String {
    as_sent(&cut(format!("member_{node}_{address}_{node_port}").into_bytes()))
}

fn cut(mut name: Vec<u8>) -> Vec<u8> {
    name.truncate(MAX_NAME_BYTES);
    name
}

/// The name as Go's JSON encoder writes it: each byte of a character that truncation split becomes U+FFFD.
fn as_sent(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_byte| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// A truncated description. OCCM does not truncate descriptions, and its requests with longer ones are refused; so no other client relies
/// on such a text.
fn description(text: &str) -> String {
    text.chars().take(MAX_DESCRIPTION_CHARS).collect()
}
