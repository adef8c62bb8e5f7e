//! When a server counts as gone, and when not: a Node hangs on it.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{ErrorClass, Evidence, Instances, NodeView};
use http::StatusCode;
use sim_openstack::{Chaos, Config, Fault, Rule, Service};

use crate::instances::simulation::{Simulation, class, node, present};

const SERVER: &str = "/v2.1/servers/{id}";

#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_is_a_doubt_in_the_snapshot_and_proven_by_a_direct_read() {
    let (simulation, servers) = Simulation::with_servers(2);
    let gone = Arc::new(simulation.of(0));
    present(&servers.observe(&[Arc::clone(&gone)]).await[0]);
    simulation.remove(0);
    // The old snapshot still shows it; the next does not.
    present(&servers.observe(&[Arc::clone(&gone)]).await[0]);
    tokio::time::advance(Duration::from_secs(61)).await;
    let found = servers.observe(&[Arc::clone(&gone), Arc::new(simulation.of(1))]).await;
    assert_eq!(class(&found[0]), Some(ErrorClass::NotFound));
    present(&found[1]);
    match servers.confirm(&gone).await {
        Evidence::Absent(proof) => {
            let id = &simulation.estate.servers[0];
            assert!(proof.to_string().contains(id) && proof.to_string().contains("req-"), "{proof}");
        }
        other => panic!("{other:?}"),
    }
    present(&servers.confirm(&simulation.of(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_new_server_that_an_older_snapshot_does_not_show_is_found_at_once() {
    let (simulation, servers) = Simulation::with_servers(1);
    servers.observe(&[Arc::new(simulation.of(0))]).await;
    tokio::time::advance(Duration::from_secs(11)).await;
    let id = simulation.boot("late");
    let late = Arc::new(node("late", None));
    let before = simulation.calls();
    let found = servers.observe(&[Arc::clone(&late), Arc::new(node("nobody", None))]).await;
    assert_eq!(present(&found[0]).provider_id, format!("openstack:///{id}"));
    assert_eq!(class(&found[1]), Some(ErrorClass::NotFound));
    assert_eq!(simulation.calls() - before, 2, "{:?}", simulation.counts());
    // A burst of joins costs one new reading, not one for each.
    let burst: Vec<_> = (0..50).map(|number| format!("burst-{number}")).collect();
    tokio::time::advance(Duration::from_millis(1)).await;
    burst.iter().for_each(|name| drop(simulation.boot(name)));
    let burst: Vec<_> = burst.iter().map(|name| Arc::new(node(name, None))).collect();
    let before = simulation.calls();
    for evidence in &servers.observe(&burst).await {
        present(evidence);
    }
    assert_eq!(simulation.calls() - before, 2, "{:?}", simulation.counts());
    assert_eq!(servers.confirm(&late).await, found[0]);
}

#[tokio::test(start_paused = true)]
async fn a_look_that_was_told_404_counts_as_the_first_of_two_and_the_last_word_is_read_now() {
    let (simulation, servers) = Simulation::with_servers(2);
    let gone = Arc::new(simulation.of(0));
    servers.observe(&[Arc::clone(&gone)]).await;
    simulation.remove(0);
    tokio::time::advance(Duration::from_secs(61)).await;
    let before = simulation.calls();
    let found = servers.presence(&[Arc::clone(&gone)]).await;
    assert!(
        matches!(&found[0], Evidence::Unknown(doubt) if doubt.class == ErrorClass::NotFound),
        "{found:?}"
    );
    assert!(matches!(servers.confirm(&gone).await, Evidence::Absent(_)));
    assert_eq!(simulation.calls() - before, 3, "by id, by name, by id: {:?}", simulation.counts());
    // What was told long ago counts for nothing.
    tokio::time::advance(Duration::from_secs(11)).await;
    let before = simulation.calls();
    assert!(matches!(servers.confirm(&gone).await, Evidence::Absent(_)));
    assert_eq!(simulation.calls() - before, 3, "{:?}", simulation.counts());
}

#[tokio::test(start_paused = true)]
async fn a_look_that_was_told_a_wrong_404_costs_no_node() {
    let (simulation, servers) = Simulation::with_servers(2);
    let node = Arc::new(simulation.of(0));
    servers.observe(&[Arc::clone(&node)]).await;
    // The list of its name does not show it either, so that all hangs on the last word.
    let id = simulation.estate.servers[0].clone();
    simulation.edit(|state| {
        state.compute.servers.update(&id, |server| server.name = "renamed".into());
    });
    tokio::time::advance(Duration::from_secs(61)).await;
    simulation.fault(Rule::new(Fault::not_found_lie()).on(Service::Compute).path(SERVER).times(1));
    let found = servers.presence(&[Arc::clone(&node)]).await;
    assert!(
        matches!(&found[0], Evidence::Unknown(doubt) if doubt.class == ErrorClass::NotFound),
        "{found:?}"
    );
    assert_eq!(class(&servers.confirm(&node).await), Some(ErrorClass::Transient), "a contradiction");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_there_is_never_called_gone_whatever_one_answer_says() {
    for fault in [
        Fault::not_found_lie(),
        Fault::html(StatusCode::NOT_FOUND),
        Fault::html(StatusCode::BAD_GATEWAY),
        Fault::status(StatusCode::INTERNAL_SERVER_ERROR),
        Fault::status(StatusCode::SERVICE_UNAVAILABLE),
        Fault::forbidden(),
        Fault::too_many_requests(3),
        Fault::CutBody { bytes: 40 },
        Fault::SilenceBefore,
        Fault::DisconnectAfter,
    ] {
        let (simulation, servers) = Simulation::with_servers(1);
        simulation.fault(Rule::new(fault.clone()).on(Service::Compute).path(SERVER).times(1));
        let found = servers.confirm(&simulation.of(0)).await;
        assert!(class(&found).is_some_and(|class| class != ErrorClass::NotFound), "{fault:?}: {found:?}");
        present(&servers.confirm(&simulation.of(0)).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_nova_that_denies_a_server_by_id_again_and_again_is_caught_by_its_own_list() {
    let (simulation, servers) = Simulation::with_servers(1);
    simulation.fault(Rule::new(Fault::not_found_lie()).on(Service::Compute).path(SERVER));
    assert_eq!(class(&servers.confirm(&simulation.of(0)).await), Some(ErrorClass::Transient));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_again_and_again_proves_nothing() {
    let (simulation, servers) = Simulation::with_servers(1);
    simulation.remove(0);
    simulation.fault(Rule::new(Fault::unauthorized()).on(Service::Compute).path(SERVER));
    assert_eq!(class(&servers.confirm(&simulation.of(0)).await), Some(ErrorClass::Unauthenticated));
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_second_look_at_a_server_that_is_gone_prove_nothing() {
    let (simulation, servers) = Simulation::with_servers(1);
    simulation.remove(0);
    let broken = Fault::status(StatusCode::INTERNAL_SERVER_ERROR);
    for rule in
        [Rule::new(broken.clone()).path("*/servers/detail"), Rule::new(broken.clone()).path(SERVER).after(1)]
    {
        simulation.fault(rule.on(Service::Compute).times(1));
        assert_eq!(class(&servers.confirm(&simulation.of(0)).await), Some(ErrorClass::Transient));
    }
    assert!(matches!(servers.confirm(&simulation.of(0)).await, Evidence::Absent(_)));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_or_is_cut_short_makes_doubts_and_the_direct_read_finds_what_it_hid() {
    let (simulation, servers) = Simulation::with_servers(4);
    let hidden = Arc::new(simulation.of(0));
    let lists = |fault: Fault| Rule::new(fault).on(Service::Compute).path("*/servers/detail").times(1);
    for (fault, doubted) in [
        (Fault::html(StatusCode::NOT_FOUND), ErrorClass::Transient),
        (Fault::not_found_lie(), ErrorClass::Transient),
        (Fault::CutBody { bytes: 100 }, ErrorClass::Transient),
        (Fault::TruncateList { keep: 1 }, ErrorClass::NotFound),
    ] {
        simulation.fault(lists(fault.clone()));
        let found = servers.observe(&[Arc::clone(&hidden)]).await;
        assert_eq!(class(&found[0]), Some(doubted), "{fault:?}: {found:?}");
        present(&servers.confirm(&hidden).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_made_anew_under_its_name_is_another_one() {
    let (simulation, servers) = Simulation::with_servers(1);
    simulation.remove(0);
    let new = simulation.boot("node-1");
    let old = simulation.of(0);
    assert_eq!(class(&servers.observe(&[Arc::new(old.clone())]).await[0]), Some(ErrorClass::NotFound));
    assert!(matches!(servers.confirm(&old).await, Evidence::Absent(_)));
    let fresh = servers.observe(&[Arc::new(node("node-1", None))]).await;
    assert_eq!(present(&fresh[0]).provider_id, format!("openstack:///{new}"));
}

#[tokio::test(start_paused = true)]
async fn a_404_for_the_system_uuid_of_a_node_without_provider_id_proves_nothing() {
    let (simulation, servers) = Simulation::with_servers(2);
    simulation.remove(0);
    let bare = node("node-1", None);
    assert_eq!(class(&servers.observe(&[Arc::new(bare.clone())]).await[0]), Some(ErrorClass::NotFound));
    // A server that was deleted and a physical machine that Nova never had give the same answer.
    for uuid in [simulation.estate.servers[0].as_str(), "4c4c4544-0046-3510-8052-b4c04f4e4d32"] {
        let told = NodeView { system_uuid: Some(uuid.into()), ..bare.clone() };
        assert_eq!(class(&servers.confirm(&told).await), Some(ErrorClass::NotFound));
    }
    assert_eq!(class(&servers.confirm(&bare).await), Some(ErrorClass::NotFound));
    // With the provider ID under which the server was once seen, the direct read has its proof.
    let seen = format!("openstack:///{}", simulation.estate.servers[0]);
    assert!(matches!(servers.confirm(&node("node-1", Some(&seen))).await, Evidence::Absent(_)));
    // The machine is there under another name.
    let renamed = NodeView { system_uuid: Some(simulation.estate.servers[1].as_str().into()), ..bare };
    assert_eq!(class(&servers.confirm(&renamed).await), Some(ErrorClass::Invalid));
}

#[tokio::test(start_paused = true)]
async fn in_chaos_no_server_that_is_there_is_ever_called_gone() {
    let (mut found, mut doubted) = (0, 0);
    for seed in 0..8 {
        let simulation = Simulation::new(Config { seed, ..Config::default() }, 5);
        let servers = simulation.servers();
        simulation.sim.with(|cloud| cloud.faults().add_chaos(&Chaos::even(0.04)));
        for round in 0..60 {
            let by_id = simulation.of(round % 5);
            let uuid = simulation.estate.servers[round % 5].as_str().into();
            let by_name = NodeView { provider_id: None, system_uuid: Some(uuid), ..by_id.clone() };
            for node in [by_id, by_name] {
                let observed = servers.observe(&[Arc::new(node.clone())]).await.remove(0);
                for evidence in [observed, servers.confirm(&node).await] {
                    assert!(!matches!(evidence, Evidence::Absent(_)), "seed {seed}: {evidence:?}");
                    found += usize::from(class(&evidence).is_none());
                    doubted += usize::from(class(&evidence).is_some());
                }
            }
            tokio::time::advance(Duration::from_secs(20)).await;
        }
    }
    assert!(found > 300 && doubted > 100, "{found} found, {doubted} doubted");
}
