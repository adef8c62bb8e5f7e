//! The reference pages that are about more than one crate: metrics, events, conditions, rights, and the operator's resource.
//!
//! It is here because the operator knows both the manager and the provider. It makes up nothing: rows are their crates'.

mod resource;

use bowline_cloud::reference::{
    ConditionRow, EventRow, MetricRow, conditions_table, events_table, metrics_table,
};
use bowline_manager::reference as manager;
use bowline_openstack::reference as openstack;

pub use self::resource::resource_page;

/// What the operator counts.
pub const METRICS: &[MetricRow] = &[
    MetricRow {
        name: "bowline_operator_reconciles_total",
        kind: "counter",
        labels: &["name", "result"],
        help: "Passes over a CloudControllerManager by result: ok, or the reason of what is wrong",
    },
    MetricRow {
        name: "bowline_operator_phase",
        kind: "gauge",
        labels: &["name", "phase"],
        help: "1 for the phase that the migration of a CloudControllerManager is in",
    },
    MetricRow {
        name: "bowline_operator_applied_objects_total",
        kind: "counter",
        labels: &["name", "what"],
        help: "Objects that were created, updated, recreated or deleted",
    },
];

const fn row(
    condition: &'static str,
    status: &'static str,
    reason: &'static str,
    meaning: &'static str,
) -> ConditionRow {
    ConditionRow { about: "CloudControllerManager", condition, status, reason, meaning }
}

/// Reasons of the operator's conditions. Reasons of `Degraded` are of `Progressing` and `ActionRequired`, too.
pub const CONDITIONS: &[ConditionRow] = &[
    row("Available", "True", "AsExpected", "A pod of the manager is ready."),
    row("Available", "False", "NotInstalled", "Nothing runs yet; `Progressing` says what it waits for."),
    row(
        "Available",
        "False",
        "NoPodReady",
        "Pods are there, none is ready; the message says what they wait for.",
    ),
    row("Progressing", "True", "RollingOut", "Another version or configuration is rolled out."),
    row("Progressing", "True", "the name of a phase", "A migration is under way: `bowline migrate status`."),
    row("Progressing", "False", "Paused", "`spec.paused` is true: nothing is changed."),
    row(
        "Degraded",
        "True",
        "ConfigMissing",
        "The Secret or ConfigMap of `cloud.conf` is not there, or has no such key.",
    ),
    row(
        "Degraded",
        "True",
        "ConfigInvalid",
        "`cloud.conf` cannot be used; the message has line and key. The last good one runs on.",
    ),
    row("Degraded", "True", "CredentialsMissing", "The Secret of the credentials is not there."),
    row("Degraded", "True", "TrustedCAMissing", "The ConfigMap of the certificates is not there."),
    row("Degraded", "True", "TrustedCAInvalid", "It holds no certificates."),
    row("Degraded", "True", "SpecInvalid", "The object asks for what cannot be; the message says what."),
    row(
        "Degraded",
        "True",
        "NamespaceNotAllowed",
        "`spec.namespace` or `spec.leaseNamespace` is not in the operator\u{2019}s `--allowed-namespaces`. What runs already runs on, and is not looked after.",
    ),
    row(
        "Degraded",
        "True",
        "ImageNotAllowed",
        "The image is neither of the operator\u{2019}s repository, nor upstream\u{2019}s, nor of `--allowed-image-registries`.",
    ),
    row(
        "Degraded",
        "True",
        "SecretNotAllowed",
        "`spec.cloudConfig.secret` or `spec.credentials` is not in the operator\u{2019}s `--allowed-secrets`.",
    ),
    row(
        "Degraded",
        "True",
        "LeaseNotAllowed",
        "`spec.leaseName` is neither the Lease of a cloud-controller-manager, nor `bowline-ccm-*`, nor in the operator\u{2019}s `--allowed-leases`.",
    ),
    row("Degraded", "True", "NameNotAllowed", "The name of the object is reserved."),
    row(
        "Degraded",
        "True",
        "Conflicting",
        "Another object asks for a manager of the same cluster name, namespace or Lease.",
    ),
    row(
        "Degraded",
        "True",
        "ObjectInUse",
        "An object of that name is somebody else\u{2019}s; nothing is changed until it is gone or `spec.adopt` is true.",
    ),
    row("Degraded", "True", "ApplyFailed", "The API server refused an object; tried again."),
    row("Degraded", "True", "StepFailed", "A step of the migration failed; tried again."),
    row("Degraded", "True", "ClusterUnknown", "The cluster could not be read; tried again."),
    row("Degraded", "True", "RolloutStalled", "The new pods do not become ready; the message has advice."),
    row(
        "ActionRequired",
        "True",
        "UninstallRefused",
        "Services have load balancers: delete them, or set `deletionPolicy: Orphan`.",
    ),
];

/// The page of metrics.
#[must_use]
pub fn metrics_page() -> String {
    let intro = "What is served on `/metrics` of the secure port (10258; of the operator 10268, unless its flags say otherwise). Counters end in `_total`, \
        histograms have `_bucket`, `_count` and `_sum` in a scrape. Names without `bowline_` are those that upstream\u{2019}s managers and OCCM \
        have, so that their dashboards go on working. A metric with labels is in a scrape when there is something to tell.\n";
    page(
        "Metrics",
        "the tables of metrics in bowline-manager, bowline-openstack and bowline-operator",
        intro,
        &[
            ("Of every manager", metrics_table(manager::METRICS)),
            ("Of the OpenStack provider", metrics_table(openstack::METRICS)),
            ("Of the operator", metrics_table(METRICS)),
        ],
    )
}

