//! Checks of the managers: whether one works, and only one, and whether it may. Pure.

use std::collections::BTreeSet;

use super::facts::{Facts, MissingRight};
use super::{Finding, Severity, some};
use crate::session::managers::{Manager, Program};

/// A container that was started again so often does not run well.
const MANY_RESTARTS: i32 = 5;

/// A manager that writes nothing but its report.
fn is_shadow(manager: &Manager) -> bool {
    manager.flags.get("shadow").is_some_and(|value| value == "true")
}

/// No pod runs a manager. One that runs outside of the cluster is known by its Lease.
#[must_use]
pub fn no_manager(facts: &Facts) -> Vec<Finding> {
    match &facts.managers {
        Some(managers) if managers.iter().all(is_shadow) && facts.leader.problem.is_some() => vec![Finding {
            id: "no-manager",
            severity: Severity::Error,
            found: "no pod runs a cloud-controller-manager, and nobody holds its Lease".to_owned(),
            why: "Nodes are not initialized, and Services of type LoadBalancer stay pending",
            remedy: "install one: see the guide on installation, or bowline operator".to_owned(),
        }],
        _ => Vec::new(),
    }
}

/// A manager runs, and nobody leads.
#[must_use]
pub fn no_leader(facts: &Facts) -> Vec<Finding> {
    let (Some(why), Some(managers)) = (&facts.leader.problem, &facts.managers) else { return Vec::new() };
    let working: Vec<&Manager> = managers.iter().filter(|manager| !is_shadow(manager)).collect();
    let Some(first) = working.first() else { return Vec::new() };
    if working.iter().all(|manager| manager.flags.get("leader-elect").is_some_and(|value| value == "false")) {
        return Vec::new();
    }
    vec![Finding {
        id: "no-leader",
        severity: Severity::Error,
        found: why.clone(),
        why: "a manager that does not lead does nothing",
        remedy: format!(
            "kubectl -n {} logs {}; look for what it says of the Lease, its rights or the cloud",
            first.namespace, first.pod
        ),
    }]
}

/// Managers of several kinds, or several without an election.
#[must_use]
pub fn two_managers(facts: &Facts) -> Vec<Finding> {
    let managers = facts.managers.iter().flatten().filter(|manager| !is_shadow(manager));
    let working: Vec<&Manager> = managers.filter(|manager| manager.program != Program::Other).collect();
    let programs: BTreeSet<&str> = working
        .iter()
        .map(|manager| match manager.program {
            Program::Bowline => "bowline",
            Program::OpenStack => "openstack-cloud-controller-manager",
            Program::Other => "other",
        })
        .collect();
    let names: BTreeSet<&str> = working
        .iter()
        .map(|manager| manager.flags.get("cluster-name").map_or("kubernetes", String::as_str))
        .collect();
    let unelected = working
        .iter()
        .filter(|manager| manager.flags.get("leader-elect").is_some_and(|value| value == "false"))
        .count();
    let pods: Vec<&String> = working.iter().map(|manager| &manager.pod).collect();
    let found = if programs.len() > 1 {
        format!("{} run different programs", some(&pods))
    } else if names.len() > 1 {
        format!("{} run with different --cluster-name", some(&pods))
    } else if unelected > 0 && working.len() > 1 {
        format!("{} run, and not all of them compete for the Lease (--leader-elect=false)", some(&pods))
    } else {
        return Vec::new();
    };
    vec![Finding {
        id: "two-managers",
        severity: Severity::Error,
        found,
        why: "two managers that both write undo each other's work, and may make load balancers twice",
        remedy:
            "remove one of them; bowline migrate hands a cluster over without a moment in which both write"
                .to_owned(),
    }]
}

/// A person paused everything.
#[must_use]
pub fn paused(facts: &Facts) -> Vec<Finding> {
    let Some(why) = &facts.leader.paused else { return Vec::new() };
    let (namespace, name) =
        facts.leader.lease.split_once('/').unwrap_or(("kube-system", facts.leader.lease.as_str()));
    vec![Finding {
        id: "paused",
        severity: Severity::Hint,
        found: format!("all changes are paused: {why}"),
        why: "nothing is written to the cloud, Services or Nodes until it is over",
        remedy: format!("kubectl -n {namespace} annotate lease {name} {}-", bowline_cloud::PAUSED),
    }]
}

/// The cloud does not know the manager any more, as it told.
#[must_use]
pub fn identity_lost(facts: &Facts) -> Vec<Finding> {
    let Some(why) = &facts.leader.identity_lost else { return Vec::new() };
    vec![Finding {
        id: "identity-lost",
        severity: Severity::Error,
        found: format!("the cloud does not know the manager any more: {why}"),
        why: "nothing is changed, neither in the cloud nor on Nodes and Services, until it does",
        remedy:
            "renew the credentials in its cloud.conf, for the same project; it takes them by itself, and asks every five seconds"
                .to_owned(),
    }]
}

/// Parts of the leader that do not work, as it says itself.
#[must_use]
pub fn degraded(facts: &Facts) -> Vec<Finding> {
    let parts = facts.degraded.as_deref().unwrap_or_default();
    if parts.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        id: "manager-degraded",
        severity: Severity::Warning,
        found: format!("the leader says that somebody should look at {}", some(parts)),
        why: "a part that does not work does nothing, and is tried again by itself",
        remedy: "kubectl bowline page shows why, and so does the log of the leader".to_owned(),
    }]
}

