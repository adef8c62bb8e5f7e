//! Damage that others do: found at the next look that reads, and repaired to what a fresh load balancer is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::Purpose;
use sim_openstack::{Fault, Rule, Service, State};

use super::stage::{End, id_of};
use super::transitions::course::{Living, Setting};
use super::transitions::picture::differences;
use crate::loadbalancer::annotations::{self, LOAD_BALANCER_ID};

/// Something that is done behind our back.
type Damage = fn(&mut State);

/// Two ports, a monitor, a group and a floating IP.
fn all() -> Setting {
    Setting::conf("all", "[LoadBalancer]\ncreate-monitor = true\nmanage-security-groups = true")
}

/// Octavia writes the time of a change below a load balancer on it.
fn touch(state: &mut State) {
    let ids: Vec<String> = state.load_balancer.load_balancers.iter().map(|one| one.id.clone()).collect();
    for id in ids {
        let touched = Some("2026-11-15T11:11:11".to_owned());
        state.load_balancer.load_balancers.update(&id, |one| one.updated_at = touched).unwrap();
    }
}

fn first_listener(state: &State) -> String {
    state.load_balancer.listeners.iter().find(|one| one.protocol_port == 80).unwrap().id.clone()
}

fn first_pool(state: &State) -> String {
    let listener = state.load_balancer.listeners.get(&first_listener(state)).unwrap();
    listener.default_pool_id.clone().unwrap()
}

fn first_member(state: &State) -> String {
    state.load_balancer.members.find_ids("pool_id", &first_pool(state)).remove(0)
}

fn first_monitor(state: &State) -> String {
    state.load_balancer.monitors.find_ids("pool_id", &first_pool(state)).remove(0)
}

fn leading(state: &State) -> String {
    state.network.floating_ips.iter().find(|one| one.port_id.is_some()).unwrap().id.clone()
}

fn group(state: &State) -> String {
    let ours = |name: &str| name.starts_with("lb-sg-");
    state.network.security_groups.iter().find(|one| ours(&one.name)).unwrap().id.clone()
}

fn remove_pool(state: &mut State) {
    let id = first_pool(state);
    for member in state.load_balancer.members.find_ids("pool_id", &id) {
        state.load_balancer.members.remove(&member);
    }
    for monitor in state.load_balancer.monitors.find_ids("pool_id", &id) {
        state.load_balancer.monitors.remove(&monitor);
    }
    state.load_balancer.pools.remove(&id);
    let listener = first_listener(state);
    state.load_balancer.listeners.update(&listener, |one| one.default_pool_id = None).unwrap();
}

fn remove_group(state: &mut State) {
    let id = group(state);
    let ports: Vec<String> = state.network.ports.find_ids("security_groups", &id);
    for port in ports {
        state.network.ports.update(&port, |port| port.security_groups.retain(|one| *one != id)).unwrap();
    }
    for rule in state.network.rules.find_ids("security_group_id", &id) {
        state.network.rules.remove(&rule);
    }
    state.network.security_groups.remove(&id);
}

fn damages() -> BTreeMap<&'static str, Damage> {
    BTreeMap::from([
        (
            "listener deleted, its pool left",
            (|state| {
                let id = first_listener(state);
                state.load_balancer.listeners.remove(&id);
            }) as Damage,
        ),
        ("listener and pool deleted", |state| {
            remove_pool(state);
            let id = first_listener(state);
            state.load_balancer.listeners.remove(&id);
        }),
        ("listener changed", |state| {
            let id = first_listener(state);
            let change = |one: &mut sim_openstack::load_balancer::Listener| {
                (one.connection_limit, one.timeout_client_data) = (7, 1);
                one.allowed_cidrs = Some(vec!["192.0.2.0/24".to_owned()]);
                one.default_tls_container_ref = None;
            };
            state.load_balancer.listeners.update(&id, change).unwrap();
        }),
        ("listener without tags", |state| {
            let id = first_listener(state);
            state.load_balancer.listeners.update(&id, |one| one.tags.clear()).unwrap();
        }),
        ("listener given up", |state| {
            let id = first_listener(state);
            state
                .load_balancer
                .listeners
                .update(&id, |one| one.provisioning_status = "ERROR".into())
                .unwrap();
        }),
        ("pool deleted", remove_pool),
        ("pool changed", |state| {
            let id = first_pool(state);
            state.load_balancer.pools.update(&id, |one| one.lb_algorithm = "SOURCE_IP".into()).unwrap();
        }),
        ("pool given up", |state| {
            let id = first_pool(state);
            state.load_balancer.pools.update(&id, |one| one.provisioning_status = "ERROR".into()).unwrap();
        }),
        ("member deleted", |state| {
            let id = first_member(state);
            state.load_balancer.members.remove(&id);
        }),
        ("member at another port", |state| {
            let id = first_member(state);
            state.load_balancer.members.update(&id, |one| one.protocol_port = 9).unwrap();
        }),
        ("member too many", |state| {
            let mut more = state.load_balancer.members.get(&first_member(state)).unwrap().clone();
            (more.id, more.address) = ("more".to_owned(), "10.10.9.9".to_owned());
            state.load_balancer.members.insert(more);
        }),
        ("all members deleted", |state| {
            for id in state.load_balancer.members.find_ids("pool_id", &first_pool(state)) {
                state.load_balancer.members.remove(&id);
            }
        }),
        ("monitor deleted", |state| {
            let id = first_monitor(state);
            state.load_balancer.monitors.remove(&id);
        }),
        ("monitor changed", |state| {
            let id = first_monitor(state);
            state.load_balancer.monitors.update(&id, |one| (one.delay, one.timeout) = (99, 98)).unwrap();
        }),
        ("balancer without tags", |state| {
            let id = state.load_balancer.load_balancers.iter().next().unwrap().id.clone();
            state.load_balancer.load_balancers.update(&id, |one| one.tags.clear()).unwrap();
        }),
    ])
}