/// The page of events.
#[must_use]
pub fn events_page() -> String {
    let events = manager::events();
    let about = |what: &'static str| {
        let rows: Vec<&EventRow> = events.iter().filter(|row| row.about == what).collect();
        events_table(rows)
    };
    let intro = "What `kubectl describe` and `kubectl events` show. Reasons and texts that upstream has are upstream\u{2019}s. `SR-…` is a \
        [safety rail](../explanation/safety-rails.md). Request ids of the cloud are in the condition and in the log, not in events: with them, \
        every retry would be an event of its own.\n";
    page(
        "Events",
        "the tables of events in bowline-controllers, bowline-manager and bowline-openstack",
        intro,
        &[
            ("Of a Service", about("Service")),
            ("Of a Service, with OpenStack", events_table(openstack::EVENTS)),
            ("Of a Node", about("Node")),
            ("Of the Lease", about("Lease")),
            ("Of a controller of the cloud\u{2019}s own", about("Service or Node")),
        ],
    )
}

/// The page of conditions, and of the marks that people set.
#[must_use]
pub fn conditions_page() -> String {
    let of =
        |about: &'static str| conditions_table(manager::conditions().iter().filter(|row| row.about == about));
    let marks = "| where | annotation | meaning |\n|---|---|---|\n\
        | Service | `bowline.dev/paused` | Any text but a clear no (`false`, `0`, nothing): nothing is changed for this Service until it is removed. |\n\
        | Lease of the manager | `bowline.dev/paused` | The same, for everybody. The text is shown as the reason. |\n\
        | Lease of the manager | `bowline.dev/serving-certificate-sha256` | Written by the leader: the SHA-256 of its serving certificate, by which the command line knows it. |\n\
        | Node | `bowline.dev/allow-node-deletion` | `true`: this Node may go although the budget of deletions is spent or its breaker is open; its server must be proven gone all the same. |\n\
        | Service | `bowline.dev/allow-load-balancer-replacement` | The id of its load balancer, which is broken: it may be replaced although many are broken at once. It is kept all the same while it may carry traffic. |\n";
    let kept = "| where | annotation | meaning |\n|---|---|---|\n\
        | Service | `bowline.dev/fingerprint` | Written with other things when all was as it shall be: as long as neither the Service nor its load balancer changes, a new leader need not read it. |\n\
        | Lease `cloud-controller-manager-ledger`, beside the leader\u{2019}s | `bowline.dev/ledger` | The same of Services on which nothing else had to be written, a line for each. It may be deleted: that costs reads. |\n\
        | Service | `bowline.dev/resync-at` | Written by `bowline resync`: what is known of the load balancer is read again, once. |\n";
    let intro = "Conditions say what is so now; [events](events.md) say what happened.\n";
    page(
        "Conditions",
        "the tables of conditions in bowline-controllers and bowline-operator",
        intro,
        &[
            ("Of a Service", of("Service")),
            ("Of a Node", of("Node")),
            ("Of a CloudControllerManager", conditions_table(CONDITIONS)),
            ("What people may set", marks.to_owned()),
            ("What is kept between looks", kept.to_owned()),
        ],
    )
}

/// The page of rights.
#[must_use]
pub fn rights_page() -> String {
    let intro = "What a manager may do in the cluster, and what for. The manifests are made of this table: \
        [deploy/rbac.yaml](../../deploy/rbac.yaml) for one identity, \
        [deploy/rbac-service-account-credentials.yaml](../../deploy/rbac-service-account-credentials.yaml) for one of each controller, \
        [deploy/rbac-shadow.yaml](../../deploy/rbac-shadow.yaml) for `--shadow`. A test takes each verb away in turn, and something fails. \
        A right that is missing is told on `/readyz?verbose`, in `bowline_missing_permissions` and in an event of the Lease.\n";
    page(
        "Rights (RBAC)",
        "crates/bowline-manager/src/rbac/table.rs",
        intro,
        &[("Rights", manager::rights_table())],
    )
}

fn page(title: &str, from: &str, intro: &str, parts: &[(&str, String)]) -> String {
    let parts: Vec<String> = parts.iter().map(|(title, table)| format!("\n## {title}\n\n{table}")).collect();
    let note = format!("<!-- Generated by `cargo xtask gen` from {from}; do not edit. -->");
    format!("{note}\n\n# {title}\n\n{intro}{}", parts.concat())
}

#[cfg(test)]
mod tests {
    use bowline_cloud::reference::differences;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::operate::OperatorMetrics;

    #[test]
    fn every_metric_of_the_operator_has_a_row() {
        let mut registry = Registry::default();
        OperatorMetrics::register(&mut registry);
        assert_eq!(differences(METRICS, &registry, &[]), [""; 0]);
    }

    /// The files in which reasons of conditions are said.
    const SOURCES: [&str; 5] = [
        include_str!("allowed.rs"),
        include_str!("operate/status.rs"),
        include_str!("operate/problem.rs"),
        include_str!("operate/remove.rs"),
        include_str!("observe/inputs.rs"),
    ];

    #[test]
    fn every_reason_of_a_condition_is_said_and_every_problem_has_a_row() {
        for row in CONDITIONS.iter().filter(|row| !row.reason.contains(' ') && row.reason != "AsExpected") {
            let quoted = format!("\"{}\"", row.reason);
            assert!(SOURCES.iter().any(|source| source.contains(&quoted)), "{} is not said", row.reason);
        }
        let arms = SOURCES.iter().flat_map(|source| source.lines()).filter(|line| line.contains("=> \""));
        let said = arms
            .filter_map(|line| line.split('"').nth(1))
            .filter(|word| ["Missing", "Invalid", "NotAllowed"].iter().any(|end| word.ends_with(end)));
        for reason in said {
            assert!(CONDITIONS.iter().any(|row| row.reason == reason), "no row for {reason}");
        }
    }
}
