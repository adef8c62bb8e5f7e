//! The table holds together, and values are read as OCCM reads the good ones.

use std::collections::BTreeSet;

use bowline_cloud::ServiceView;

use super::*;
use crate::config::keys::{self, Section};

fn service(key: &str, value: &str) -> ServiceView {
    ServiceView { annotations: [(key, value)].into_iter().collect(), ..ServiceView::default() }
}

#[test]
fn the_table_has_the_34_annotations_of_occm_and_that_of_kubernetes_and_our_own() {
    let keys: BTreeSet<_> = ANNOTATIONS.iter().map(|row| row.key).collect();
    let ours = keys.iter().filter(|key| key.starts_with("loadbalancer.bowline.dev/")).count();
    assert_eq!((ANNOTATIONS.len() - ours, keys.len() - ours), (35, 35));
    assert_eq!(keys.iter().filter(|key| key.starts_with(PREFIX)).count(), 33);
    assert!(ANNOTATIONS.iter().all(|row| row.doc.ends_with('.')));
}

#[test]
fn every_default_from_cloud_conf_names_a_key_that_is_there() {
    for row in ANNOTATIONS {
        let sections: &[Section] = match row.otherwise {
            Otherwise::Config(_) => &[Section::LoadBalancer],
            Otherwise::ClassOrConfig(_) => &[Section::LoadBalancer, Section::LoadBalancerClass],
            _ => &[],
        };
        let (Otherwise::Config(key) | Otherwise::ClassOrConfig(key)) = row.otherwise else { continue };
        for section in sections {
            assert!(keys::find(*section, key).is_some(), "{}: {section:?} {key}", row.key);
        }
    }
}

#[test]
fn fixed_defaults_are_of_the_kind_of_their_row() {
    for row in ANNOTATIONS.iter().filter(|row| !row.fixed().is_empty()) {
        let good = match row.kind {
            Kind::Flag => ["true", "false"].contains(&row.fixed()),
            Kind::Number { least, most, .. } => {
                row.fixed().parse().is_ok_and(|number: i64| (least..=most).contains(&number))
            }
            Kind::Word(words) => words.contains(&row.fixed()),
            Kind::Duration { .. } => row.fixed() == "0",
            _ => false,
        };
        assert!(good, "{}: {}", row.key, row.fixed());
    }
}

#[test]
fn get_int_from_service_annotation() {
    for (value, read) in [("10", Some(10)), ("+10", Some(10)), ("-1", Some(-1)), ("", None)] {
        let service = service(CONNECTION_LIMIT.key, value);
        let mut reader = Reader::new(&service);
        assert_eq!(reader.number(&CONNECTION_LIMIT), read, "{value:?}");
        assert!(reader.finish(()).is_ok(), "{value:?}");
    }
    for value in ["invalid", "1.5", " 1", "0x10", "-2", "9223372036854775808"] {
        let service = service(CONNECTION_LIMIT.key, value);
        let mut reader = Reader::new(&service);
        assert_eq!(reader.number(&CONNECTION_LIMIT), None, "{value:?}");
        assert_eq!(
            reader.finish(()).unwrap_err().problems,
            [format!(
                "annotation loadbalancer.openstack.org/connection-limit is {value:?}; accepted: a whole number from -1 \
                 to 2147483647"
            )]
        );
    }
}

#[test]
fn get_bool_from_service_annotation() {
    for (value, read, good) in [
        ("true", Some(true), true),
        ("false", Some(false), true),
        ("", None, true),
        ("True", None, false),
        ("yes", None, false),
        ("1", None, false),
    ] {
        let service = service(X_FORWARDED_FOR.key, value);
        let mut reader = Reader::new(&service);
        assert_eq!(reader.flag(&X_FORWARDED_FOR), read, "{value:?}");
        assert_eq!(reader.flag(&KEEP_FLOATING_IP), None, "another annotation is not there");
        assert_eq!(reader.finish(()).is_ok(), good, "{value:?}");
    }
}

#[test]
fn get_string_from_service_annotation_tells_empty_from_missing() {
    let service = service(HOSTNAME.key, "");
    let reader = Reader::new(&service);
    assert_eq!((reader.raw(&HOSTNAME), reader.text(&HOSTNAME)), (Some(""), None));
    assert_eq!((reader.raw(&AVAILABILITY_ZONE), reader.text(&AVAILABILITY_ZONE)), (None, None));
}

#[test]
fn the_page_has_a_line_for_every_row() {
    let page = reference_markdown();
    for row in ANNOTATIONS {
        assert_eq!(page.matches(&format!("\n| `{}` |", row.key)).count(), 1, "{}", row.key);
    }
    assert!(page.contains("Use `spec.loadBalancerSourceRanges` in its place."));
}