/// What others do to things of Neutron shows at every look.
fn damages_of_neutron() -> BTreeMap<&'static str, Damage> {
    BTreeMap::from([
        (
            "floating IP detached",
            (|state| {
                let id = leading(state);
                let detach = |one: &mut sim_openstack::network::FloatingIp| {
                    (one.port_id, one.fixed_ip_address, one.router_id) = (None, None, None);
                };
                state.network.floating_ips.update(&id, detach).unwrap();
            }) as Damage,
        ),
        ("floating IP deleted", |state| {
            let id = leading(state);
            state.network.floating_ips.remove(&id);
        }),
        ("group deleted", remove_group),
        ("rule deleted", |state| {
            let rule = state.network.rules.find_ids("security_group_id", &group(state)).remove(0);
            state.network.rules.remove(&rule);
        }),
        ("rule too many", |state| {
            let rule = state.network.rules.find_ids("security_group_id", &group(state)).remove(0);
            let mut more = state.network.rules.get(&rule).unwrap().clone();
            more.id = "more".to_owned();
            (more.port_range_min, more.port_range_max) = (Some(22), Some(22));
            state.network.rules.insert(more);
        }),
        ("group taken off a port", |state| {
            let id = group(state);
            let port = state.network.ports.find_ids("security_groups", &id).remove(0);
            state.network.ports.update(&port, |port| port.security_groups.retain(|one| *one != id)).unwrap();
        }),
    ])
}

async fn repaired(what: &str, damage: Damage, look: &dyn Fn(&mut Living)) {
    let setting = all();
    let mut living = Living::born(&setting).await;
    let fresh = living.picture();
    // A group that was made a moment ago and is not to be seen is taken for one that Neutron does not show yet.
    tokio::time::sleep(Duration::from_secs(61)).await;
    living.estate.stage.simulation.edit(damage);
    assert_ne!(living.picture(), fresh, "{what}: it does damage");
    look(&mut living);
    match living.drive(Purpose::Ensure).await {
        End::Settled(_) => {}
        other => panic!("{what}: {other:?}"),
    }
    assert_eq!(differences(&living.picture(), &fresh), Vec::<String>::new(), "{what}");
    assert_eq!(living.restless().await, Vec::<String>::new(), "{what}");
}