/// A manager that is started again and again.
#[must_use]
pub fn restarts(facts: &Facts) -> Vec<Finding> {
    let managers = facts.managers.iter().flatten();
    let unwell = managers.filter(|manager| manager.restarts >= MANY_RESTARTS && !manager.ready);
    let finding = |manager: &Manager| Finding {
        id: "manager-restarts",
        severity: Severity::Error,
        found: format!(
            "pod {}/{} was started again {} times and is not ready",
            manager.namespace, manager.pod, manager.restarts
        ),
        why: "what it has to do waits",
        remedy: format!("kubectl -n {} logs {} --previous", manager.namespace, manager.pod),
    };
    unwell.map(finding).collect()
}

/// Rights that the manager lacks.
#[must_use]
pub fn rights_missing(facts: &Facts) -> Vec<Finding> {
    let missing = facts.missing_rights.iter().flatten();
    let accounts: BTreeSet<&String> = missing.map(|right| &right.account).collect();
    let of = |account: &String| -> Vec<&MissingRight> {
        facts.missing_rights.iter().flatten().filter(|right| right.account == *account).collect()
    };
    accounts
        .into_iter()
        .map(|account| {
            let rights = of(account);
            let names: Vec<&String> = rights.iter().map(|right| &right.what).collect();
            let why = rights.first().map(|right| right.why.clone()).unwrap_or_default();
            Finding {
                id: "rights-missing",
                severity: Severity::Error,
                found: format!("{account} may not {}; the first is needed to {why}", some(&names)),
                why: "what it may not do is left undone, and some of it is noticed late",
                remedy: "apply the roles of this version: kubectl apply -f deploy/rbac.yaml (or upgrade the chart)".to_owned(),
            }
        })
        .collect()
}

/// The name that every cluster has that was not given one.
#[must_use]
pub fn default_cluster_name(facts: &Facts) -> Vec<Finding> {
    let is_working = facts.managers.iter().flatten().any(|manager| !is_shadow(manager));
    if facts.cluster_name != "kubernetes" || !is_working {
        return Vec::new();
    }
    vec![Finding {
        id: "default-cluster-name",
        severity: Severity::Hint,
        found: "the cluster is called kubernetes in the cloud, as every cluster that was not given a name".to_owned(),
        why: "load balancers are found by their names; of two clusters of one name in a project only tags tell which is whose",
        remedy: "give new clusters a --cluster-name of their own; leave this one as it is unless it is alone in its project".to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Check;
    use crate::doctor::fixture::{manager, well};

    fn ids(check: Check, change: impl FnOnce(&mut Facts)) -> Vec<&'static str> {
        let mut facts = well();
        change(&mut facts);
        check(&facts).iter().map(|finding| finding.id).collect()
    }

    fn set(manager: &mut Manager, flag: &str, value: &str) {
        manager.flags.insert(flag.to_owned(), value.to_owned());
    }

    #[test]
    fn a_cluster_without_a_manager_is_told_of_unless_one_leads_from_outside() {
        let nobody = |facts: &mut Facts| {
            facts.managers = Some(Vec::new());
            facts.leader.problem = Some("there is no Lease".into());
        };
        assert_eq!(ids(no_manager, nobody), ["no-manager"]);
        assert!(ids(no_leader, nobody).is_empty(), "said once");
        assert!(
            ids(no_manager, |facts| facts.managers = Some(Vec::new())).is_empty(),
            "one leads from outside"
        );
        assert!(ids(no_manager, |facts| facts.managers = None).is_empty(), "the pods could not be listed");
    }

    #[test]
    fn a_manager_that_does_not_lead_is_told_of() {
        let stuck = |facts: &mut Facts| facts.leader.problem = Some("nobody holds it".into());
        assert_eq!(ids(no_leader, stuck), ["no-leader"]);
        let alone = |facts: &mut Facts| {
            stuck(facts);
            set(&mut facts.managers.as_mut().unwrap()[0], "leader-elect", "false");
        };
        assert!(ids(no_leader, alone).is_empty(), "it needs no Lease");
    }

    #[test]
    fn two_managers_that_write_are_an_error_and_two_replicas_or_a_shadow_are_not() {
        let second = |change: fn(&mut Manager)| {
            ids(two_managers, |facts| {
                let mut other = manager("second");
                change(&mut other);
                facts.managers.as_mut().unwrap().push(other);
            })
        };
        assert!(second(|_| {}).is_empty());
        assert_eq!(second(|other| other.program = Program::OpenStack), ["two-managers"]);
        assert_eq!(second(|other| set(other, "cluster-name", "another")), ["two-managers"]);
        assert_eq!(second(|other| set(other, "leader-elect", "false")), ["two-managers"]);
        assert!(
            second(|other| {
                other.program = Program::OpenStack;
                set(other, "shadow", "true");
            })
            .is_empty()
        );
        assert!(
            second(|other| other.program = Program::Other).is_empty(),
            "that of another cloud, in a hybrid cluster"
        );
    }

    #[test]
    fn a_pause_restarts_missing_rights_and_the_default_name_are_told_of() {
        assert_eq!(ids(paused, |facts| facts.leader.paused = Some("rack".into())), ["paused"]);
        let unwell = |facts: &mut Facts| {
            let manager = &mut facts.managers.as_mut().unwrap()[0];
            (manager.restarts, manager.ready) = (9, false);
        };
        assert_eq!(ids(restarts, unwell), ["manager-restarts"]);
        assert!(
            ids(restarts, |facts| facts.managers.as_mut().unwrap()[0].restarts = 9).is_empty(),
            "it runs now"
        );
        let right =
            MissingRight { account: "ccm".into(), what: "delete nodes".into(), why: "delete Nodes".into() };
        assert_eq!(ids(rights_missing, |facts| facts.missing_rights = Some(vec![right])), ["rights-missing"]);
        assert_eq!(
            ids(default_cluster_name, |facts| facts.cluster_name = "kubernetes".into()),
            ["default-cluster-name"]
        );
    }
}
