//! Checks of the cloud and of the way to it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bowline_cloud::Evidence;
use bowline_controllers::shadow::preview::Machine;
use bowline_openstack::loadbalancer::names::cluster_of;
use bowline_openstack::loadbalancer::ownership::clusters_in;

use super::facts::{BalancerFact, CloudFacts, Facts, InsecureEndpoint};
use super::{Finding, Severity, some};

/// Octavia has tags from this version of its API on.
const TAGS: (u32, u32) = (2, 5);

/// A clock that is off by more makes logs, certificates and tokens doubtful.
const SKEW_SECONDS: i64 = 30;

fn balancers(facts: &Facts) -> &[BalancerFact] {
    facts.cloud.as_ref().map(|cloud| cloud.balancers.as_slice()).unwrap_or_default()
}

/// cloud.conf cannot be used.
#[must_use]
pub fn config_unreadable(facts: &Facts) -> Vec<Finding> {
    let Some(why) = &facts.config.problem else { return Vec::new() };
    vec![Finding {
        id: "config-unreadable",
        severity: Severity::Error,
        found: why.clone(),
        why: "without it nobody gets to the cloud",
        remedy: "bowline config check FILE; here the file is given with --cloud-config".to_owned(),
    }]
}

/// cloud.conf says things that are not used, or look wrong.
#[must_use]
pub fn config_doubtful(facts: &Facts) -> Vec<Finding> {
    if facts.config.warnings.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        id: "config-doubtful",
        severity: Severity::Warning,
        found: facts.config.warnings.join("; "),
        why: "what is misspelt is not used, and nobody notices",
        remedy: "bowline config check FILE".to_owned(),
    }]
}

/// The cloud does not let us in.
#[must_use]
pub fn credentials_refused(facts: &Facts) -> Vec<Finding> {
    let Some(CloudFacts { login: Some(why), .. }) = &facts.cloud else { return Vec::new() };
    vec![Finding {
        id: "credentials-refused",
        severity: Severity::Error,
        found: why.clone(),
        why: "the manager can neither read nor write anything; it waits and changes nothing",
        remedy: "check auth-url, credentials and project of [Global]: openstack token issue with the same; the manager takes a new file without a restart".to_owned(),
    }]
}

/// A service of the cloud is not in the catalog for the region and interface.
#[must_use]
pub fn service_missing(facts: &Facts) -> Vec<Finding> {
    let missing = facts.cloud.iter().flat_map(|cloud| &cloud.missing);
    let finding = |why: &String| Finding {
        id: "service-missing",
        severity: Severity::Error,
        found: why.clone(),
        why: "what needs it does not work; the rest does",
        remedy:
            "openstack catalog list shows regions and interfaces; correct [Global] region or os-endpoint-type"
                .to_owned(),
    };
    missing.map(finding).collect()
}

/// An endpoint without TLS in a cloud whose Keystone has TLS.
#[must_use]
pub fn insecure_endpoint(facts: &Facts) -> Vec<Finding> {
    let insecure = facts.cloud.iter().flat_map(|cloud| &cloud.insecure);
    let finding = |endpoint: &InsecureEndpoint| {
        let service = endpoint.service;
        let (severity, why) = match endpoint.allowed {
            true => (
                Severity::Warning,
                "the token travels in clear: whoever reads it may do everything that the manager may do, until it expires",
            ),
            false => (
                Severity::Error,
                "the token is not sent there, because everybody on the way could read it; what needs the service does not work, the rest does",
            ),
        };
        Finding {
            id: "insecure-endpoint",
            severity,
            found: format!("the catalog names an endpoint without TLS (http) for {service}; auth-url has TLS (https)"),
            why,
            remedy: "publish an https endpoint, or choose another [Global] os-endpoint-type or region; [Global] allow-insecure-endpoints=true sends the token in clear".to_owned(),
        }
    };
    insecure.map(finding).collect()
}

/// Octavia without tags.
#[must_use]
pub fn octavia_too_old(facts: &Facts) -> Vec<Finding> {
    let version = facts.cloud.as_ref().and_then(|cloud| cloud.octavia);
    let Some((major, minor)) = version.filter(|version| *version < TAGS) else { return Vec::new() };
    vec![Finding {
        id: "octavia-too-old",
        severity: Severity::Warning,
        found: format!("Octavia's API is {major}.{minor}; tags came with {}.{}", TAGS.0, TAGS.1),
        why: "without tags load balancers are known by their names alone: they cannot be shared, and not be told from those of a namesake",
        remedy: "upgrade Octavia to Stein or later, and keep cluster names unique in the project until then"
            .to_owned(),
    }]
}

