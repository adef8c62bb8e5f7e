//! Security groups of Services, looked at and made as the other things.

use bowline_cloud::Purpose;
use sim_openstack::Config;

use super::stage::{Stage, service};

fn groups(stage: &Stage) -> Vec<(String, usize)> {
    stage.simulation.sim.with(|cloud| {
        let network = &cloud.state().network;
        let ours = network.security_groups.iter().filter(|group| group.name.starts_with("lb-sg-"));
        let ports =
            |id: &String| network.ports.iter().filter(|port| port.security_groups.contains(id)).count();
        ours.map(|group| (group.name.clone(), ports(&group.id))).collect()
    })
}

#[tokio::test(start_paused = true)]
async fn a_managed_group_comes_with_the_service_and_goes_with_it() {
    let mut stage = Stage::with(Config::default(), |conf| conf.load_balancer.manage_security_groups = true);
    let mut services: Vec<_> = (0..6).map(|number| service(&format!("web-{number}"), 1)).collect();
    for end in stage.drive_all(&mut services, Purpose::Ensure).await {
        end.settled();
    }
    let made = groups(&stage);
    assert_eq!(made.len(), 6);
    assert!(made.iter().all(|(_name, ports)| *ports == 3), "every Node has each of them: {made:?}");
    stage.restart("sim");
    stage.clear();
    for end in stage.drive_all(&mut services, Purpose::Ensure).await {
        end.settled();
    }
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    for end in stage.drive_all(&mut services, Purpose::Remove).await {
        end.settled();
    }
    assert_eq!(groups(&stage), []);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_left_when_groups_are_no_longer_managed_goes() {
    let mut stage = Stage::with(Config::default(), |conf| conf.load_balancer.manage_security_groups = true);
    let mut web = service("web", 1);
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!(groups(&stage).len(), 1);
    stage.conf.load_balancer.manage_security_groups = false;
    stage.restart("sim");
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!(groups(&stage), []);
}
