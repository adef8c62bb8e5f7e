//! What cloud.conf says, typed. Data only: names, kinds, defaults and meanings of the keys are in [`super::keys`].
//!
//! An empty text is the same as a key that is not there, as in OCCM.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use secrecy::SecretString;

use super::decode;
use super::tenancy::Tenancy;

/// What cloud.conf says.
#[derive(Debug, Clone)]
pub struct CloudConf {
    /// `[Global]`
    pub global: Global,
    /// `[LoadBalancer]`
    pub load_balancer: LoadBalancer,
    /// `[LoadBalancerClass "name"]`, by name; a header without a name is the class of the empty name.
    pub classes: BTreeMap<String, LoadBalancerClass>,
    /// `[Tenancy "namespace"]`
    pub tenancy: Tenancy,
    /// `[Networking]`
    pub networking: Networking,
    /// `[Route]`
    pub route: Route,
    /// `[Metadata]`
    pub metadata: Metadata,
}

impl Default for CloudConf {
    /// What an empty file says.
    fn default() -> Self {
        decode::defaults()
    }
}

/// `[Global]`: who we are, and how the cloud is reached.
#[derive(Debug, Clone, Default)]
pub struct Global {
    /// `auth-url`
    pub auth_url: String,
    /// `username`
    pub username: String,
    /// `user-id`
    pub user_id: String,
    /// `password`
    pub password: Option<SecretString>,
    /// `tenant-id`
    pub tenant_id: String,
    /// `tenant-name`
    pub tenant_name: String,
    /// `trust-id`
    pub trust_id: String,
    /// `trustee-id`
    pub trustee_id: String,
    /// `trustee-password`
    pub trustee_password: Option<SecretString>,
    /// `domain-id`
    pub domain_id: String,
    /// `domain-name`
    pub domain_name: String,
    /// `tenant-domain-id`
    pub tenant_domain_id: String,
    /// `tenant-domain-name`
    pub tenant_domain_name: String,
    /// `user-domain-id`
    pub user_domain_id: String,
    /// `user-domain-name`
    pub user_domain_name: String,
    /// `region`
    pub region: String,
    /// `os-endpoint-type`
    pub endpoint_type: String,
    /// `ca-file`
    pub ca_file: String,
    /// `CAFileContents`
    pub ca_file_contents: String,
    /// `cert-file`
    pub cert_file: String,
    /// `key-file`
    pub key_file: String,
    /// `tls-insecure`
    pub tls_insecure: String,
    /// `allow-insecure-endpoints`
    pub allow_insecure_endpoints: bool,
    /// `token`
    pub token: Option<SecretString>,
    /// `use-clouds`
    pub use_clouds: bool,
    /// `clouds-file`
    pub clouds_file: String,
    /// `cloud`
    pub cloud: String,
    /// `application-credential-id`
    pub application_credential_id: String,
    /// `application-credential-name`
    pub application_credential_name: String,
    /// `application-credential-secret`
    pub application_credential_secret: Option<SecretString>,
    /// `secret-name`
    pub secret_name: String,
    /// `secret-namespace`
    pub secret_namespace: String,
    /// `kubeconfig-path`
    pub kubeconfig_path: String,
}

/// `[LoadBalancer]`: what every Service gets unless it says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadBalancer {
    /// `enabled`
    pub enabled: bool,
    /// `lb-version`
    pub lb_version: String,
    /// `lb-provider`
    pub lb_provider: String,
    /// `lb-method`
    pub lb_method: String,
    /// `subnet-id`
    pub subnet_id: String,
    /// `member-subnet-id`
    pub member_subnet_id: String,
    /// `network-id`
    pub network_id: String,
    /// `floating-network-id`
    pub floating_network_id: String,
    /// `floating-subnet-id`
    pub floating_subnet_id: String,
    /// `floating-subnet`
    pub floating_subnet: String,
    /// `floating-subnet-tags`
    pub floating_subnet_tags: String,
    /// `create-monitor`
    pub create_monitor: bool,
    /// `monitor-delay`
    pub monitor_delay: SignedDuration,
    /// `monitor-timeout`
    pub monitor_timeout: SignedDuration,
    /// `monitor-max-retries`
    pub monitor_max_retries: u64,
    /// `monitor-max-retries-down`
    pub monitor_max_retries_down: u64,
    /// `manage-security-groups`
    pub manage_security_groups: bool,
    /// `internal-lb`
    pub internal_lb: bool,
    /// `node-selector`
    pub node_selector: String,
    /// `cascade-delete`
    pub cascade_delete: bool,
    /// `flavor-id`
    pub flavor_id: String,
    /// `availability-zone`
    pub availability_zone: String,
    /// `enable-ingress-hostname`
    pub enable_ingress_hostname: bool,
    /// `ingress-hostname-suffix`
    pub ingress_hostname_suffix: String,
    /// `max-shared-lb`
    pub max_shared_lb: i64,
    /// `container-store`
    pub container_store: String,
    /// `default-tls-container-ref`
    pub default_tls_container_ref: String,
    /// `provider-requires-serial-api-calls`
    pub provider_requires_serial_api_calls: bool,
    /// `former-cluster-name`
    pub former_cluster_names: Vec<String>,
}

/// `[LoadBalancerClass "name"]`: what Services with the annotation `loadbalancer.openstack.org/class` get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadBalancerClass {
    /// `floating-network-id`
    pub floating_network_id: String,
    /// `floating-subnet-id`
    pub floating_subnet_id: String,
    /// `floating-subnet`
    pub floating_subnet: String,
    /// `floating-subnet-tags`
    pub floating_subnet_tags: String,
    /// `network-id`
    pub network_id: String,
    /// `subnet-id`
    pub subnet_id: String,
    /// `member-subnet-id`
    pub member_subnet_id: String,
}

/// `[Networking]`: which addresses of a server become which addresses of its Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networking {
    /// `ipv6-support-disabled`
    pub ipv6_support_disabled: bool,
    /// `public-network-name`
    pub public_network_names: Vec<String>,
    /// `internal-network-name`
    pub internal_network_names: Vec<String>,
    /// `address-sort-order`
    pub address_sort_order: String,
}

/// `[Route]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Route {
    /// `router-id`
    pub router_id: String,
}

/// `[Metadata]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `search-order`
    pub search_order: String,
    /// `request-timeout`
    pub request_timeout: SignedDuration,
    /// `flavor-label`
    pub flavor_labels: Vec<String>,
}