/// A clock that is far from ours.
#[must_use]
pub fn clock_skew(facts: &Facts) -> Vec<Finding> {
    let off = facts.clocks.iter().filter(|clock| clock.ahead_seconds.abs() > SKEW_SECONDS);
    let finding = |clock: &super::facts::ClockFact| {
        let (seconds, where_to) =
            (clock.ahead_seconds.abs(), if clock.ahead_seconds > 0 { "ahead of" } else { "behind" });
        Finding {
            id: "clock-skew",
            severity: Severity::Warning,
            found: format!("the clock of {} is {seconds} seconds {where_to} the one here", clock.of),
            why: "certificates and tokens are judged by time, and logs of several machines cannot be put together",
            remedy: "check the time here and there (chronyc tracking, timedatectl)".to_owned(),
        }
    };
    off.map(finding).collect()
}

/// Whether the cloud knows the server of no Node at all.
pub(super) fn all_servers_are_gone(facts: &Facts) -> bool {
    let machines = facts.machines.as_deref().unwrap_or_default();
    let gone =
        machines.iter().filter(|(_, machine)| matches!(machine, Machine::Ours(Evidence::Absent(_)))).count();
    let ours = machines.iter().filter(|(_, machine)| matches!(machine, Machine::Ours(_))).count();
    ours > 1 && gone == ours
}

/// The cloud knows none of the servers: the credentials are for another project, or region.
#[must_use]
pub fn another_project(facts: &Facts) -> Vec<Finding> {
    if !all_servers_are_gone(facts) {
        return Vec::new();
    }
    vec![Finding {
        id: "another-project",
        severity: Severity::Error,
        found: "the cloud has the server of no Node at all".to_owned(),
        why: "credentials of another project or region see an empty cloud; the manager's rails keep the Nodes, and nothing else works",
        remedy:
            "compare openstack server list with kubectl get nodes; correct tenant-id and region in [Global]"
                .to_owned(),
    }]
}

/// Another cluster of the same name in the project.
#[must_use]
pub fn duplicate_cluster_name(facts: &Facts) -> Vec<Finding> {
    let Some(ours) = facts.cluster_uid.as_deref() else { return Vec::new() };
    let named =
        balancers(facts).iter().filter(|one| cluster_of(&one.name) == Some(facts.cluster_name.as_str()));
    let others: BTreeSet<&str> =
        named.flat_map(|one| clusters_in(&one.tags)).filter(|uid| *uid != ours).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let others: Vec<&str> = others.into_iter().collect();
    vec![Finding {
        id: "duplicate-cluster-name",
        severity: Severity::Error,
        found: format!("clusters with the UIDs {} call themselves {} too, in the same project", some(&others), facts.cluster_name),
        why: "a Service of the same namespace and name in both has the same load balancer name; the manager refuses to touch the other's, OCCM does not",
        remedy: "give one of them another --cluster-name; if the other cluster is no more: bowline cleanup --cluster NAME --cluster-uid UID --dry-run".to_owned(),
    }]
}

/// Several load balancers of one name.
#[must_use]
pub fn namesakes(facts: &Facts) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in
        balancers(facts).iter().filter(|one| cluster_of(&one.name) == Some(facts.cluster_name.as_str()))
    {
        by_name.entry(one.name.as_str()).or_default().push(one.id.as_str());
    }
    let several = by_name.into_iter().filter(|(_name, ids)| ids.len() > 1);
    let finding = |(name, ids): (&str, Vec<&str>)| Finding {
        id: "load-balancers-of-one-name",
        severity: Severity::Error,
        found: format!("load balancers {} are all called {name}", some(&ids)),
        why: "nobody can say which is meant: the Service is refused until it names one",
        remedy: format!(
            "name the right one (kubectl bowline adopt svc/NAME --load-balancer {}) or delete the others",
            ids.first().unwrap_or(&"ID")
        ),
    };
    several.map(finding).collect()
}

