//! The flag table: one row for each flag. The parser, `--help`, `/flagz` and the reference page are generated from it.
//!
//! Names, kinds and defaults are those of the upstream cloud-controller-manager (1.37), so that its command lines keep working. A flag
//! without an effect here is still accepted, and its note explains why it has none.

use super::table::Flag;
use super::table::Kind::{Bool, Duration, Float, Int, Ip, List, Map, Repeated, String, Version};
use super::table::Section::{
    Authentication, Authorization, Bowline, CloudNode, CloudNodeLifecycle, Debugging, Generic, Global,
    LeaderMigration, Misc, NodeIpam, SecureServing, ServiceLb, Webhook, WebhookServing,
};

const NO_WEBHOOKS: &str = "Accepted, no effect: this manager has no admission webhooks.";
const UNBUFFERED: &str = "Accepted, no effect: log lines are written at once, to standard error.";
const REQUEST_HEADER: &str =
    "Used with --requestheader-client-ca-file; otherwise the cluster's ConfigMap decides.";

/// The flags of every cloud-controller-manager, and Bowline's own.
#[rustfmt::skip]
pub(super) const COMMON: &[Flag] = &[
    Flag::new(Debugging, "profiling", Bool, "true",
        "Serve the debugging paths, such as /debug/flags/v, which changes the log verbosity of a running manager."),
    Flag::new(Debugging, "contention-profiling", Bool, "false",
        "Profile where threads wait for locks.")
        .noted("Accepted, no effect: the profile is one of the Go runtime."),

    Flag::new(LeaderMigration, "enable-leader-migration", Bool, "false",
        "Share controllers with another manager through a second lease, so that they can move between the two without \
         both running them.")
        .noted("Needs --leader-elect."),
    Flag::new(LeaderMigration, "leader-migration-config", String, "",
        "File that says which manager runs which controller. Without it the built-in assignment is used.")
        .noted("Only read with --enable-leader-migration."),

    Flag::new(Generic, "min-resync-period", Duration, "12h",
        "How often informers would deliver every object again.")
        .noted("Accepted, no effect: controllers keep their own timers and lose no events."),
    Flag::new(Generic, "kube-api-content-type", String, "application/vnd.kubernetes.protobuf",
        "Content type of requests to the API server.")
        .noted("Accepted, no effect: requests are JSON."),
    Flag::new(Generic, "kube-api-qps", Float, "-1",
        "Requests per second that a client may send to the API server; less than 0 is no limit.")
        .noted("Upstream's default is 20, from before API servers shared themselves out fairly: a cluster of 5,000 nodes would need minutes \
                to be initialised. How long an overloaded API server asks to wait is respected."),
    Flag::new(Generic, "kube-api-burst", Int, "30",
        "Requests that a client may send to the API server at once, before --kube-api-qps limits it."),
    Flag::new(Generic, "controller-start-interval", Duration, "0s",
        "Pause between the starts of two controllers; drawn between one and two times this value."),
    Flag::new(Generic, "controllers", List, "*",
        "Controllers to run: '*' for all that are on by default, 'name' to switch one on, '-name' to switch one off. \
         The first item that mentions a controller decides."),
    Flag::new(Generic, "leader-elect", Bool, "true",
        "Do nothing until this replica holds the lease. Needed as soon as there is more than one replica."),
    Flag::new(Generic, "leader-elect-lease-duration", Duration, "15s",
        "How long other replicas wait, after the last renewal they saw, before they take over."),
    Flag::new(Generic, "leader-elect-renew-deadline", Duration, "10s",
        "How long the leader tries to renew before it stops. Must be less than the lease duration."),
    Flag::new(Generic, "leader-elect-retry-period", Duration, "2s",
        "Pause between two tries to get or renew the lease."),
    Flag::new(Generic, "leader-elect-resource-lock", String, "leases",
        "Kind of object that holds the lock. Only 'leases' is accepted."),
    Flag::new(Generic, "leader-elect-resource-name", String, "cloud-controller-manager",
        "Name of the lease."),
    Flag::new(Generic, "leader-elect-resource-namespace", String, "kube-system",
        "Namespace of the lease."),
    Flag::new(Generic, "cloud-provider", String, "",
        "Name of the cloud provider. Required."),
    Flag::new(Generic, "cloud-config", String, "",
        "Configuration file of the cloud provider."),
    Flag::new(Generic, "external-cloud-volume-plugin", String, "",
        "In-tree volume plugin of an external cloud.")
        .noted("Accepted, no effect: a leftover of the kube-controller-manager."),
    Flag::new(Generic, "use-service-account-credentials", Bool, "false",
        "Give each controller the credentials of a ServiceAccount of its own in kube-system."),
    Flag::new(Generic, "allow-untagged-cloud", Bool, "false",
        "Run even if the cloud's objects carry no cluster ID.")
        .noted("Deprecated upstream."),
    Flag::new(Generic, "route-reconciliation-period", Duration, "10s",
        "How often the cloud's routes are compared with the nodes."),
    Flag::new(Generic, "cluster-name", String, "kubernetes",
        "Name of the cluster, part of the names of load balancers and other cloud objects. Keep it unchanged over the \
         life of a cluster."),
    Flag::new(Generic, "cluster-cidr", String, "",
        "Range or ranges of the pods: one, or one of each address family, separated by a comma."),
    Flag::new(Generic, "allocate-node-cidrs", Bool, "false",
        "Hand out a part of --cluster-cidr to each node (node-ipam-controller)."),
    Flag::new(Generic, "cidr-allocator-type", String, "RangeAllocator",
        "Who hands out pod ranges. The node-ipam-controller starts with 'RangeAllocator' only."),
    Flag::new(Generic, "configure-cloud-routes", Bool, "true",
        "Make routes to the pod ranges of nodes in the cloud (node-route-controller)."),
    Flag::new(Generic, "node-sync-period", Duration, "0s",
        "How often nodes would be compared with the cloud.")
        .noted("Deprecated upstream. Accepted, no effect, as there; see --node-monitor-period."),
    Flag::new(Generic, "feature-gates", Map, "",
        "Features to switch on or off, as Name=true,Other=false."),

    Flag::new(CloudNode, "concurrent-node-syncs", Int, "1",
        "Nodes that are initialised at the same time. The default leaves it to the controller, which takes 4: its workers do not wait for the cloud.")
        .noted("Since 1.27."),
    Flag::new(CloudNode, "concurrent-node-status-updates", Int, "0",
        "Nodes whose addresses are brought up to date at the same time; 0 means as many as --concurrent-node-syncs.")
        .noted("Since 1.36."),

    Flag::new(CloudNodeLifecycle, "node-monitor-period", Duration, "5s",
        "How often nodes that are not ready are looked up in the cloud."),
    Flag::new(CloudNodeLifecycle, "concurrent-node-lifecycle-syncs", Int, "1",
        "Nodes that are tainted or untainted at the same time. The default leaves it to the controller, which takes 4: its workers do not wait for the cloud.")
        .noted("Since 1.37."),

    Flag::new(ServiceLb, "concurrent-service-syncs", Int, "1",
        "Workers for Services. The default leaves it to the controller, which takes 4: its workers do not wait for the cloud."),

    Flag::new(NodeIpam, "service-cluster-ip-range", String, "",
        "Range or ranges of Service addresses, kept free of pods: one, or one of each address family."),
    Flag::new(NodeIpam, "node-cidr-mask-size", Int, "0",
        "Prefix length of a node's range in a cluster with one address family; 0 means 24 for IPv4, 64 for IPv6.")
        .noted("Not together with the two flags for one family."),
    Flag::new(NodeIpam, "node-cidr-mask-size-ipv4", Int, "0",
        "Prefix length of a node's IPv4 range; 0 means 24."),
    Flag::new(NodeIpam, "node-cidr-mask-size-ipv6", Int, "0",
        "Prefix length of a node's IPv6 range; 0 means 64."),

    Flag::new(Webhook, "webhooks", List, "",
        "Admission webhooks to serve, in the form of --controllers. There are none, so only '*' is accepted.")
        .noted(NO_WEBHOOKS),

    Flag::new(WebhookServing, "webhook-bind-address", Ip, "0.0.0.0",
        "Address the webhook server listens on.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-secure-port", Int, "10260",
        "Port of the webhook server; 0 switches it off. Must differ from --secure-port.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-cert-dir", String, "",
        "Folder of the webhook server's own certificate.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-tls-cert-file", String, "",
        "Certificate of the webhook server.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-tls-private-key-file", String, "",
        "Private key of the webhook server.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-disable-http2-serving", Bool, "false",
        "Serve webhooks with HTTP/1.1 only.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-tls-cipher-suites", List, "",
        "Cipher suites of the webhook server.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-tls-curve-preferences", List, "",
        "Key exchange groups of the webhook server, by number.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-tls-min-version", String, "",
        "Oldest TLS version of the webhook server.").noted(NO_WEBHOOKS),
    Flag::new(WebhookServing, "webhook-tls-sni-cert-key", Repeated, "",
        "Further certificate of the webhook server, as CERTFILE,KEYFILE[:name,...].").noted(NO_WEBHOOKS),

    Flag::new(SecureServing, "bind-address", Ip, "0.0.0.0",
        "Address that health, metrics and diagnostics are served on."),
    Flag::new(SecureServing, "secure-port", Int, "10258",
        "Port that health, metrics and diagnostics are served on, with TLS; 0 switches serving off."),
    Flag::new(SecureServing, "disable-http2-serving", Bool, "false",
        "Serve HTTP/1.1 only."),
    Flag::new(SecureServing, "cert-dir", String, "",
        "Folder that keeps the self-signed certificate, as cloud-controller-manager.crt and .key. Without it the \
         certificate lives in memory."),
    Flag::new(SecureServing, "tls-cert-file", String, "",
        "Certificate to serve with, followed by its intermediates, PEM. Read again when it changes."),
    Flag::new(SecureServing, "tls-private-key-file", String, "",
        "Private key of --tls-cert-file, PEM."),
    Flag::new(SecureServing, "tls-cipher-suites", List, "",
        "Cipher suites to offer, by their IANA names. Without it the TLS library chooses."),
    Flag::new(SecureServing, "tls-curve-preferences", List, "",
        "Key exchange groups to offer, by number: 23, 24, 29, 4587, 4588. Without it the TLS library chooses.")
        .noted("Since 1.36."),
    Flag::new(SecureServing, "tls-min-version", String, "",
        "Oldest TLS version: VersionTLS12 (also if empty) or VersionTLS13.")
        .noted("VersionTLS10 and VersionTLS11 are accepted and mean VersionTLS12."),
    Flag::new(SecureServing, "tls-sni-cert-key", Repeated, "",
        "Further certificate, as CERTFILE,KEYFILE[:name,...], served to clients that ask for one of the names; \
         without names, those in the certificate."),
    Flag::new(SecureServing, "http2-max-streams-per-connection", Int, "0",
        "Requests at the same time on one HTTP/2 connection; 0 means 100."),
    Flag::new(SecureServing, "permit-port-sharing", Bool, "false",
        "Let another process listen on the same port (SO_REUSEPORT)."),
    Flag::new(SecureServing, "permit-address-sharing", Bool, "false",
        "Listen even if closed connections still hold the port (SO_REUSEADDR).")
        .noted("Accepted, no effect: this is always so."),

    Flag::new(Authentication, "authentication-kubeconfig", String, "",
        "Credentials for token reviews and for reading the cluster's authentication ConfigMap. Without it those of the \
         pod are used, also if --kubeconfig is given; outside a cluster nobody is asked, and tokens are ignored."),
    Flag::new(Authentication, "authentication-token-webhook-cache-ttl", Duration, "10s",
        "How long the answer of a token review is believed."),
    Flag::new(Authentication, "authentication-skip-lookup", Bool, "false",
        "Do not read the cluster's authentication ConfigMap."),
    Flag::new(Authentication, "authentication-tolerate-lookup-failure", Bool, "false",
        "Start even if the authentication ConfigMap cannot be read; callers may then be taken for anonymous."),
    Flag::new(Authentication, "client-ca-file", String, "",
        "Authorities of client certificates, PEM, in place of those of the cluster."),
    Flag::new(Authentication, "requestheader-client-ca-file", String, "",
        "Authorities of front proxies, PEM, whose user headers are believed."),
    Flag::new(Authentication, "requestheader-username-headers", List, "x-remote-user",
        "Headers in which a front proxy names the user.").noted(REQUEST_HEADER),
    Flag::new(Authentication, "requestheader-uid-headers", List, "",
        "Headers in which a front proxy gives the user's UID, such as x-remote-uid.").noted(REQUEST_HEADER),
    Flag::new(Authentication, "requestheader-group-headers", List, "x-remote-group",
        "Headers in which a front proxy gives the user's groups.").noted(REQUEST_HEADER),
    Flag::new(Authentication, "requestheader-extra-headers-prefix", List, "x-remote-extra-",
        "Prefixes of headers in which a front proxy gives further attributes.").noted(REQUEST_HEADER),
    Flag::new(Authentication, "requestheader-allowed-names", List, "",
        "Common names of certificates that may be front proxies; empty means any.").noted(REQUEST_HEADER),

    Flag::new(Authorization, "authorization-kubeconfig", String, "",
        "Credentials for access reviews. Without it those of the pod are used, also if --kubeconfig is given; outside a \
         cluster nobody is asked, and who is not in system:masters may only see what \
         --authorization-always-allow-paths names."),
    Flag::new(Authorization, "authorization-webhook-cache-authorized-ttl", Duration, "10s",
        "How long 'allowed' is believed."),
    Flag::new(Authorization, "authorization-webhook-cache-unauthorized-ttl", Duration, "10s",
        "How long 'not allowed' is believed."),
    Flag::new(Authorization, "authorization-always-allow-paths", List, "/healthz,/readyz,/livez",
        "Paths that everyone may read: exact, or ending in '*' for all that begin so."),

    Flag::new(Misc, "master", String, "",
        "Address of the API server, in place of the one in --kubeconfig."),
    Flag::new(Misc, "kubeconfig", String, "",
        "File with the address of the API server and the credentials. Without it, and without --master, those of the \
         pod are used."),
    Flag::new(Misc, "node-status-update-frequency", Duration, "5m",
        "How often the addresses of all nodes are brought up to date."),

    Flag::new(Bowline, "cloud-api-qps", Float, "10",
        "Requests per second that may be sent to each service of the cloud."),
    Flag::new(Bowline, "cloud-api-burst", Int, "20",
        "Requests that may be sent to each service of the cloud at once, before --cloud-api-qps limits them."),
    Flag::new(Bowline, "kube-api-timeout", Duration, "30s",
        "How long one call of the API server may take; watches are not limited by it."),
    Flag::new(Bowline, "shutdown-grace-period", Duration, "2s",
        "How long work under way may go on after SIGTERM before it is cancelled."),
    Flag::new(Bowline, "node-deletion-limit-percent", Int, "10",
        "At most this part of the nodes, but always one, is deleted within --node-deletion-window."),
    Flag::new(Bowline, "node-deletion-window", Duration, "10m",
        "The window of --node-deletion-limit-percent."),
    Flag::new(Bowline, "node-deletion-breaker-percent", Int, "33",
        "If more than this part of the nodes looks gone at once, none is deleted until reads were healthy again."),
    Flag::new(Bowline, "new-node-grace-period", Duration, "5m",
        "How old a node must be to be deleted for a machine that was never seen."),
    Flag::new(Bowline, "out-of-service-taint", Bool, "false",
        "Also set the out-of-service taint on nodes whose machine is shut down, so that their volumes can move."),
    Flag::new(Bowline, "skip-node-deletion", Bool, "false",
        "Never delete a Node, even if its machine is proven gone. Taints are set and removed as without it.")
        .noted("Nodes that would be deleted are told by the event NodeDeletionHeld and by bowline_node_deletions_held{rail=\"skip\"}."),
    Flag::new(Bowline, "node-filter", String, "",
        "Label selector of the Nodes that this manager handles, such as 'pool=a,!example.org/edge' or 'pool in (a,b)'. Nodes outside are \
         left alone: no initialization, taint, label, address, route, pod range or deletion. Empty selects all Nodes.")
        .noted("Nodes outside can still be members of load balancers. No security boundary: a kubelet may change most labels of its Node."),
    Flag::new(Bowline, "node-deletion-breaker-recovery", Duration, "1m",
        "For how long all reads must be healthy until nodes are deleted again after --node-deletion-breaker-percent stopped it."),
    Flag::new(Bowline, "node-removal-taints", List, "ToBeDeletedByClusterAutoscaler",
        "Keys of taints that announce the removal of a node: such nodes do not count for --node-deletion-limit-percent."),
    Flag::new(Bowline, "reconcile-node-labels", Bool, "false",
        "Let the labels for type, zone and region of nodes, and the cloud's additional labels, follow the cloud after their \
         initialisation too."),
    Flag::new(Bowline, "second-look-delay", Duration, "5s",
        "How long a change that removes more than half of a set (members, listeners, routes) waits for a second look that \
         must want the same."),
    Flag::new(Bowline, "load-balancer-replacement-delay", Duration, "1m",
        "The least time between the two observations which must both show that a broken load balancer serves nobody before it is replaced."),
    Flag::new(Bowline, "load-balancer-breaker-percent", Int, "10",
        "If more than this part of the load balancers, and more than three, are broken at once, none is replaced."),
    Flag::new(Bowline, "create-limit", Int, "3",
        "How often the same thing may be created for a Service within --create-limit-window."),
    Flag::new(Bowline, "create-limit-window", Duration, "1h",
        "The window of --create-limit."),
    Flag::new(Bowline, "paused", Bool, "false",
        "Look and plan, but write nothing to the cloud, Services or Nodes. A running manager is paused by the annotation \
         bowline.dev/paused on its lease."),
    Flag::new(Bowline, "shadow", Bool, "false",
        "Look at all Services and Nodes, plan what would be done, and report it to --shadow-report; write nothing else, \
         neither to the cloud nor to the cluster.")
        .noted("Leads nothing: --leader-elect and --enable-leader-migration have no effect. Not together with --adopt-only."),
    Flag::new(Bowline, "shadow-period", Duration, "1m0s",
        "How often everything is looked at for the report although nothing changed.")
        .noted("Only with --shadow or --adopt-only."),
    Flag::new(Bowline, "shadow-report", String, "kube-system/bowline-shadow-report",
        "ConfigMap that the report is written to, as NAMESPACE/NAME; its key is report.json.")
        .noted("Only with --shadow or --adopt-only. deploy/rbac-shadow.yaml has the rights for it."),
    Flag::new(Bowline, "adopt-only", Bool, "false",
        "Adopt the load balancers that are there, but make, delete or exchange none of them and no address, for any Service; \
         and report to --shadow-report what is held back.")
        .noted("For the first phase of a migration."),
    Flag::new(Bowline, "cloud-look-up-timeout", Duration, "5m",
        "How long one look-up of the cloud provider may take; after it, nothing is concluded."),
    Flag::new(Bowline, "cloud-change-timeout", Duration, "15m",
        "How long one change of the cloud provider may take; after it, the cloud is looked at again before the next try."),
    Flag::new(Bowline, "load-balancer-repair-period", Duration, "12h",
        "How often a load balancer is compared with its Service although nothing changed; 0 for never."),
    Flag::new(Bowline, "load-balancer-poll-period", Duration, "0s",
        "How often load balancers that are being built are asked for, once for all of them; 0 leaves it to the cloud provider."),

    Flag::new(Global, "help", Bool, "false", "Print the flags and exit.").short('h'),
    Flag::new(Global, "version", Version, "false",
        "Print the version and exit; 'raw' adds platform and compiler. With 'vX.Y.Z' the manager runs and reports that \
         version as its own."),
    Flag::new(Global, "v", Int, "0", "Log verbosity: 0 for what an operator needs, up to 10 for everything.").short('v'),
    Flag::new(Global, "vmodule", Map, "",
        "Log verbosity of single modules, as pattern=N,other=N.")
        .noted("Patterns are beginnings of the paths of Rust modules, such as bowline_kube::lease; one for the files of a Go \
            program is accepted and matches nothing."),
    Flag::new(Global, "logging-format", String, "text", "Form of log lines: 'text' or 'json'."),
    Flag::new(Global, "log-flush-frequency", Duration, "5s", "How often log lines would be flushed.").noted(UNBUFFERED),
    Flag::new(Global, "log-text-split-stream", Bool, "false",
        "Write errors to standard error and the rest to standard output, as text.").noted(UNBUFFERED),
    Flag::new(Global, "log-text-info-buffer-size", String, "0",
        "Bytes of text held back before they are written.").noted(UNBUFFERED),
    Flag::new(Global, "log-json-split-stream", Bool, "false",
        "Write errors to standard error and the rest to standard output, as JSON.").noted(UNBUFFERED),
    Flag::new(Global, "log-json-info-buffer-size", String, "0",
        "Bytes of JSON held back before they are written.").noted(UNBUFFERED),
];
