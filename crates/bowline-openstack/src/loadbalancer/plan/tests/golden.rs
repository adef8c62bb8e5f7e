//! Every case against its plan as it was written down. A plan that changes is read again by a person, then written down anew.

use super::cases;
use super::*;

fn text(plans: &[(&'static str, LoadBalancerPlan)]) -> String {
    let case = |(name, plan): &(&str, LoadBalancerPlan)| format!("# {name}\n{}\n", told(plan).join("\n"));
    plans.iter().map(case).collect::<Vec<_>>().join("\n")
}

/// Compares with the file of this name beside this one; `INSTA_UPDATE=always` writes it anew, as for other snapshots.
fn compare(plans: &[(&'static str, LoadBalancerPlan)], file: &str) {
    let text = text(plans);
    let path = format!("{}/src/loadbalancer/plan/tests/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    let (is, was): (Vec<&str>, Vec<&str>) = (text.split("\n\n").collect(), golden.split("\n\n").collect());
    for (is, was) in is.iter().zip(&was) {
        assert_eq!(is.trim(), was.trim());
    }
    assert_eq!(is.len(), was.len(), "{text}");
}

#[test]
fn a_service_gets_what_it_wants_by_these_plans() {
    compare(&cases::ensure(), "ensure.txt");
}

#[test]
fn whose_a_load_balancer_is_decides_what_is_done_with_it() {
    compare(&cases::ownership(), "ownership.txt");
}

#[test]
fn a_service_is_reached_by_the_right_address() {
    compare(&cases::address(), "address.txt");
}

#[test]
fn a_service_that_goes_leaves_nothing_behind_and_takes_nothing_of_others() {
    compare(&cases::remove(), "remove.txt");
}

#[test]
fn children_that_were_not_read_because_nothing_changed_need_nothing() {
    let wanted = wanted();
    let mut world = World::of(&wanted);
    world.tree = crate::loadbalancer::found::Tree::default();
    let mut found = world.found(&wanted.address, &wanted.names);
    let children = |found: &mut Found, children| found.balancer.as_mut().unwrap().children = children;
    children(&mut found, Children::AsWanted);
    assert!(matches!(ensure(&wanted, &found), Plan::Settled(_)));
    children(&mut found, Children::Busy);
    assert!(matches!(ensure(&wanted, &found), Plan::Wait(_)), "not read, and not known to be right");
}

#[test]
fn a_service_does_not_go_before_what_it_has_on_a_load_balancer_is_known() {
    let (wanted, mut removal) = (wanted(), removal());
    let mut found = World::of(&wanted).found(&wanted.address, &wanted.names);
    found.floating.attached.clear();
    found.balancer.as_mut().unwrap().children = Children::AsWanted;
    assert!(matches!(remove(&removal, &found), Plan::Wait(_)), "somebody else may have a listener on it");
    removal.cascade = false;
    assert!(matches!(remove(&removal, &found), Plan::Wait(_)), "one after the other");
    found.balancer.as_mut().unwrap().balancer.tags.push(OTHER_TAG.to_owned());
    assert!(matches!(remove(&removal, &found), Plan::Wait(_)), "with others on it");
}

#[test]
fn a_service_does_not_go_before_its_security_group_is_known() {
    let wanted = wanted();
    let mut found = World::of(&wanted).found(&wanted.address, &wanted.names);
    let there = found.balancer.as_mut().unwrap();
    there.children = Children::Busy;
    there.balancer.provisioning_status = ProvisioningStatus::PendingUpdate;
    there.balancer.tags = vec![wanted.names.tag(), "bowline-cluster:c2".to_owned()];
    assert_eq!(told(&remove(&removal(), &found)), ["settled: []"], "the load balancer is another cluster's");
    found.group_unread = true;
    assert!(matches!(remove(&removal(), &found), Plan::Wait(_)));
}

#[test]
fn a_security_group_goes_when_groups_are_not_managed_any_more_and_after_the_load_balancer() {
    let wanted = wanted();
    let mut found = World::of(&wanted).found(&wanted.address, &wanted.names);
    let group = world::from(json!({ "id": "sg-1", "name": wanted.names.security_group() }));
    found.group = Some(group::FoundGroup { group, ports: Vec::new() });
    let steps: Vec<String> = group::removal_steps(found.group.as_ref().unwrap()).iter().map(line).collect();

    let settled = told(&World::of(&wanted).ensure(&wanted));
    let expected = if steps.is_empty() { settled } else { steps.clone() };
    assert_eq!(told(&ensure(&wanted, &found)), expected);

    let mut expected = told(&World::of(&wanted).remove(&removal()));
    expected.extend(steps.clone());
    assert_eq!(told(&remove(&removal(), &found)), expected);

    found.balancer = None;
    found.floating = crate::loadbalancer::found::FoundFloating::default();
    let expected = if steps.is_empty() { vec!["settled: []".to_owned()] } else { steps };
    assert_eq!(told(&remove(&removal(), &found)), expected, "also if the load balancer is gone already");
}
