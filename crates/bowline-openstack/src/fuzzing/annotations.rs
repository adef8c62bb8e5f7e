//! Any annotations on any Service, and what the provider makes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bowline_cloud::{
    IpFamily, NodeSet, NodeView, Pairs, Protocol, ServicePort, ServiceType, ServiceView, SessionAffinity,
    Text, TrafficPolicy,
};

use super::{Choices, Held};
use crate::config::{CloudConf, LoadBalancerClass};
use crate::loadbalancer::annotations::{ANNOTATIONS, Annotation, PREFIX};
use crate::loadbalancer::features::{ApiVersion, Features};
use crate::loadbalancer::found::Found;
use crate::loadbalancer::intent::{self, Intent, Removal, Surroundings};
use crate::loadbalancer::members::Rosters;
use crate::loadbalancer::ownership::Ownership;
use crate::loadbalancer::plan;
use crate::loadbalancer::wanted::{Resolved, Rules, Wanted};

/// Values that mean something somewhere, right or wrong.
const VALUES: [&str; 40] = [
    "",
    "true",
    "false",
    "True",
    " true",
    "0",
    "1",
    "-1",
    "10",
    "5000",
    "-2147483649",
    "31536000001",
    "9223372036854775808",
    "v1",
    "v2",
    "ROUND_ROBIN",
    "SOURCE_IP_PORT",
    "round_robin",
    "30s",
    "5m",
    "25h",
    "-5s",
    "1e9h",
    "0.5s",
    "gold",
    "silver",
    "192.0.2.7",
    "2001:db8::7",
    "192.0.2.0/24",
    "192.0.2.0/24,10.0.0.0/8",
    "192.0.2.0/33,x",
    "~^a(b",
    "!~[0-9]+",
    "*",
    "&a,b",
    "!a",
    "zone=a,gpu",
    "=a",
    "https://keys/v1/containers/8d2ae9cb",
    "a/b ?#",
];

/// A Service of any annotations, with its cluster.
struct Case {
    service: ServiceView,
    conf: CloudConf,
    version: ApiVersion,
}

/// Bytes as a Service and its surroundings.
///
/// # Errors
///
/// If the order in which annotations and source ranges were written counts, if a problem does not say where it stands, if what it
/// names is not the cause of it, or if a fit Service with a wish is not planned for.
pub fn annotations(bytes: &[u8]) -> Held {
    let mut choices = Choices::new(bytes);
    let (case, written) = made_up(&mut choices);
    let read = case.read();
    let mut backwards = case.with(&[]);
    backwards.service.annotations = written.iter().rev().collect();
    if backwards.read() != read {
        return Err(format!("the order of annotations counts: {:?} and {read:?}", backwards.read()));
    }
    // Wrong ones are quoted as they are written.
    backwards.service.source_ranges = case.service.source_ranges.iter().rev().cloned().collect();
    if read.is_ok() && backwards.read() != read {
        return Err(format!("the order of source ranges counts: {:?} and {read:?}", backwards.read()));
    }
    match read {
        Ok(intent) => wanted(&case, intent),
        Err(problems) => explained(&case, &problems),
    }
}

/// Each problem names what is wrong; without the annotations that are named there is none of an annotation left.
fn explained(case: &Case, problems: &[String]) -> Held {
    let named: BTreeSet<&str> = problems.iter().flat_map(|problem| keys_in(problem)).collect();
    for problem in problems {
        let set = keys_in(problem).any(|key| case.service.annotations.contains_key(key));
        if !set && !problem.contains("spec.") && !problem.contains("cloud.conf") {
            return Err(format!("a problem does not say where it stands: {problem}"));
        }
    }
    let named: Vec<&str> = named.into_iter().collect();
    let Err(rest) = case.with(&named).read() else { return Ok(()) };
    // What cloud.conf says for all may be as wrong, and is told now.
    match rest.iter().find(|problem| !problem.contains("cloud.conf") && keys_in(problem).next().is_some()) {
        Some(problem) => Err(format!("{problem}, and was not told before: {problems:?}")),
        None => Ok(()),
    }
}

fn keys_in(problem: &str) -> impl Iterator<Item = &'static str> {
    // Longest first, for some keys begin as others do.
    let mut rest = problem.to_owned();
    let mut rows: Vec<&Annotation> = ANNOTATIONS.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.key.len()));
    rows.into_iter().filter_map(move |row| {
        let found = rest.contains(row.key);
        rest = rest.replace(row.key, "");
        found.then_some(row.key)
    })
}

/// What a fit Service wants can be planned for, and removed again.
fn wanted(case: &Case, intent: Intent) -> Held {
    let config = &case.conf.load_balancer;
    let ownership =
        Ownership { cluster: Some("c1".into()), service: case.service.uid.clone(), ..Ownership::default() };
    let rosters = Rosters::default();
    let rules = Rules { config, tagged: true, rosters: &rosters };
    let removal = Removal::of(&case.service, "held", ownership.clone(), config, true);
    let again = intent.clone();
    let wanted = |intent| Wanted::of(intent, &nodes(), Resolved::default(), ownership.clone(), rules, None);
    let (one, other) = (wanted(intent), wanted(again));
    if one != other {
        return Err("the same intent is two wishes".to_owned());
    }
    drop((intent::drain_of(&case.service, config), intent::node_labels(&case.service, config)));
    let plans = (plan::ensure(&one, &Found::default()), plan::remove(&removal, &Found::default()));
    match plans {
        (bowline_cloud::Plan::Act(_) | bowline_cloud::Plan::Refuse(_), bowline_cloud::Plan::Settled(_)) => {
            Ok(())
        }
        other => Err(format!("nothing is there, and the plans are {other:?}")),
    }
}

