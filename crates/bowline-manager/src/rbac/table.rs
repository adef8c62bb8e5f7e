//! The rows of the permission table. Every row must be needed by a test.

use bowline_cloud::Watches;
use bowline_cloud::shadow::DEFAULT_REPORT;
use bowline_controllers::registry::ControllerName;

use super::{Part, Rule, SYSTEM_NAMESPACE, Scope};

/// The cluster's authentication ConfigMap, with the CA certificates of client certificates.
const AUTHENTICATION_SETTINGS: &str = "extension-apiserver-authentication";

/// The default names of the Leases of leader election and of leader migration.
const LEASES: [&str; 2] = ["cloud-controller-manager", "cloud-provider-extraction-migration"];

/// The default name of the Lease that stores the ledger.
const LEDGER: &str = "cloud-controller-manager-ledger";

const EVENTS: &str = "tell people what happens; repeated events are counted on the first one";

/// A cluster-wide permission.
fn rule(
    part: Part,
    group: &'static str,
    resource: &'static str,
    verbs: &[&'static str],
    why: &'static str,
) -> Rule {
    Rule { part, scope: Scope::Cluster, group, resource, names: Vec::new(), verbs: verbs.to_vec(), why }
}

impl Rule {
    fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    fn named(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }
}

/// The permissions of a manager with the common controllers.
pub(super) fn common() -> Vec<Rule> {
    let mut rules = process();
    rules.extend(controllers());
    rules
}

fn process() -> Vec<Rule> {
    let (leases, reviews) = ("coordination.k8s.io", "authentication.k8s.io");
    vec![
        rule(Part::Informers, "", "nodes", &["list", "watch"], "see Nodes"),
        rule(Part::Informers, "", "services", &["list", "watch"], "see Services"),
        rule(Part::Events, "", "events", &["create", "patch"], EVENTS),
        rule(
            Part::Election,
            leases,
            "leases",
            &["create"],
            "make the Lease (a create cannot be limited to a name)",
        )
        .within(Scope::LeaseNamespace),
        rule(Part::Election, leases, "leases", &["get", "update"], "leader election and migration")
            .within(Scope::LeaseNamespace)
            .named(&LEASES),
        rule(
            Part::Election,
            leases,
            "leases",
            &["watch"],
            "let a standby take over at once when a leader leaves; without it, at its next look",
        )
        .within(Scope::LeaseNamespace)
        .named(&LEASES),
        rule(
            Part::Ledger,
            leases,
            "leases",
            &["create"],
            "make the ledger (a create cannot be limited to a name)",
        )
        .within(Scope::LeaseNamespace),
        rule(
            Part::Ledger,
            leases,
            "leases",
            &["get", "update"],
            "keep for the next leader what is as it shall be, so that it need not read everything again",
        )
        .within(Scope::LeaseNamespace)
        .named(&[LEDGER]),
        rule(
            Part::Authentication,
            reviews,
            "tokenreviews",
            &["create"],
            "ask who a caller of the serving port is",
        ),
        rule(
            Part::Authorities,
            "",
            "configmaps",
            &["get"],
            "know the authorities of client certificates on the serving port",
        )
        .within(Scope::SystemNamespace)
        .named(&[AUTHENTICATION_SETTINGS]),
        rule(
            Part::Authorization,
            "authorization.k8s.io",
            "subjectaccessreviews",
            &["create"],
            "ask what a caller of the serving port may",
        ),
        rule(
            Part::Cluster,
            "",
            "namespaces",
            &["get"],
            "know the cluster by the UID of kube-system, to tell its things in the cloud from those of a namesake",
        )
        .named(&[SYSTEM_NAMESPACE]),
        rule(
            Part::Report,
            "",
            "configmaps",
            &["create", "patch"],
            "report what would be done, in shadow and adopt-only mode (deploy/rbac-shadow.yaml)",
        )
        .within(Scope::ReportNamespace)
        .named(&[DEFAULT_REPORT.1]),
        rule(
            Part::Accounts,
            "",
            "serviceaccounts",
            &["create"],
            "make the ServiceAccount of a controller (a create cannot be limited to a name)",
        )
        .within(Scope::SystemNamespace),
        rule(Part::Accounts, "", "serviceaccounts", &["get"], "find the ServiceAccount of each controller")
            .within(Scope::SystemNamespace),
        rule(Part::Accounts, "", "serviceaccounts/token", &["create"], "ask for their tokens")
            .within(Scope::SystemNamespace),
    ]
}

fn controllers() -> Vec<Rule> {
    let [node, lifecycle, service, route, ipam] =
        ControllerName::common().map(|name| Part::of_controller(&name));
    let events = |part: &Part| rule(part.clone(), "", "events", &["create", "patch"], EVENTS);
    vec![
        rule(node.clone(), "", "nodes", &["patch"], "initialise and label Nodes"),
        rule(node.clone(), "", "nodes/status", &["patch"], "write the addresses of Nodes"),
        events(&node),
        rule(
            lifecycle.clone(),
            "",
            "nodes",
            &["patch", "delete"],
            "taint Nodes whose machine is shut down, delete those whose machine is gone",
        ),
        events(&lifecycle),
        rule(
            service.clone(),
            "",
            "services/status",
            &["patch"],
            "write the addresses of load balancers, what the cloud notes of them, and the finalizer that keeps a Service until its load balancer is gone",
        ),
        events(&service),
        rule(route.clone(), "", "nodes/status", &["patch"], "say whether the network of a Node is reachable"),
        events(&route),
        rule(ipam.clone(), "", "nodes", &["patch"], "give Nodes their pod ranges"),
        events(&ipam),
    ]
}

/// The permissions of a cloud's own controller.
pub(super) fn extra(controller: &str, watches: Watches) -> Vec<Rule> {
    let part = Part::Controller { name: controller.to_owned(), client: controller.to_owned() };
    let resource = match watches {
        Watches::Nodes => "nodes",
        Watches::Services => "services",
    };
    vec![
        rule(part.clone(), "", resource, &["patch"], "write the labels and annotations that the cloud wants"),
        rule(part, "", "events", &["create", "patch"], EVENTS),
    ]
}

/// The paths of the serving port that the command line reads. The [`VIEWER`](super::VIEWER) may read only these, and nothing in the
/// cluster.
pub const VIEWED_PATHS: [&str; 4] = ["/bowline", "/bowline/live", "/bowline.json", "/metrics"];
