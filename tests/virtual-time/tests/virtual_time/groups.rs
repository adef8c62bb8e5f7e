//! Managed security groups: every Service has a group on the ports of all Nodes, and they all come and go at once.

use std::time::Duration;

use http::Method;
use sim_openstack::{Config, Service};

use super::stack::Stack;
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

const SERVICES: usize = 12;
const MINUTES: Duration = Duration::from_secs(300);

#[tokio::test(start_paused = true)]
async fn groups_of_many_services_cost_fewer_calls_than_occm_makes_and_no_port_is_read_for_each() {
    let world = World { load_balancer: "manage-security-groups=true", ..World::new(Config::default(), 3) };
    world.register(1..=3);
    let stack = Stack::start(&world).await;
    until("three Nodes", MINUTES, || world.initialised() == 3).await;
    seconds(60).await;
    clear(&world);
    world.apply_many(SERVICES, 1);
    until("all served", MINUTES, || world.served() == SERVICES).await;
    seconds(60).await;
    let services = u64::try_from(SERVICES).unwrap();
    let single = || {
        world.cloud.sim.with(|cloud| cloud.log().count(Service::Network, &Method::GET, "/v2.0/ports/{id}"))
    };
    let made = cost(&world);
    made.print("12 Services with a security group each, 3 Nodes");
    // The load balancer, its floating IP, the group, its rule, two rules that Neutron gave it, three ports.
    assert_eq!(made.changes, services * 9, "{}", made.detail());
    // OCCM: 30 and the polls, by its own count.
    assert!(made.calls - made.polls <= services * 22, "{}", made.detail());
    assert!(single() <= services, "{}", made.detail());
    clear(&world);
    (0..SERVICES).for_each(|number| world.delete(&format!("web-{number}")));
    until("their end", MINUTES, || world.balancers() == 0).await;
    seconds(60).await;
    let gone = cost(&world);
    gone.print("12 Services with a security group each go");
    assert_eq!(gone.changes, services * 6, "{}", gone.detail());
    assert!(gone.calls - gone.polls <= services * 13, "{}", gone.detail());
    let groups = world.cloud.sim.with(|cloud| {
        let all = cloud.state().network.security_groups.iter();
        all.filter(|group| group.name.starts_with("lb-sg-")).count()
    });
    assert_eq!((groups, world.floating_ips()), (0, 0));
    stack.stop().await;
}
