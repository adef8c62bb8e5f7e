//! The table is complete, its defaults are readable, and what it says is shown.

use std::collections::BTreeSet;

use super::*;
use crate::config::{Source, decode};

fn count(section: Section) -> usize {
    of(section).filter(|key| matches!(key.mark, Mark::Current | Mark::Undocumented)).count()
}

#[test]
fn all_keys_of_occm_are_there() {
    let counts = Section::ALL.map(count);
    assert_eq!(counts, [29, 28, 7, 0, 4, 1, 2, 0]);
    assert_eq!(counts.iter().sum::<usize>(), 71);
    assert_eq!(KEYS.iter().filter(|key| key.mark == Mark::Legacy).count(), 3);
}

#[test]
fn no_key_is_there_twice_and_each_is_documented() {
    let mut seen = BTreeSet::new();
    for key in KEYS {
        assert!(seen.insert((key.section, key.name.to_ascii_lowercase())), "{}", key.name);
        assert!(key.doc.ends_with('.') && key.doc.len() > 10, "{}", key.name);
        assert!(!key.doc.contains('|'), "{} would break the table", key.name);
    }
}

#[test]
fn every_default_can_be_written_into_a_file() {
    for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
        let text = format!("[{}]\n{} = {}\n", key.section.name(), key.name, key.default);
        let read = decode(&[Source::new("cloud.conf", text)]).unwrap();
        let (wanted, found) = (format!("{:?}", CloudConf::default()), format!("{:?}", read.conf));
        assert_eq!(found, wanted, "{}", key.name);
    }
}

#[test]
fn the_defaults_are_those_of_occm() {
    let conf = CloudConf::default();
    let balancer = &conf.load_balancer;
    assert!(balancer.enabled && balancer.cascade_delete && !balancer.create_monitor);
    assert_eq!((balancer.lb_provider.as_str(), balancer.lb_method.as_str()), ("amphora", "ROUND_ROBIN"));
    assert_eq!(balancer.monitor_delay, SignedDuration::from_secs(5));
    assert_eq!(balancer.monitor_timeout, SignedDuration::from_secs(3));
    assert_eq!((balancer.monitor_max_retries, balancer.monitor_max_retries_down), (1, 3));
    assert_eq!((balancer.max_shared_lb, balancer.container_store.as_str()), (2, "barbican"));
    assert_eq!(balancer.ingress_hostname_suffix, "nip.io");
    assert_eq!(conf.metadata.search_order, "configDrive,metadataService");
    assert_eq!(conf.metadata.request_timeout, SignedDuration::from_secs(60));
}

#[test]
fn every_key_reaches_a_field_of_its_own() {
    let mut shown = BTreeSet::new();
    for key in KEYS.iter().filter(|key| key.mark != Mark::Obsolete) {
        let value = match key.field {
            Field::Flag(_) if key.default == "true" => "no",
            Field::Flag(_) | Field::RuleFlag(_) => "yes",
            Field::Integer(_) | Field::Unsigned(_) => "7",
            Field::Duration(_) => "4s",
            Field::Word(_) => "admin",
            Field::RuleList(_) if matches!(key.name, "floating-ip" | "vip-address") => "192.0.2.1",
            _ if key.name == "lb-version" => "v2",
            _ if key.name == "search-order" => "configDrive",
            _ if key.name == "flavor-label" => "x=x",
            _ => "x",
        };
        let name = match key.section {
            Section::LoadBalancerClass => "LoadBalancerClass \"c\"",
            Section::Tenancy => "Tenancy \"c\"",
            other => other.name(),
        };
        let text = format!("[{name}]\n{} = {value}\n", key.name);
        let conf = decode(&[Source::new("cloud.conf", text)]).unwrap().conf;
        assert!(shown.insert(format!("{conf:?}")), "{} fills no field, or one of another key", key.name);
    }
    assert_eq!(shown.len(), 95);
}

#[test]
fn secrets_are_never_shown() {
    let secrets: Vec<&str> = KEYS.iter().filter(|key| key.is_secret()).map(|key| key.name).collect();
    assert_eq!(secrets, ["password", "trustee-password", "token", "application-credential-secret"]);
    for name in secrets {
        let text = format!("[Global]\n{name} = hunter2\n");
        let read = decode(&[Source::new("cloud.conf", text)]).unwrap();
        assert!(!format!("{read:?}").contains("hunter2"), "{name}");
    }
}

#[test]
fn the_page_names_every_key() {
    let page = reference_markdown();
    for key in KEYS {
        assert!(page.contains(&format!("| `{}`", key.name)), "{}", key.name);
    }
}