#[tokio::test(start_paused = true)]
async fn what_others_break_below_a_load_balancer_is_repaired_when_octavia_tells_that_it_changed() {
    for (what, damage) in damages() {
        repaired(what, damage, &|living| living.estate.stage.simulation.edit(touch)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_leaves_no_trace_is_repaired_after_some_hours() {
    for (what, damage) in damages().into_iter().step_by(4) {
        let mut living = Living::born(&all()).await;
        let fresh = living.picture();
        living.estate.stage.simulation.edit(damage);
        tokio::time::sleep(Duration::from_secs(6 * 60 * 60)).await;
        living.drive(Purpose::Ensure).await.settled();
        assert_eq!(differences(&living.picture(), &fresh), Vec::<String>::new(), "{what}");
    }
}

/// The word of an earlier look, which stands on the Service, says that all is as wanted, and would end the matter.
#[tokio::test(start_paused = true)]
async fn a_repair_that_is_due_outlasts_a_read_and_a_step_that_fail() {
    let refused = |method: http::Method| {
        let fault = Fault::status(http::StatusCode::INTERNAL_SERVER_ERROR);
        Rule::new(fault).on(Service::LoadBalancer).method(method).path("*/members").times(1)
    };
    for (failing, method) in [("read", http::Method::GET), ("step", http::Method::PUT)] {
        let mut living = Living::born(&all()).await;
        let fresh = living.picture();
        // So long after it was made, nobody knows any more what was sent.
        living.estate.stage.restart();
        living.drive(Purpose::Ensure).await.settled();
        living.estate.stage.simulation.edit(|state| {
            let id = first_member(state);
            state.load_balancer.members.update(&id, |one| one.protocol_port = 9).unwrap();
        });
        tokio::time::sleep(Duration::from_secs(6 * 60 * 60)).await;
        living.estate.stage.simulation.fault(refused(method.clone()));
        let stage = &living.estate.stage;
        match stage.look(&living.service, Purpose::Ensure).await {
            Err(_doubt) => assert_eq!(failing, "read"),
            Ok(_observed) => {
                stage.perform_first(&living.service, Purpose::Ensure).await.unwrap_err();
            }
        }
        living.drive(Purpose::Ensure).await.settled();
        assert_eq!(differences(&living.picture(), &fresh), Vec::<String>::new(), "after a failed {failing}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_others_break_in_the_network_is_repaired_at_the_next_look() {
    for (what, damage) in damages_of_neutron() {
        repaired(what, damage, &|_living| {}).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_is_gone_is_made_anew_with_its_floating_ip() {
    let mut living = Living::born(&all()).await;
    let (fresh, status) = (living.picture(), living.service.status.clone());
    living.lose_balancer().await;
    // The annotation that names it is stale now.
    let stale = id_of(&living.service);
    living.drive(Purpose::Ensure).await.settled();
    assert_eq!(differences(&living.picture(), &fresh), Vec::<String>::new());
    assert_eq!(living.service.status, status, "the same address");
    assert_ne!(living.service.annotations.get(LOAD_BALANCER_ID.key), Some(stale.as_str()));
    assert_eq!(living.restless().await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_is_gone_leaves_neither_floating_ip_nor_group_when_its_service_goes() {
    let mut living = Living::born(&all()).await;
    living.lose_balancer().await;
    living.drive(Purpose::Remove).await.settled();
    let left = living.picture();
    assert_eq!((left["load balancers"].to_string(), left["groups"].to_string()), ("[]".into(), "[]".into()));
    assert!(!left["floating ips"].to_string().contains("Kubernetes"), "{left:#}");
}

/// Octavia reports the load balancer of a Service in provisioning status ERROR, and it and its pools in this operating status.
fn fail(living: &Living, operating: &str) {
    living.estate.stage.fail_balancer("kube_service_kubernetes_default_web", operating);
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_in_error_that_serves_nobody_is_replaced_with_its_floating_ip_unless_that_is_forbidden()
 {
    for setting in [all(), Setting::none(), Setting::conf("ovn", "[LoadBalancer]\nlb-provider = ovn")] {
        let mut living = Living::born(&setting).await;
        let (fresh, status) = (living.picture(), living.service.status.clone());
        fail(&living, "ERROR");
        living.drive(Purpose::Ensure).await.settled();
        assert_eq!(differences(&living.picture(), &fresh), Vec::<String>::new(), "{}", setting.name);
        assert_eq!(living.service.status, status, "{}: the same address", setting.name);
        assert_eq!(living.restless().await, Vec::<String>::new());
    }
    let forbidden = Setting::annotation(annotations::RECREATE_ON_ERROR.key, "false");
    let text = is_kept(&forbidden, "ERROR").await;
    assert!(text.contains("failover") && text.contains("recreate-on-error"), "{text}");
}

/// Seen on a real cloud: five load balancers in ERROR whose operating status was ONLINE were deleted, all of which served.
#[tokio::test(start_paused = true)]
async fn a_load_balancer_in_error_that_may_serve_is_kept_and_the_service_says_what_to_do() {
    for setting in [all(), Setting::none(), Setting::conf("ovn", "[LoadBalancer]\nlb-provider = ovn")] {
        for operating in ["ONLINE", "DEGRADED", "NO_MONITOR", "DRAINING", "", "BOOTING"] {
            let text = is_kept(&setting, operating).await;
            assert!(text.contains(operating) && text.contains("openstack loadbalancer failover"), "{text}");
        }
    }
}

/// Nothing is changed, and the text of the refusal. It goes with its Service all the same.
async fn is_kept(setting: &Setting, operating: &str) -> String {
    let mut living = Living::born(setting).await;
    let status = living.service.status.clone();
    fail(&living, operating);
    living.estate.stage.clear();
    let End::Refused(refusal) = living.drive(Purpose::Ensure).await else { panic!("it is left alone") };
    assert_eq!((living.estate.stage.mutating(), &living.service.status), (0, &status));
    living.drive(Purpose::Remove).await.settled();
    assert_eq!(living.picture()["load balancers"].to_string(), "[]");
    refusal.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_named_load_balancer_that_never_was_is_told_and_one_that_was_ours_is_made_anew() {
    let stale = "00000000-0000-4000-8000-000000000001";
    let mut living = Living::born(&Setting::none()).await;
    let fresh = living.picture();
    // It names another one than its own, which is there by its name.
    Arc::make_mut(&mut living.service).annotations.insert(LOAD_BALANCER_ID.key.to_owned(), stale.to_owned());
    living.drive(Purpose::Ensure).await.settled();
    assert_eq!(differences(&living.picture(), &fresh), Vec::<String>::new());
    assert_ne!(living.service.annotations.get(LOAD_BALANCER_ID.key), Some(stale));
    let mut new = super::stage::annotated(&super::stage::service("new", 1), LOAD_BALANCER_ID.key, stale);
    let End::Refused(refusal) = living.estate.stage.drive(&mut new, Purpose::Ensure).await else { panic!() };
    assert!(refusal.to_string().contains(stale), "{refusal}");
}
