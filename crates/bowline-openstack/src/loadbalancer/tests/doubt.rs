//! What nobody can say for sure is neither made twice nor taken away: load balancers whose creation was not answered, and floating
//! IPs that only look like one's own.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::service::FINALIZER;
use bowline_cloud::{LoadBalancers, Purpose, ServiceView, Unfenced};
use http::Method;
use sim_openstack::{Fault, Rule, Service};

use super::stage::{End, Stage, annotated, edited, service};
use crate::loadbalancer::annotations::KEEP_FLOATING_IP;

/// A Service for which a load balancer was requested: this was the answer.
async fn failed_creation(fault: Fault) -> (Stage, Arc<ServiceView>) {
    let (stage, web) = (Stage::new(), service("web", 1));
    stage.simulation.fault(Rule::new(fault).on(Service::LoadBalancer).method(Method::POST).times(1));
    stage.perform_first(&web, Purpose::Ensure).await.unwrap_err();
    (stage, web)
}

/// The same Service, made anew.
fn successor(of: &Arc<ServiceView>) -> Arc<ServiceView> {
    edited(&service(&of.name, 1), |view| view.uid = "99999999-0000-0000-0000-000000000000".into())
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_not_asked_for_again_while_the_first_may_still_come() {
    let (mut stage, mut web) = failed_creation(Fault::DisconnectBefore).await;
    let doubt = stage.drive(&mut web, Purpose::Ensure).await.unknown();
    assert!(doubt.why.contains("was lost") && doubt.retry_after.is_some(), "{doubt:?}");
    assert_eq!(stage.balancer_count(), 0);
    tokio::time::sleep(Duration::from_secs(181)).await;
    stage.ensure(&mut web).await;
    assert_eq!(stage.balancer_count(), 1, "nothing came of the first, so it is made now");
}

#[tokio::test(start_paused = true)]
async fn a_new_configuration_does_not_forget_what_may_still_come() {
    let (mut stage, mut web) = failed_creation(Fault::DisconnectBefore).await;
    stage.reconfigure(|conf| conf.load_balancer.lb_method = "LEAST_CONNECTIONS".to_owned());
    let doubt = stage.drive(&mut web, Purpose::Ensure).await.unknown();
    assert!(doubt.why.contains("was lost"), "{doubt:?}");
    assert_eq!(stage.balancer_count(), 0);
    tokio::time::sleep(Duration::from_secs(181)).await;
    stage.ensure(&mut web).await;
    let method = stage.simulation.look(|state| {
        state.load_balancer.pools.iter().map(|pool| pool.lb_algorithm.clone()).collect::<Vec<_>>()
    });
    assert_eq!(method, ["LEAST_CONNECTIONS"], "and the new one counts");
}

/// Found by the simulation (seed 22658): a load balancer in ERROR was being made anew when the password changed, and got a second
/// floating IP.
#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_is_made_anew_keeps_its_floating_ip_through_a_new_configuration() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    while stage.floating_ips().is_empty() {
        stage.perform_first(&web, Purpose::Ensure).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    stage.fail_balancer("kube_service_kubernetes_default_web", "OFFLINE");
    stage.perform_first(&web, Purpose::Ensure).await.unwrap();
    stage.reconfigure(|_conf| {});
    stage.ensure(&mut web).await;
    assert_eq!((stage.balancer_count(), stage.floating_ips().len()), (1, 1));
}

/// Found by the simulation (seed 4459): one read said that it is not there, and the next was from before it was made.
#[tokio::test(start_paused = true)]
async fn what_was_made_a_moment_ago_is_not_made_again_because_it_is_not_shown() {
    for purpose in [Purpose::Ensure, Purpose::Remove] {
        let mut stage = Stage::new();
        let mut web = service("web", 1);
        stage.perform_first(&web, Purpose::Ensure).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let get = |fault| Rule::new(fault).on(Service::LoadBalancer).method(Method::GET);
        stage.simulation.fault(get(Fault::not_found_lie()).times(1));
        stage.simulation.fault(get(Fault::Stale(Duration::from_secs(30))).times(1));
        let doubt = stage.drive(&mut web, purpose).await.unknown();
        assert!(doubt.why.contains("no second one is made"), "{doubt:?}");
        stage.ensure(&mut web).await;
        assert_eq!(stage.balancer_count(), 1);
    }
}

/// Found by the simulation (seed 24264): the list of versions was cut short once, and load balancers could not be shared any more.
#[tokio::test(start_paused = true)]
async fn a_list_of_versions_that_is_cut_short_is_not_believed() {
    let mut stage = Stage::new();
    let cut = Rule::new(Fault::TruncateList { keep: 1 }).on(Service::LoadBalancer).path("/load-balancer/");
    stage.simulation.fault(cut.times(1));
    let mut web = service("web", 1);
    stage.ensure(&mut web).await;
    let tags: Vec<String> = stage
        .simulation
        .look(|state| state.load_balancer.load_balancers.iter().flat_map(|one| one.tags.clone()).collect());
    assert!(!tags.is_empty(), "this Octavia has tags");
}

