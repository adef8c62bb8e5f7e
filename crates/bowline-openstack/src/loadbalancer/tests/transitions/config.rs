//! Every key of `[LoadBalancer]` and `[LoadBalancerClass]`: set, changed, and taken away again while a load balancer is there. A
//! key without an entry here fails.

use super::annotations::{Trial, members_here, monitored};
use super::course::{Setting, Shows, run};
use crate::config::keys::{self, Key, Section};
use crate::loadbalancer::annotations as rows;

fn trial(shows: Shows, values: &'static [&'static str]) -> Trial {
    Trial { shows, values, base: Setting::none(), with_ovn: Some(shows) }
}

/// How a key of `[LoadBalancer]` is tried; none if that is done elsewhere.
fn of_balancer(key: &Key) -> Option<Trial> {
    use Shows::{AtOnce, WhenGone, WhenMade, WithFloatingIp};
    let based = |base: Setting, trial: Trial| Trial { base, ..trial };
    let not_with_ovn = |trial: Trial| Trial { with_ovn: Some(AtOnce), ..trial };
    let refused_by_ovn = |trial: Trial| Trial { with_ovn: None, ..trial };
    let proxied = || Setting::annotation(rows::PROXY_PROTOCOL.key, "v2");
    let hostnames =
        || proxied().and(&Setting::conf("host names", "[LoadBalancer]\nenable-ingress-hostname = true"));
    Some(match key.name {
        // Without it there are no load balancers at all, and this code is not asked.
        "enabled" => return None,
        // Both providers are tried in one course: see `pairs`.
        "lb-provider" => return None,
        "lb-version" => trial(AtOnce, &["v2"]),
        "lb-method" => trial(AtOnce, &["LEAST_CONNECTIONS", "SOURCE_IP"]),
        "subnet-id" => based(
            Setting::conf("members here", "[LoadBalancer]\nmember-subnet-id = {subnet}"),
            trial(WhenMade, &["{subnet-2}", "{subnet-3}"]),
        ),
        "member-subnet-id" => trial(AtOnce, &["{subnet-2}", "{subnet-3}"]),
        "network-id" => based(members_here(), trial(WhenMade, &["{network-3}", "{network-4}"])),
        "floating-network-id" => trial(WithFloatingIp, &["{external-2}"]),
        "floating-subnet-id" => trial(WithFloatingIp, &["{gold}", "{silver}"]),
        "floating-subnet" => trial(WithFloatingIp, &["gold", "~sil.*"]),
        "floating-subnet-tags" => trial(WithFloatingIp, &["fast", "slow"]),
        "create-monitor" => trial(AtOnce, &["true", "false"]),
        "monitor-delay" => based(monitored(), trial(AtOnce, &["11s", "12s"])),
        "monitor-timeout" => based(monitored(), trial(AtOnce, &["2s", "4s"])),
        "monitor-max-retries" => based(monitored(), trial(AtOnce, &["5", "7"])),
        "monitor-max-retries-down" => based(monitored(), trial(AtOnce, &["5", "0", "7"])),
        "manage-security-groups" => trial(AtOnce, &["true", "false"]),
        "internal-lb" => trial(AtOnce, &["true", "false"]),
        "node-selector" => trial(AtOnce, &["zone=a", "disk=ssd"]),
        "cascade-delete" => trial(WhenGone, &["true", "false"]),
        "flavor-id" => not_with_ovn(trial(WhenMade, &["small", "large"])),
        "availability-zone" => not_with_ovn(trial(WhenMade, &["small", "large"])),
        "enable-ingress-hostname" => refused_by_ovn(based(proxied(), trial(AtOnce, &["true", "false"]))),
        "ingress-hostname-suffix" => {
            refused_by_ovn(based(hostnames(), trial(AtOnce, &["one.example", "two.example"])))
        }
        // Counts for those who share one: see `sharing`.
        "max-shared-lb" => trial(AtOnce, &["1", "9"]),
        // Where certificates are looked for; on the load balancer they are the same.
        "container-store" => refused_by_ovn(based(
            Setting::annotation(rows::TLS_CONTAINER_REF.key, "{certificate-1}"),
            trial(AtOnce, &["elsewhere"]),
        )),
        "default-tls-container-ref" => refused_by_ovn(trial(AtOnce, &["{certificate-1}", "{certificate-2}"])),
        "provider-requires-serial-api-calls" => trial(AtOnce, &["true", "false"]),
        // Counts for load balancers that were made under that name: see `plan/tests/cases/ownership`.
        "former-cluster-name" => trial(AtOnce, &["before"]),
        "use-octavia" => trial(AtOnce, &["true"]),
        name => panic!(
            "key {name} of [LoadBalancer] is not tried here; say how it shows on a load balancer that is there"
        ),
    })
}

fn of_class(key: &Key) -> Trial {
    use Shows::{AtOnce, WhenMade, WithFloatingIp};
    let class =
        Setting::annotation(rows::CLASS.key, "c").and(&Setting::conf("a class", "[LoadBalancerClass \"c\"]"));
    let tried = match key.name {
        "floating-network-id" => trial(WithFloatingIp, &["{external-2}"]),
        "floating-subnet-id" => trial(WithFloatingIp, &["{gold}", "{silver}"]),
        "floating-subnet" => trial(WithFloatingIp, &["gold", "~sil.*"]),
        "floating-subnet-tags" => trial(WithFloatingIp, &["fast", "slow"]),
        "network-id" => {
            Trial { base: class.and(&members_here()), ..trial(WhenMade, &["{network-3}", "{network-4}"]) }
        }
        "subnet-id" => trial(WhenMade, &["{subnet-2}", "{subnet-3}"]),
        "member-subnet-id" => trial(AtOnce, &["{subnet-2}", "{subnet-3}"]),
        name => panic!(
            "key {name} of a class is not tried here; say how it shows on a load balancer that is there"
        ),
    };
    Trial { base: class.and(&tried.base), ..tried }
}

async fn try_keys(which: impl Fn(&Trial) -> bool) {
    let mut courses = Vec::new();
    for key in keys::of(Section::LoadBalancer) {
        let Some(trial) = of_balancer(key).filter(|trial| which(trial)) else { continue };
        let set = |value: &str| Setting::conf(value, &format!("[LoadBalancer]\n{} = \"{value}\"", key.name));
        courses.extend(trial.courses(key.name, &set));
    }
    for key in keys::of(Section::LoadBalancerClass) {
        let Some(trial) = Some(of_class(key)).filter(|trial| which(trial)) else { continue };
        let set = |value: &str| {
            Setting::conf(value, &format!("[LoadBalancerClass \"c\"]\n{} = \"{value}\"", key.name))
        };
        courses.extend(trial.courses(&format!("{} of a class", key.name), &set));
    }
    assert!(!courses.is_empty());
    run(courses).await;
}

#[tokio::test(start_paused = true)]
async fn keys_that_count_at_once_leave_what_a_fresh_load_balancer_has() {
    try_keys(|trial| trial.shows == Shows::AtOnce).await;
}

#[tokio::test(start_paused = true)]
async fn keys_of_floating_ips_and_of_creation_and_removal_count_then() {
    try_keys(|trial| trial.shows != Shows::AtOnce).await;
}
