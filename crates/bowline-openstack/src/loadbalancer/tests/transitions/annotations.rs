//! Every annotation that users write: set, changed, and taken away again. A row of the table without an entry here fails.

use super::course::{Course, Setting, Shows, rows, run};
use crate::loadbalancer::annotations as rows_;
use crate::loadbalancer::annotations::{ANNOTATIONS, Annotation, Effect, Kind};

/// How an annotation is tried.
pub(super) struct Trial {
    pub(super) shows: Shows,
    pub(super) values: &'static [&'static str],
    /// What counts besides.
    pub(super) base: Setting,
    /// When it shows with OVN; none if OVN refuses it.
    pub(super) with_ovn: Option<Shows>,
}

pub(super) fn amphora() -> Setting {
    Setting::conf("amphora", "")
}

pub(super) fn ovn() -> Setting {
    Setting::conf("ovn", "[LoadBalancer]\nlb-provider = ovn")
}

pub(super) fn monitored() -> Setting {
    Setting::conf("monitored", "[LoadBalancer]\ncreate-monitor = true")
}

/// Members stay where they are, wherever the load balancer is.
pub(super) fn members_here() -> Setting {
    Setting::conf("members here", "[LoadBalancer]\nmember-subnet-id = {subnet}\nsubnet-id = \"\"")
}

fn trial(shows: Shows, values: &'static [&'static str]) -> Trial {
    Trial { shows, values, base: Setting::none(), with_ovn: Some(shows) }
}

impl Trial {
    fn based(self, base: Setting) -> Self {
        Self { base, ..self }
    }

    /// OVN has no such thing, so nothing ever shows.
    fn not_with_ovn(self) -> Self {
        Self { with_ovn: Some(Shows::AtOnce), ..self }
    }

    /// OVN forwards packets and refuses pools that speak something.
    fn refused_by_ovn(self) -> Self {
        Self { with_ovn: None, ..self }
    }

    fn course(&self, name: &str, provider: &Setting, shows: Shows, set: &dyn Fn(&str) -> Setting) -> Course {
        let base = provider.and(&self.base);
        let values = self.values.iter().map(|value| set(value));
        let settings = std::iter::once(Setting::none()).chain(values).map(|one| base.and(&one)).collect();
        Course { name: name.to_owned(), shows, settings, each_to_each: false }
    }

    /// What is done with amphorae and with OVN.
    pub(super) fn courses(&self, name: &str, set: &dyn Fn(&str) -> Setting) -> Vec<Course> {
        let mut courses = vec![self.course(name, &amphora(), self.shows, set)];
        courses.extend(self.with_ovn.map(|shows| self.course(name, &ovn(), shows, set)));
        courses
    }
}