#[tokio::test(start_paused = true)]
async fn who_is_told_that_nobody_serves_asks_again_after_half_a_minute_and_three_looks() {
    let unserved = Fault::html(http::StatusCode::SERVICE_UNAVAILABLE);
    let (mut stage, mut web) = failed_creation(unserved).await;
    let began = tokio::time::Instant::now();
    let mut looks = Vec::new();
    // The back-off of the queue.
    let mut pause = Duration::from_secs(5);
    while began.elapsed() + pause < Duration::from_secs(30) {
        tokio::time::sleep(pause).await;
        looks.push(began.elapsed().as_secs());
        let doubt = stage.drive(&mut web, Purpose::Ensure).await.unknown();
        pause = doubt.retry_after.unwrap();
        assert_eq!(stage.balancer_count(), 0);
    }
    assert_eq!(looks, [5, 15]);
    tokio::time::sleep(pause).await;
    assert_eq!(began.elapsed().as_secs(), 30);
    stage.ensure(&mut web).await;
    assert_eq!(stage.balancer_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_was_made_although_nobody_seemed_to_serve_is_found_and_not_made_twice() {
    // Also by reads that are behind.
    for age in [0, 10] {
        let unserved = Fault::AnswerAfter(http::StatusCode::SERVICE_UNAVAILABLE);
        let (mut stage, mut web) = failed_creation(unserved).await;
        assert_eq!(stage.balancer_count(), 1);
        let behind = Rule::new(Fault::Stale(Duration::from_secs(age))).on(Service::LoadBalancer);
        stage.simulation.fault(behind.method(Method::GET));
        tokio::time::sleep(Duration::from_secs(5)).await;
        while matches!(stage.drive(&mut web, Purpose::Ensure).await, End::Unknown(_)) {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        assert_eq!(stage.balancer_count(), 1, "reads are {age} s old");
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_asked_for_again_at_once_if_it_was_refused_for_the_moment_only() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    let step = stage.first_step(&web, Purpose::Ensure).await;
    let rule = Rule::new(Fault::too_many_requests(2)).on(Service::LoadBalancer).method(Method::POST);
    stage.simulation.fault(rule.times(2));
    stage.clear();
    stage.balancers.execute(&step, &Unfenced).await.unwrap();
    assert_eq!((stage.mutating(), stage.reads(), stage.balancer_count()), (3, 0, 1), "{:?}", stage.counts());
    stage.ensure(&mut web).await;
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_nobody_served_costs_a_look_at_its_port_and_no_other() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    let rule = Rule::new(Fault::html(http::StatusCode::SERVICE_UNAVAILABLE)).on(Service::Network);
    stage.simulation.fault(rule.method(Method::POST).times(1));
    stage.perform_first(&web, Purpose::Ensure).await.unwrap();
    stage.perform_first(&web, Purpose::Ensure).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(60)).await;
    stage.clear();
    stage.ensure(&mut web).await;
    assert_eq!(stage.floating_ips().len(), 1);
    // The load balancer, and which floating IPs lead to its port; behind the change both are known.
    assert_eq!((stage.mutating(), stage.reads()), (1, 2), "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_a_namesake_kept_is_neither_used_nor_given_back() {
    let (mut stage, mut first) =
        Stage::serving(annotated(&service("web", 1), KEEP_FLOATING_IP.key, "true")).await;
    stage.remove(&mut first).await;
    let kept = stage.floating_ips();
    assert_eq!(kept.len(), 1);
    let mut second = successor(&first);
    let status = stage.ensure(&mut second).await;
    assert_ne!(status.ingress[0].ip.unwrap().to_string(), kept[0]);
    stage.remove(&mut second).await;
    assert_eq!(stage.floating_ips(), kept, "the kept one stays, the other one goes");
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_of_a_load_balancer_that_never_came_up_leads_to_the_next_one() {
    let mut stage = Stage::new();
    let fails = Rule::new(Fault::LoadBalancerError).on(Service::LoadBalancer).method(Method::POST);
    stage.simulation.fault(fails.times(1));
    let mut web = service("web", 1);
    let status = stage.ensure(&mut web).await;
    assert_eq!(
        stage.floating_ips(),
        [status.ingress[0].ip.unwrap().to_string()],
        "there is one, and it is used"
    );
    stage.remove(&mut web).await;
    assert_eq!((stage.floating_ips().len(), stage.balancer_count()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn octavia_that_says_itself_that_it_failed_is_asked_again_at_once() {
    let failed = Fault::status(http::StatusCode::INTERNAL_SERVER_ERROR);
    let (mut stage, mut web) = failed_creation(failed).await;
    stage.ensure(&mut web).await;
    assert_eq!(stage.balancer_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_came_although_its_answer_was_lost_goes_at_once_when_it_shall() {
    let (mut stage, mut web) = failed_creation(Fault::DisconnectAfter).await;
    stage.ensure(&mut web).await;
    stage.remove(&mut web).await;
    assert_eq!((stage.balancer_count(), stage.floating_ips().len()), (0, 0));
}

/// A Service whose load balancer somebody may have asked for already.
fn begun(name: &str) -> Arc<ServiceView> {
    edited(&service(name, 1), |view| view.finalizers = [FINALIZER].into())
}

/// Somebody asked for a load balancer, and it came when his successor had asked for another one. The successor has gone on since.
async fn asked_for_twice(stage: &mut Stage, web: &mut Arc<ServiceView>) {
    let step = stage.first_step(&service("web", 1), Purpose::Ensure).await;
    let predecessor = stage.taken_over();
    stage.one_round(web, Purpose::Ensure).await;
    stage.one_round(web, Purpose::Ensure).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    predecessor.execute(&step, &Unfenced).await.unwrap();
    assert_eq!(stage.balancer_count(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_that_a_predecessor_asked_for_unseen_does_not_stay_beside_our_own() {
    let mut stage = Stage::new();
    let mut web = begun("web");
    asked_for_twice(&mut stage, &mut web).await;
    stage.ensure(&mut web).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((stage.balancer_count(), stage.floating_ips().len()), (1, 1));
    stage.ensure(&mut web).await;
    stage.remove(&mut web).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((stage.balancer_count(), stage.floating_ips().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn of_two_that_are_proven_our_own_one_stays_and_both_go_with_the_service() {
    for purpose in [Purpose::Ensure, Purpose::Remove] {
        let mut stage = Stage::new();
        let mut web = begun("web");
        asked_for_twice(&mut stage, &mut web).await;
        // What was noted on the Service is lost as well.
        web = begun("web");
        stage.restart();
        tokio::time::sleep(Duration::from_secs(60)).await;
        stage.drive(&mut web, purpose).await.settled();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let left = usize::from(purpose == Purpose::Ensure);
        assert_eq!((stage.balancer_count(), stage.floating_ips().len()), (left, left), "{purpose:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_begins_a_service_himself_looks_for_no_other() {
    let reads = Stage::serving(service("web", 1)).await.0.reads();
    let (stage, _web) = Stage::serving(begun("web")).await;
    assert_eq!(
        stage.reads(),
        reads + 2,
        "two lists more, before and behind, where somebody else may have begun"
    );
}

/// Found by the simulation (seed 5098): the leader before had made one four seconds ago, and the answer to the next one was older.
#[tokio::test(start_paused = true)]
async fn what_another_process_has_begun_is_looked_for_twice_before_it_is_made() {
    let mut stage = Stage::new();
    let step = stage.first_step(&service("web", 1), Purpose::Ensure).await;
    let (predecessor, mut web) = (stage.taken_over(), begun("web"));
    let again = stage.first_step(&web, Purpose::Ensure).await;
    let error = stage.balancers.execute(&again, &Unfenced).await.unwrap_err();
    assert_eq!(error.asked_to_wait(), Some(Duration::from_secs(10)), "{error}");
    // What was ordered before shows only now.
    predecessor.execute(&step, &Unfenced).await.unwrap();
    stage.ensure(&mut web).await;
    assert_eq!(stage.balancer_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_another_process_has_begun_and_not_ordered_is_made_soon_and_made_anew_without_a_wait() {
    let mut stage = Stage::new();
    let mut web = begun("web");
    let step = stage.first_step(&web, Purpose::Ensure).await;
    let error = stage.balancers.execute(&step, &Unfenced).await.unwrap_err();
    assert!(error.to_string().contains("a process before this one began"), "{error}");
    assert_eq!(stage.balancer_count(), 0);
    stage.ensure(&mut web).await;
    assert_eq!(stage.balancer_count(), 1);
    // By now this process is the one that orders. Somebody deletes what was shown long ago.
    tokio::time::sleep(Duration::from_secs(60)).await;
    stage.simulation.edit(|state| {
        let ids = state.load_balancer.load_balancers.find_ids("name", "kube_service_kubernetes_default_web");
        ids.iter().for_each(|id| drop(state.load_balancer.load_balancers.remove(id)));
    });
    assert_eq!(stage.balancer_count(), 0);
    stage.ensure(&mut web).await;
    assert_eq!(stage.balancer_count(), 1);
}
