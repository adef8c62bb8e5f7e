//! The inventory where clouds and credentials are not as usual.

use std::sync::Arc;

use bowline_cloud::ErrorClass;
use openstack_client::ServerId;
use sim_openstack::identity::Project;
use sim_openstack::{Config, Fault, Rule, Service};

use super::{AGE_LIMIT, Inventory};
use crate::instances::simulation::Simulation;

fn inventory(simulation: &Simulation) -> Arc<Inventory> {
    Arc::new(Inventory::new(simulation.client.clone(), AGE_LIMIT))
}

/// The same credentials now lead to an empty project of the same name.
fn swap_project(simulation: &Simulation) {
    let (user, old) = (simulation.estate.user.clone(), simulation.estate.project.clone());
    simulation.edit(|state| {
        let identity = &mut state.identity;
        let project = identity.projects.get_mut(&old).unwrap();
        let new = Project { id: "0".repeat(32), ..project.clone() };
        project.name = "renamed".into();
        let roles: Vec<String> = identity
            .assignments
            .iter()
            .filter(|(who, project, _)| *who == user && *project == old)
            .map(|(_, _, role)| role.clone())
            .collect();
        identity.assignments.extend(roles.into_iter().map(|role| (user.clone(), new.id.clone(), role)));
        identity.projects.insert(new.id.clone(), new);
    });
}

#[tokio::test(start_paused = true)]
async fn a_404_said_to_a_token_of_another_project_is_no_proof() {
    let simulation = Simulation::new(Config::default(), 1);
    let inventory = inventory(&simulation);
    let id = ServerId::new(simulation.estate.servers[0].as_str()).unwrap();
    inventory.server(&id).await.unwrap();
    swap_project(&simulation);
    // The token is renewed in the middle of the call, and Nova then knows no such server.
    simulation.fault(Rule::new(Fault::ExpireTokens).on(Service::Compute).times(1));
    let error = inventory.server(&id).await.unwrap_err();
    // The client refuses such a token already; were it used, the answer would be no proof either.
    assert!(error.to_string().contains("for project"), "{error}");
    assert!(!error.is_not_found());
    assert_eq!(error.class(), ErrorClass::Unauthenticated);
    let error = inventory.snapshot().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unauthenticated, "an empty project is no empty snapshot");
}

#[tokio::test(start_paused = true)]
async fn a_nova_that_does_not_tell_flavors_by_name_is_asked_once_for_all_of_them() {
    let simulation = Simulation::new(Config::default(), 3);
    let second = simulation.estate.servers[1].clone();
    simulation.edit(|state| {
        state.compute.servers.update(&second, |server| server.flavor_id = "2".into());
    });
    let inventory = inventory(&simulation);
    inventory.older_nova.set(simulation.client.compute()).unwrap();
    let snapshot = inventory.snapshot().await.unwrap();
    let kinds = [1, 2, 3].map(|number| {
        let found = snapshot.by_name(&format!("node-{number}"));
        found[0].instance_type.clone().unwrap().into_string()
    });
    assert_eq!(kinds, ["m1.tiny", "m1.small", "m1.tiny"]);
    let counts = simulation.counts();
    assert!(counts.contains(&"1 GET /v2.1/flavors/detail".to_owned()), "{counts:?}");
    assert!(!counts.iter().any(|count| count.ends_with("/flavors/{id}")), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_flavor_is_gone_is_shown_without_a_type() {
    let simulation = Simulation::new(Config::default(), 1);
    simulation.edit(|state| drop(state.compute.flavors.remove("1")));
    let inventory = inventory(&simulation);
    inventory.older_nova.set(simulation.client.compute()).unwrap();
    let snapshot = inventory.snapshot().await.unwrap();
    assert_eq!(snapshot.by_name("node-1")[0].instance_type, None);
}

#[tokio::test(start_paused = true)]
async fn ports_that_neutron_does_not_tell_leave_no_snapshot() {
    let simulation = Simulation::new(Config::default(), 1);
    let inventory = inventory(&simulation);
    simulation.fault(Rule::new(Fault::not_found_lie()).on(Service::Network).path("/v2.0/ports").times(1));
    assert_eq!(inventory.snapshot().await.unwrap_err().class(), ErrorClass::Transient);
    assert_eq!(inventory.snapshot().await.unwrap().by_name("node-1")[0].ports.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_project_is_read_with_a_call_for_each_page_of_servers_and_one_for_all_ports() {
    for (servers, calls) in [(100, 2), (1000, 3), (5000, 7)] {
        let simulation = Simulation::new(Config::default(), servers);
        let inventory = inventory(&simulation);
        inventory.project().await.unwrap();
        let logins = simulation.calls();
        let snapshot = inventory.snapshot().await.unwrap();
        assert_eq!(simulation.calls() - logins, calls, "{servers}: {:?}", simulation.counts());
        assert_eq!(u64::try_from(snapshot.calls().all()).unwrap(), calls);
    }
    // Neutron limited as Nova is: as many pages.
    let simulation = Simulation::new(Config { network_page_max: Some(1000), ..Config::default() }, 2500);
    let inventory = inventory(&simulation);
    assert_eq!(inventory.snapshot().await.unwrap().calls().all(), 3 + 3);
}

#[tokio::test(start_paused = true)]
async fn a_nova_that_refuses_the_microversion_is_asked_as_everybody_asks_it_from_then_on() {
    let simulation = Simulation::new(Config::default(), 2);
    let inventory = inventory(&simulation);
    let refused = Rule::new(Fault::status(http::StatusCode::NOT_ACCEPTABLE)).on(Service::Compute).times(1);
    simulation.fault(refused);
    let snapshot = inventory.snapshot().await.unwrap();
    assert_eq!(snapshot.by_name("node-1")[0].instance_type.as_deref(), Some("m1.tiny"));
    let id = ServerId::new(simulation.estate.servers[0].as_str()).unwrap();
    assert_eq!(inventory.server(&id).await.unwrap().flavor.original_name, None, "told by its id");
    let counts = simulation.counts();
    assert!(!counts.iter().any(|count| count.ends_with("GET /v2.1/")), "{counts:?}");
}
