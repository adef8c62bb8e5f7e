//! What is wrong or doubtful in a configuration as a whole. Pure.
//!
//! Errors are what OCCM refuses too, sooner or later; everything else that looks wrong is a warning, so that a file that
//! runs OCCM runs us.

use jiff::SignedDuration;

use super::keys::Section;
use super::model::{CloudConf, LoadBalancer};
use crate::instances::labels::LabelRules;

/// Octavia's providers that have been seen to work.
const PROVIDERS: [&str; 5] = ["amphora", "octavia", "ovn", "f5", "amphorav2"];
/// Where certificates can be: with `external` Octavia knows the references, and nobody else looks at them.
const CONTAINER_STORES: [&str; 2] = ["barbican", "external"];
/// Where instances can have their metadata.
const METADATA: [&str; 2] = ["configDrive", "metadataService"];

/// Something about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) section: Section,
    pub(super) key: &'static str,
    pub(super) what: String,
}

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<Finding>,
    pub(super) warnings: Vec<Finding>,
}

impl Findings {
    fn error(&mut self, section: Section, key: &'static str, what: impl Into<String>) {
        self.errors.push(Finding { section, key, what: what.into() });
    }

    fn warning(&mut self, section: Section, key: &'static str, what: impl Into<String>) {
        self.warnings.push(Finding { section, key, what: what.into() });
    }
}

/// Looks at all of it. What stands for its default when it is empty or zero is set to that.
pub(super) fn check(conf: &mut CloudConf) -> Findings {
    let mut findings = Findings::default();
    global(conf, &mut findings);
    metadata(conf, &mut findings);
    load_balancer(&conf.load_balancer, &mut findings);
    networking(conf, &mut findings);
    findings
}

fn global(conf: &CloudConf, findings: &mut Findings) {
    let global = &conf.global;
    if !matches!(global.endpoint_type.as_str(), "" | "public" | "internal" | "admin") {
        let what = format!("wanted public, internal or admin, found {:?}", global.endpoint_type);
        findings.error(Section::Global, "os-endpoint-type", what);
    }
    if !matches!(global.tls_insecure.as_str(), "" | "true" | "false") {
        let what = "only the exact text `true` switches it on; certificates are checked";
        findings.warning(Section::Global, "tls-insecure", what);
    }
    for (there, key, missing) in [
        (&global.cert_file, "cert-file", &global.key_file),
        (&global.key_file, "key-file", &global.cert_file),
    ] {
        if !there.is_empty() && missing.is_empty() && !global.use_clouds {
            findings.warning(
                Section::Global,
                key,
                "cert-file and key-file work only together; it is not used",
            );
        }
    }
    if !global.cloud.is_empty() && !global.use_clouds {
        let what = "a cloud is named without use-clouds: its credentials are used all the same, as OCCM does; write use-clouds = true";
        findings.warning(Section::Global, "cloud", what);
    }
    for (there, key, missing, other) in [
        (&global.secret_name, "secret-name", &global.secret_namespace, "secret-namespace"),
        (&global.secret_namespace, "secret-namespace", &global.secret_name, "secret-name"),
    ] {
        if !there.is_empty() && missing.is_empty() {
            findings.warning(Section::Global, key, format!("it has no effect without {other}"));
        }
    }
}

fn metadata(conf: &mut CloudConf, findings: &mut Findings) {
    let defaults = CloudConf::default().metadata;
    let metadata = &mut conf.metadata;
    if metadata.search_order.is_empty() {
        metadata.search_order = defaults.search_order;
    }
    let order: Vec<&str> = metadata.search_order.split(',').map(str::trim).collect();
    if order.len() > METADATA.len() || order.iter().any(|place| !METADATA.contains(place)) {
        let what = format!(
            "wanted at most two of configDrive and metadataService with a comma between, found {:?}",
            metadata.search_order
        );
        findings.error(Section::Metadata, "search-order", what);
    }
    for what in LabelRules::parse(&metadata.flavor_labels).err().into_iter().flatten() {
        findings.error(Section::Metadata, "flavor-label", what);
    }
    if metadata.request_timeout < SignedDuration::ZERO {
        findings.warning(Section::Metadata, "request-timeout", "a time below zero; the default is used");
    }
    if metadata.request_timeout <= SignedDuration::ZERO {
        metadata.request_timeout = defaults.request_timeout;
    }
}

fn load_balancer(balancer: &LoadBalancer, findings: &mut Findings) {
    let at = Section::LoadBalancer;
    if balancer.enabled && !matches!(balancer.lb_version.as_str(), "" | "v2") {
        let what = format!("wanted v2 or nothing, found {:?}", balancer.lb_version);
        findings.error(at, "lb-version", what);
    }
    if !PROVIDERS.contains(&balancer.lb_provider.as_str()) {
        let what = format!(
            "{:?} is none of {}; it is tried all the same",
            balancer.lb_provider,
            PROVIDERS.join(", ")
        );
        findings.warning(at, "lb-provider", what);
    }
    if !CONTAINER_STORES.contains(&balancer.container_store.as_str()) {
        let what = format!(
            "{:?} is none of {}; certificates are not checked",
            balancer.container_store,
            CONTAINER_STORES.join(", ")
        );
        findings.warning(at, "container-store", what);
    }
    if balancer.lb_provider == "ovn" && balancer.lb_method != "SOURCE_IP_PORT" {
        let what = "the provider ovn knows SOURCE_IP_PORT only; set lb-method";
        findings.warning(at, "lb-method", what);
    }
    if balancer.max_shared_lb < 1 {
        findings.warning(at, "max-shared-lb", "below one, so that no load balancer can be shared");
    }
    monitor(balancer, findings);
}

/// Octavia refuses monitors outside of these limits.
fn monitor(balancer: &LoadBalancer, findings: &mut Findings) {
    let at = Section::LoadBalancer;
    let second = SignedDuration::from_secs(1);
    for (time, key) in
        [(balancer.monitor_delay, "monitor-delay"), (balancer.monitor_timeout, "monitor-timeout")]
    {
        if time < second {
            findings.warning(at, key, "less than a second, which Octavia refuses");
        }
    }
    if balancer.monitor_timeout > balancer.monitor_delay {
        findings.warning(at, "monitor-timeout", "longer than monitor-delay, which Octavia refuses");
    }
    for (count, key) in [
        (balancer.monitor_max_retries, "monitor-max-retries"),
        (balancer.monitor_max_retries_down, "monitor-max-retries-down"),
    ] {
        if !(1..=10).contains(&count) {
            findings.warning(at, key, "not between 1 and 10, which Octavia refuses");
        }
    }
}

fn networking(conf: &CloudConf, findings: &mut Findings) {
    for item in conf.networking.address_sort_order.split([',', ' ']).filter(|item| !item.is_empty()) {
        if bowline_cloud::lenient_cidr(item).is_none() {
            let what = format!("{item:?} is not a CIDR; it is passed over");
            findings.warning(Section::Networking, "address-sort-order", what);
        }
    }
}