fn nodes() -> NodeSet {
    let node = NodeView { name: "node-1".into(), ..NodeView::default() };
    NodeSet {
        epoch: 1,
        nodes: Arc::new([(Text::from("node-1"), Arc::new(node))].into()),
        ..NodeSet::default()
    }
}

impl Case {
    fn read(&self) -> Result<Intent, Vec<String>> {
        let config = &self.conf.load_balancer;
        let features = Features::of(&config.lb_provider, self.version);
        let around = Surroundings { cluster: "held", config, classes: &self.conf.classes, features };
        Intent::of(&self.service, &around).map_err(|refusal| refusal.problems)
    }

    /// The same without some annotations.
    fn with(&self, removed: &[&str]) -> Self {
        let mut service = self.service.clone();
        removed.iter().for_each(|key| service.annotations.remove(key));
        Self { service, conf: self.conf.clone(), version: self.version }
    }
}

fn made_up(choices: &mut Choices<'_>) -> (Case, BTreeMap<String, String>) {
    let conf = configuration(choices);
    let version = ApiVersion(2, u32::try_from(choices.below(28)).unwrap_or_default());
    let mut written = BTreeMap::new();
    for _annotation in 0..choices.below(9) {
        let (key, value) = (key(choices), value(choices));
        // Neither keys nor values with it come from an API server.
        written.insert(key.replace('\0', ""), value.replace('\0', ""));
    }
    let ranges = (0..choices.of(&[0, 0, 0, 1, 2, 3])).map(|_range| value(choices).into()).collect();
    let service = ServiceView {
        namespace: "default".into(),
        name: choices.text(70).replace('\0', "").as_str().into(),
        uid: choices.of(&["11111111-2222-3333-4444-555555555555", "", "ß"]).into(),
        annotations: written.iter().collect::<Pairs>(),
        kind: choices.of(&[ServiceType::LoadBalancer, ServiceType::NodePort]),
        load_balancer_ip: choices.once_in(4).then(|| value(choices).into()),
        source_ranges: ranges,
        ports: (0..choices.below(4)).map(|_port| port(choices)).collect(),
        session_affinity: choices.of(&[None, Some(SessionAffinity::ClientIp), Some(SessionAffinity::None)]),
        external_traffic_policy: choices.of(&[
            None,
            Some(TrafficPolicy::Local),
            Some(TrafficPolicy::Cluster),
        ]),
        health_check_node_port: choices.of(&[None, Some(0), Some(32000)]),
        ip_families: choices.some_of(&[IpFamily::V4, IpFamily::V6, IpFamily::Unknown], 2),
        ..ServiceView::default()
    };
    (Case { service, conf, version }, written)
}

fn key(choices: &mut Choices<'_>) -> String {
    match choices.below(16) {
        0 => choices.text(20),
        1 => format!("{PREFIX}{}", choices.text(20)),
        _ => ANNOTATIONS
            .get(choices.below(ANNOTATIONS.len()))
            .map(|row| row.key.to_owned())
            .unwrap_or_default(),
    }
}

fn value(choices: &mut Choices<'_>) -> String {
    if choices.once_in(4) { choices.text(40) } else { choices.of(&VALUES).to_owned() }
}

fn port(choices: &mut Choices<'_>) -> ServicePort {
    ServicePort {
        protocol: choices.of(&[Protocol::Tcp, Protocol::Udp, Protocol::Sctp, Protocol::Unknown]),
        port: choices.of(&[80, 0, 443, 65535]),
        node_port: choices.of(&[Some(30080), None, Some(0)]),
        ..ServicePort::default()
    }
}

/// What cloud.conf says is mostly right here, and now and then is not.
fn configuration(choices: &mut Choices<'_>) -> CloudConf {
    let mut conf = CloudConf::default();
    let config = &mut conf.load_balancer;
    config.lb_provider = choices.of(&["amphora", "ovn", "octavia"]).to_owned();
    config.create_monitor = choices.once_in(2);
    config.internal_lb = choices.once_in(8);
    config.enable_ingress_hostname = choices.once_in(4);
    config.provider_requires_serial_api_calls = choices.once_in(4);
    config.manage_security_groups = choices.once_in(2);
    for field in [
        &mut config.subnet_id,
        &mut config.network_id,
        &mut config.flavor_id,
        &mut config.availability_zone,
        &mut config.floating_network_id,
        &mut config.floating_subnet,
        &mut config.floating_subnet_tags,
        &mut config.node_selector,
        &mut config.default_tls_container_ref,
    ] {
        if choices.once_in(8) {
            *field = value(choices);
        }
    }
    if choices.once_in(2) {
        let class = LoadBalancerClass { subnet_id: value(choices), ..LoadBalancerClass::default() };
        conf.classes.insert(choices.of(&["gold", ""]).to_owned(), class);
    }
    conf
}
