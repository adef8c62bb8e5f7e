//! The flags of the upstream cloud-controller-manager (1.37), listed independently of the table and compared with it in both directions.
//! This detects flags that are missing or added, and different kinds or defaults.

use super::table::FlagTable;

/// The section, then one line for each flag: name, kind and default (`-` for an empty one).
const UPSTREAM: &[(&str, &str)] = &[
    ("debugging", "profiling b true\ncontention-profiling b false"),
    ("leader-migration", "enable-leader-migration b false\nleader-migration-config s -"),
    (
        "generic",
        "min-resync-period d 12h0m0s
         kube-api-content-type s application/vnd.kubernetes.protobuf
         kube-api-qps f 20
         kube-api-burst i 30
         controller-start-interval d 0s
         controllers l [*]
         leader-elect b true
         leader-elect-lease-duration d 15s
         leader-elect-renew-deadline d 10s
         leader-elect-retry-period d 2s
         leader-elect-resource-lock s leases
         leader-elect-resource-name s cloud-controller-manager
         leader-elect-resource-namespace s kube-system
         cloud-provider s -
         cloud-config s -
         external-cloud-volume-plugin s -
         use-service-account-credentials b false
         allow-untagged-cloud b false
         route-reconciliation-period d 10s
         cluster-name s kubernetes
         cluster-cidr s -
         allocate-node-cidrs b false
         cidr-allocator-type s RangeAllocator
         configure-cloud-routes b true
         node-sync-period d 0s
         feature-gates map -",
    ),
    ("cloud-node-controller", "concurrent-node-syncs i 1\nconcurrent-node-status-updates i 0"),
    ("cloud-node-lifecycle-controller", "node-monitor-period d 5s\nconcurrent-node-lifecycle-syncs i 1"),
    ("service-lb-controller", "concurrent-service-syncs i 1"),
    (
        "node-ipam-controller",
        "service-cluster-ip-range s -
         node-cidr-mask-size i 0
         node-cidr-mask-size-ipv4 i 0
         node-cidr-mask-size-ipv6 i 0",
    ),
    ("webhook", "webhooks l []"),
    (
        "webhook serving",
        "webhook-bind-address ip 0.0.0.0
         webhook-secure-port i 10260
         webhook-cert-dir s -
         webhook-tls-cert-file s -
         webhook-tls-private-key-file s -
         webhook-disable-http2-serving b false
         webhook-tls-cipher-suites l []
         webhook-tls-curve-preferences l []
         webhook-tls-min-version s -
         webhook-tls-sni-cert-key repeat []",
    ),
    (
        "secure serving",
        "bind-address ip 0.0.0.0
         secure-port i 10258
         disable-http2-serving b false
         cert-dir s -
         tls-cert-file s -
         tls-private-key-file s -
         tls-cipher-suites l []
         tls-curve-preferences l []
         tls-min-version s -
         tls-sni-cert-key repeat []
         http2-max-streams-per-connection i 0
         permit-port-sharing b false
         permit-address-sharing b false",
    ),
    (
        "authentication",
        "authentication-kubeconfig s -
         authentication-token-webhook-cache-ttl d 10s
         authentication-skip-lookup b false
         authentication-tolerate-lookup-failure b false
         client-ca-file s -
         requestheader-client-ca-file s -
         requestheader-username-headers l [x-remote-user]
         requestheader-uid-headers l []
         requestheader-group-headers l [x-remote-group]
         requestheader-extra-headers-prefix l [x-remote-extra-]
         requestheader-allowed-names l []",
    ),
    (
        "authorization",
        "authorization-kubeconfig s -
         authorization-webhook-cache-authorized-ttl d 10s
         authorization-webhook-cache-unauthorized-ttl d 10s
         authorization-always-allow-paths l [/healthz,/readyz,/livez]",
    ),
    ("misc", "master s -\nkubeconfig s -\nnode-status-update-frequency d 5m0s"),
    (
        "global",
        "version version false
         help b false
         logging-format s text
         log-flush-frequency d 5s
         v i 0
         vmodule map -
         log-text-split-stream b false
         log-text-info-buffer-size s 0
         log-json-split-stream b false
         log-json-info-buffer-size s 0",
    ),
];

/// The flags that only this manager has.
const EXTENSIONS: &str = "cloud-api-qps f 10
    cloud-api-burst i 20
    kube-api-timeout d 30s
    shutdown-grace-period d 2s
    node-deletion-limit-percent i 10
    node-deletion-window d 10m0s
    node-deletion-breaker-percent i 33
    new-node-grace-period d 5m0s
    out-of-service-taint b false
    skip-node-deletion b false
    node-filter s -
    node-deletion-breaker-recovery d 1m0s
    node-removal-taints l [ToBeDeletedByClusterAutoscaler]
    reconcile-node-labels b false
    second-look-delay d 5s
    load-balancer-replacement-delay d 1m0s
    load-balancer-breaker-percent i 10
    create-limit i 3
    create-limit-window d 1h0m0s
    paused b false
    shadow b false
    shadow-period d 1m0s
    shadow-report s kube-system/bowline-shadow-report
    adopt-only b false
    cloud-look-up-timeout d 5m0s
    cloud-change-timeout d 15m0s
    load-balancer-repair-period d 12h0m0s
    load-balancer-poll-period d 0s";

/// Defaults that differ from upstream's, with both values; the flags' help explains why.
const OTHER_DEFAULTS: &[(&str, &str)] = &[("generic: kube-api-qps f 20", "generic: kube-api-qps f -1")];

fn lines(section: &str, rows: &str) -> Vec<String> {
    rows.lines().map(|row| format!("{section}: {}", row.trim())).collect()
}

fn wanted() -> Vec<String> {
    let mut all: Vec<String> = UPSTREAM.iter().flat_map(|(section, rows)| lines(section, rows)).collect();
    for (theirs, ours) in OTHER_DEFAULTS {
        let line = all.iter_mut().find(|line| line == theirs).unwrap();
        *line = (*ours).to_owned();
    }
    all.extend(lines("bowline", EXTENSIONS));
    all.sort();
    all
}

fn found() -> Vec<String> {
    use super::table::Kind;
    let table = FlagTable::common();
    let defaults = super::parse(&table, Vec::<String>::new()).unwrap().listing();
    let mut all: Vec<String> = table
        .rows()
        .iter()
        .map(|row| {
            let kind = match row.kind {
                Kind::Bool => "b",
                Kind::String => "s",
                Kind::List => "l",
                Kind::Duration => "d",
                Kind::Int => "i",
                Kind::Float => "f",
                Kind::Ip => "ip",
                Kind::Map => "map",
                Kind::Repeated => "repeat",
                Kind::Version => "version",
            };
            let default = defaults.iter().find(|(name, _)| name == row.name).map_or("", |(_, value)| value);
            let default = if default.is_empty() { "-" } else { default };
            format!("{}: {} {kind} {default}", row.section.title(), row.name)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_table_has_every_flag_of_upstream_and_nothing_unannounced() {
    let (wanted, found) = (wanted(), found());
    let missing: Vec<_> = wanted.iter().filter(|line| !found.contains(line)).collect();
    let surplus: Vec<_> = found.iter().filter(|line| !wanted.contains(line)).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:#?}\nsurplus {surplus:#?}");
    assert_eq!(wanted.len(), found.len());
}

#[test]
fn the_letters_are_those_of_upstream() {
    let table = FlagTable::common();
    let letters: Vec<_> = table.rows().iter().filter_map(|row| Some((row.short?, row.name))).collect();
    assert_eq!(letters, [('h', "help"), ('v', "v")]);
}