/// Load balancers that Octavia gave up.
#[must_use]
pub fn broken_balancers(facts: &Facts) -> Vec<Finding> {
    let ours =
        balancers(facts).iter().filter(|one| cluster_of(&one.name) == Some(facts.cluster_name.as_str()));
    let broken: Vec<String> =
        ours.filter(|one| one.status == "ERROR").map(|one| format!("{} ({})", one.name, one.id)).collect();
    if broken.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        id: "load-balancer-in-error",
        severity: Severity::Warning,
        found: format!("Octavia gave up {}", some(&broken)),
        why: "it may go on serving, and cannot be changed any more",
        remedy: "kubectl bowline explain svc/NAME tells what the manager does about it; openstack loadbalancer failover ID tries to mend it in place".to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bowline_cloud::Proof;

    use super::*;
    use crate::doctor::Check;
    use crate::doctor::facts::ClockFact;
    use crate::doctor::fixture::{node, well};

    fn ids(check: Check, change: impl FnOnce(&mut Facts)) -> Vec<&'static str> {
        let mut facts = well();
        change(&mut facts);
        check(&facts).iter().map(|finding| finding.id).collect()
    }

    fn cloud(facts: &mut Facts) -> &mut CloudFacts {
        facts.cloud.as_mut().unwrap()
    }

    fn balancer(id: &str, name: &str, tags: &[&str]) -> BalancerFact {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        BalancerFact { id: id.into(), name: name.into(), tags, status: "ACTIVE".into() }
    }

    #[test]
    fn a_configuration_that_cannot_be_used_or_is_doubtful_is_told_of() {
        assert_eq!(ids(config_unreadable, |f| f.config.problem = Some("no".into())), ["config-unreadable"]);
        assert_eq!(ids(config_doubtful, |f| f.config.warnings = vec!["x".into()]), ["config-doubtful"]);
    }

    #[test]
    fn credentials_services_and_versions_are_judged() {
        assert_eq!(
            ids(credentials_refused, |f| cloud(f).login = Some("401".into())),
            ["credentials-refused"]
        );
        assert_eq!(
            ids(service_missing, |f| cloud(f).missing = vec!["no Octavia".into()]),
            ["service-missing"]
        );
        assert_eq!(ids(octavia_too_old, |f| cloud(f).octavia = Some((2, 4))), ["octavia-too-old"]);
        assert!(ids(octavia_too_old, |f| cloud(f).octavia = Some((2, 5))).is_empty());
        assert!(ids(octavia_too_old, |f| cloud(f).octavia = None).is_empty(), "not known is not too old");
    }

    #[test]
    fn endpoints_without_tls_are_an_error_or_where_they_are_allowed_a_warning() {
        for (allowed, severity) in [(false, Severity::Error), (true, Severity::Warning)] {
            let mut facts = well();
            let service = openstack_client::Service::LoadBalancer;
            cloud(&mut facts).insecure = vec![InsecureEndpoint { service, allowed }];
            let [finding] = &*insecure_endpoint(&facts) else { panic!("one finding") };
            assert_eq!((finding.id, finding.severity), ("insecure-endpoint", severity));
            assert!(finding.found.contains("load-balancer"), "{}", finding.found);
        }
    }

    #[test]
    fn a_clock_is_off_in_either_direction() {
        let clock = |ahead_seconds| ClockFact { of: "Keystone", ahead_seconds };
        assert_eq!(
            ids(clock_skew, |f| f.clocks = vec![clock(31), clock(-40), clock(5)]),
            ["clock-skew", "clock-skew"]
        );
        let mut facts = well();
        facts.clocks = vec![clock(-40)];
        assert!(clock_skew(&facts)[0].found.contains("40 seconds behind"));
    }

    #[test]
    fn a_cloud_that_knows_no_server_at_all_is_another_project() {
        let gone = |name: &str| (Arc::new(node(name)), Machine::Ours(Evidence::Absent(Proof::new("404"))));
        assert_eq!(
            ids(another_project, |f| f.machines = Some(vec![gone("a"), gone("b")])),
            ["another-project"]
        );
        assert!(ids(another_project, |f| f.machines = Some(vec![gone("a")])).is_empty(), "one may be gone");
        assert!(ids(another_project, |f| f.machines.as_mut().unwrap().push(gone("b"))).is_empty());
    }

    #[test]
    fn another_cluster_of_the_name_is_known_by_its_tag() {
        let name = "kube_service_prod-1_default_web";
        let found = |tags: &[&str]| {
            ids(duplicate_cluster_name, |f| cloud(f).balancers = vec![balancer("1", name, tags)])
        };
        assert_eq!(found(&["bowline-cluster:other"]), ["duplicate-cluster-name"]);
        assert!(found(&["bowline-cluster:uid-1"]).is_empty());
        assert!(found(&[]).is_empty(), "who made it is not known");
        let elsewhere = |f: &mut Facts| {
            cloud(f).balancers =
                vec![balancer("1", "kube_service_harbour_default_web", &["bowline-cluster:other"])];
        };
        assert!(ids(duplicate_cluster_name, elsewhere).is_empty(), "another name");
    }

    #[test]
    fn several_of_one_name_and_broken_ones_are_told_of() {
        let name = "kube_service_prod-1_default_web";
        let two =
            |f: &mut Facts| cloud(f).balancers = vec![balancer("1", name, &[]), balancer("2", name, &[])];
        assert_eq!(ids(namesakes, two), ["load-balancers-of-one-name"]);
        assert!(ids(namesakes, |f| cloud(f).balancers = vec![balancer("1", name, &[])]).is_empty());
        let broken = |f: &mut Facts| {
            cloud(f).balancers = vec![BalancerFact { status: "ERROR".into(), ..balancer("1", name, &[]) }];
        };
        assert_eq!(ids(broken_balancers, broken), ["load-balancer-in-error"]);
    }
}
