//! Every row of the table forbids and allows; without a rule nothing is forbidden.

use super::*;
use crate::config::{Source, decode};

fn service(namespace: &str) -> ServiceView {
    ServiceView { namespace: namespace.into(), name: "web".into(), ..ServiceView::default() }
}

fn asking(key: &str, value: &str) -> ServiceView {
    let mut service = service("team-a");
    service.annotations.insert(key.to_owned(), value.to_owned());
    service
}

fn conf(text: &str) -> CloudConf {
    decode(&[Source::new("cloud.conf", text)]).unwrap().conf
}

/// A value that the rule allows, and one that it forbids.
fn values(row: &RuleRow) -> (&'static str, &'static str) {
    match row.compared {
        Compared::Address => ("192.0.2.7", "198.51.100.7"),
        _ => ("good", "bad"),
    }
}

#[test]
fn every_rule_forbids_what_it_does_not_list_and_the_message_names_it() {
    for row in RULES {
        let (good, bad) = values(row);
        let conf = conf(&format!("[Tenancy \"team-*\"]\n{} = {good}\n", row.key));
        assert_eq!(forbidden(&asking(row.annotation.key, good), &conf), [], "{}", row.key);
        let found = forbidden(&asking(row.annotation.key, bad), &conf);
        assert_eq!(found.len(), 1, "{}", row.key);
        let rule = format!("[Tenancy \"team-*\"] {}", row.key);
        for part in [rule.as_str(), row.annotation.key, bad, good, "team-a"] {
            assert!(found[0].message.contains(part), "{part}: {}", found[0].message);
        }
    }
}

#[test]
fn without_a_rule_everything_is_allowed_as_with_occm() {
    for conf in
        [CloudConf::default(), conf("[Tenancy \"other\"]\nflavor-id = none\n"), conf("[Tenancy \"*\"]\n")]
    {
        for row in RULES {
            let (_good, bad) = values(row);
            assert_eq!(forbidden(&asking(row.annotation.key, bad), &conf), [], "{}", row.key);
        }
    }
}

#[test]
fn any_in_a_section_for_one_namespace_lifts_what_a_pattern_forbids() {
    let conf = conf("[Tenancy \"*\"]\nflavor-id = none\n[Tenancy \"team-a\"]\nflavor-id = any\n");
    assert_eq!(forbidden(&asking(annotations::FLAVOR_ID.key, "large"), &conf), []);
    let mut other = asking(annotations::FLAVOR_ID.key, "large");
    other.namespace = "team-b".into();
    assert!(forbidden(&other, &conf)[0].message.contains("allowed: none"));
}

#[test]
fn a_forbidden_value_of_many_kilobytes_is_not_quoted_whole() {
    for row in RULES.iter().filter(|row| row.compared != Compared::Address) {
        let conf = conf(&format!("[Tenancy]\n{} = none\n", row.key));
        let found = forbidden(&asking(row.annotation.key, &"\u{fc}".repeat(100_000)), &conf);
        assert!(found[0].message.len() < 512, "{}: {}", row.key, found[0].message.len());
    }
}

/// The empty value of some annotations overrides cloud.conf: who may not choose may not choose that either.
#[test]
fn an_empty_value_is_a_choice_where_it_overrides_the_configuration() {
    for row in RULES {
        let (good, _bad) = values(row);
        let conf = conf(&format!("[Tenancy]\n{} = {good}\n", row.key));
        let is_choice = row.compared == Compared::PatternOrEmpty;
        let found = forbidden(&asking(row.annotation.key, ""), &conf);
        assert_eq!(found.len(), usize::from(is_choice), "{}", row.key);
    }
}

#[test]
fn the_address_in_the_spec_is_a_floating_ip_or_that_of_an_internal_load_balancer() {
    let conf = conf("[Tenancy]\nfloating-ip = 192.0.2.0/24\nvip-address = 10.0.0.0/8\n");
    let found = |address: &str, internal: bool| {
        let mut service = service("team-a");
        service.load_balancer_ip = Some(address.into());
        if internal {
            service.annotations.insert(annotations::INTERNAL.key.to_owned(), "true".to_owned());
        }
        forbidden(&service, &conf).into_iter().map(|one| one.rule).collect::<Vec<_>>()
    };
    assert_eq!(found("192.0.2.7", false), [""; 0]);
    assert_eq!(found("10.0.0.7", false), ["floating-ip"]);
    assert_eq!(found("10.0.0.7", true), [""; 0]);
    assert_eq!(found("192.0.2.7", true), ["vip-address"]);
}

/// Patterns of subnets are compared letter by letter: a regular expression could end as an allowed pattern does.
#[test]
fn a_pattern_of_a_user_does_not_slip_through_a_pattern_of_the_administrator() {
    let conf = conf("[Tenancy]\nfloating-subnet = *-public\n");
    let key = annotations::FLOATING_SUBNET.key;
    assert_eq!(forbidden(&asking(key, "*-public"), &conf), []);
    assert_eq!(forbidden(&asking(key, "~.*|-public"), &conf).len(), 1);
}

#[test]
fn every_rule_stands_in_the_table_of_keys() {
    use crate::config::keys::{Section, find};
    for row in RULES {
        assert!(find(Section::Tenancy, row.key).is_some(), "{}", row.key);
    }
}