/// How a row is tried; none if that is done elsewhere.
fn trial_of(row: &Annotation) -> Option<Trial> {
    use Shows::{AtOnce, WhenGone, WhenMade, WithFloatingIp};
    Some(match row.key {
        // It names a load balancer: see `sharing`, and `drift` for one that is gone.
        key if key == rows_::LOAD_BALANCER_ID.key => return None,
        // It counts for Nodes that leave: see `draining`.
        key if key == rows_::DRAIN.key => return None,
        // Tags are only added: see `tags`.
        key if [&rows_::LOAD_BALANCER_TAGS, &rows_::LISTENER_TAGS, &rows_::POOL_TAGS]
            .iter()
            .any(|row| row.key == key) =>
        {
            return None;
        }
        // To take it away gives the address not back: see `pairs`.
        key if key == rows_::FLOATING_IP.key => return None,
        key if key == rows_::INTERNAL.key => trial(AtOnce, &["true", "false"]),
        key if key == rows_::HOSTNAME.key => trial(AtOnce, &["one.example", "two.example"]),
        // What a class does in other ways is tried with its keys.
        key if key == rows_::CLASS.key => trial(AtOnce, &["two", "three"]).based(Setting::conf(
            "classes",
            "[LoadBalancerClass \"two\"]\nmember-subnet-id = {subnet-2}\n\
             [LoadBalancerClass \"three\"]\nmember-subnet-id = {subnet-3}",
        )),
        key if key == rows_::FLOATING_NETWORK_ID.key => trial(WithFloatingIp, &["{external-2}", ""]),
        key if key == rows_::FLOATING_SUBNET_ID.key => trial(WithFloatingIp, &["{gold}", "{silver}"]),
        key if key == rows_::FLOATING_SUBNET.key => trial(WithFloatingIp, &["gold", "~sil.*"]),
        key if key == rows_::FLOATING_SUBNET_TAGS.key => trial(WithFloatingIp, &["fast", "slow"]),
        key if key == rows_::KEEP_FLOATING_IP.key => trial(WhenGone, &["true", "false"]),
        // A floating IP stays with a port that a user made, so there is none here.
        key if key == rows_::PORT_ID.key => {
            trial(WhenMade, &["{port-1}", "{port-2}"]).based(Setting::annotation(rows_::INTERNAL.key, "true"))
        }
        key if key == rows_::SUBNET_ID.key => trial(WhenMade, &["{subnet-2}", "{subnet-3}"]),
        key if key == rows_::NETWORK_ID.key => {
            trial(WhenMade, &["{network-3}", "{network-4}"]).based(members_here())
        }
        key if key == rows_::MEMBER_SUBNET_ID.key => trial(AtOnce, &["{subnet-2}", "{subnet-3}"]),
        key if key == rows_::LB_METHOD.key => trial(AtOnce, &["LEAST_CONNECTIONS", "SOURCE_IP"]),
        key if key == rows_::PROXY_PROTOCOL.key => {
            trial(AtOnce, &["true", "v2", "v1", "false"]).refused_by_ovn()
        }
        key if key == rows_::X_FORWARDED_FOR.key => trial(AtOnce, &["true", "false"]).refused_by_ovn(),
        key if key == rows_::TLS_CONTAINER_REF.key => {
            trial(AtOnce, &["{certificate-1}", "{certificate-2}", ""]).refused_by_ovn()
        }
        key if key == rows_::CONNECTION_LIMIT.key => trial(AtOnce, &["100", "2000", "-1"]),
        key if key.contains("/timeout-") => trial(AtOnce, &["70000", "80000"]),
        key if key == rows_::FLAVOR_ID.key => trial(WhenMade, &["small", "large"]).not_with_ovn(),
        key if key == rows_::AVAILABILITY_ZONE.key => trial(WhenMade, &["small", "large"]).not_with_ovn(),
        key if key == rows_::ENABLE_HEALTH_MONITOR.key => trial(AtOnce, &["true", "false"]),
        key if key == rows_::HEALTH_MONITOR_DELAY.key => trial(AtOnce, &["11", "12"]).based(monitored()),
        key if key == rows_::HEALTH_MONITOR_TIMEOUT.key => trial(AtOnce, &["2", "4"]).based(monitored()),
        key if key == rows_::HEALTH_MONITOR_MAX_RETRIES.key => trial(AtOnce, &["5", "7"]).based(monitored()),
        key if key == rows_::HEALTH_MONITOR_MAX_RETRIES_DOWN.key => {
            trial(AtOnce, &["5", "0", "7"]).based(monitored())
        }
        key if key == rows_::NODE_SELECTOR.key => trial(AtOnce, &["zone=a", "disk=ssd", ""]),
        key if key == rows_::VIP_ADDRESS.key => trial(WhenMade, &["10.10.0.201", "10.10.0.202"]),
        key if key == rows_::RECREATE_ON_ERROR.key => trial(AtOnce, &["false", "true"]),
        key if key == rows_::SOURCE_RANGES.key => {
            trial(AtOnce, &["10.0.0.0/8", "192.0.2.0/24,198.51.100.0/24"])
        }
        key => {
            panic!("annotation {key} is not tried here; say how it shows on a load balancer that is there")
        }
    })
}

async fn try_rows(which: impl Fn(&Annotation) -> bool) {
    let mut courses = Vec::new();
    for row in rows().filter(|row| which(row)) {
        let Some(trial) = trial_of(row) else { continue };
        let key = row.key;
        courses.extend(trial.courses(key, &move |value| Setting::annotation(key, value)));
    }
    assert!(!courses.is_empty());
    run(courses).await;
}

#[test]
fn every_annotation_shows_when_its_row_says_so() {
    for row in ANNOTATIONS {
        let expected = match row.effect {
            Effect::Written => continue,
            Effect::Always => Shows::AtOnce,
            Effect::Creation => Shows::WhenMade,
            Effect::FloatingIp => Shows::WithFloatingIp,
            Effect::Removal => Shows::WhenGone,
        };
        if let Some(trial) = trial_of(row) {
            assert_eq!(trial.shows, expected, "{}", row.key);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn annotations_that_count_at_once_leave_what_a_fresh_load_balancer_has() {
    let number = |row: &Annotation| matches!(row.kind, Kind::Number { .. });
    try_rows(|row| row.effect == Effect::Always && !number(row)).await;
}

#[tokio::test(start_paused = true)]
async fn numbers_that_count_at_once_leave_what_a_fresh_load_balancer_has() {
    try_rows(|row| row.effect == Effect::Always && matches!(row.kind, Kind::Number { .. })).await;
}

#[tokio::test(start_paused = true)]
async fn annotations_that_count_at_creation_change_nothing_before_and_count_then() {
    try_rows(|row| row.effect == Effect::Creation).await;
}

#[tokio::test(start_paused = true)]
async fn annotations_of_floating_ips_change_nothing_before_there_is_a_new_one() {
    try_rows(|row| row.effect == Effect::FloatingIp).await;
}

#[tokio::test(start_paused = true)]
async fn annotations_of_removal_count_as_they_are_then() {
    try_rows(|row| row.effect == Effect::Removal).await;
}
