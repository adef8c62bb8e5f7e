//! The list as a whole: it can be started to its end.

use std::collections::BTreeSet;

use super::*;

fn units() -> Vec<Unit> {
    all(
        &Settings::of_folder("/cloud".into()),
        &Operator { password: "password".into(), ..Operator::default() },
    )
}

#[test]
fn every_name_is_there_once_and_every_need_is_met_by_one_that_can_start_before() {
    let mut waiting = units();
    let mut ready = BTreeSet::new();
    while let Some(next) = waiting.iter().position(|unit| unit.needs.iter().all(|need| ready.contains(need)))
    {
        let unit = waiting.remove(next);
        assert!(ready.insert(unit.name.clone()), "{} is there twice", unit.name);
    }
    let left: Vec<_> = waiting.iter().map(|unit| (&unit.name, &unit.needs)).collect();
    assert!(left.is_empty(), "these can never start: {left:?}");
}

#[test]
fn the_estate_comes_last_and_waits_for_every_service() {
    let units = units();
    let last = units.last().unwrap();
    assert_eq!(last.name, "estate");
    assert!(last.needs.iter().any(|need| need == "nova-compute2"));
}

#[test]
fn every_port_that_is_listened_on_is_a_known_one() {
    let services = units().into_iter().filter_map(|unit| match unit.kind {
        Kind::Service(service) => Some((unit.name, service)),
        Kind::Task { .. } => None,
    });
    for (name, service) in services {
        assert!(!service.ports.iter().any(|port| matches!(port, Port::Tcp(0) | Port::Udp(0))), "{name}");
        assert!(!matches!(service.ready, Ready::Port(0) | Ready::Http { port: 0, .. }), "{name}");
    }
}

#[test]
fn the_password_is_on_no_command_line() {
    for unit in units() {
        let launches = match unit.kind {
            Kind::Service(service) => vec![service.launch],
            Kind::Task { steps, .. } => steps,
        };
        for launch in launches {
            assert!(!launch.arguments().iter().any(|argument| argument == "password"), "{}", unit.name);
        }
    }
}
