//! All of it on the simulator: looks, plans and steps, and how many calls they take.

use std::time::Duration;

use bowline_cloud::{CloudError, ErrorClass, NodeSet, ServiceView};
use futures::future::join;
use http::{Method, Uri};
use openstack_client::network::{Network, SecurityGroupCreate, Tagged};
use openstack_client::{PortId, ProjectId, SecurityGroupId, SubnetId};
use sim_openstack::network::{Port as SimPort, add_group as new_group};
use sim_openstack::{Config, Fault, Rule, Service};

use super::{NAME, intent, node, nodes, service};
use crate::error::cloud_error;
use crate::instances::simulation::Simulation;
use crate::loadbalancer::execute::PortTurns;
use crate::loadbalancer::execute::port::{add_group, remove_group};
use crate::loadbalancer::group::{
    Asked, GroupError, LeftOvers, Observed, SubnetRanges, Targets, WantedGroup, ensure_steps, observe,
    observe_many, removal_steps,
};
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::wanted::MemberSubnets;

/// The group that every server of the estate has.
const BASE: &str = "k8s-nodes";

/// A project with servers, and what a process keeps.
struct World {
    simulation: Simulation,
    ranges: SubnetRanges,
    turns: PortTurns,
    project: ProjectId,
}

impl World {
    fn new(servers: usize) -> Self {
        Self::of(Simulation::new(Config::default(), servers))
    }

    fn of(simulation: Simulation) -> Self {
        let project = ProjectId::new(simulation.estate.project.as_str()).unwrap();
        let (ranges, turns) = (SubnetRanges::default(), PortTurns::default());
        Self { simulation, ranges, turns, project }
    }

    fn network(&self) -> Network {
        self.simulation.client.network()
    }

    /// The port of a server.
    fn port(&self, index: usize) -> SimPort {
        self.simulation.port(&self.simulation.estate.servers[index]).unwrap()
    }

    /// The Nodes of these servers.
    fn nodes(&self, servers: impl IntoIterator<Item = usize>) -> NodeSet {
        nodes(servers.into_iter().map(|index| {
            let server = &self.simulation.estate.servers[index];
            node(&format!("node-{}", index + 1), Some(server), &[&self.port(index).fixed_ips[0].ip_address])
        }))
    }

    fn members(&self) -> MemberSubnets {
        let subnet = SubnetId::new(self.simulation.estate.subnet.as_str()).unwrap();
        MemberSubnets { all: Some(subnet), ..MemberSubnets::default() }
    }

    fn targets(&self, service: &ServiceView, nodes: &NodeSet) -> Targets {
        Targets::of(&intent(service), nodes, &self.members())
    }

    async fn observe(&self, name: &str, targets: &Targets) -> Result<Observed, GroupError> {
        let asked = Asked { name, targets, made: None, untouched: None, list_is_proof: true };
        let observed = observe(&self.network(), &self.project, asked).await?;
        self.turns.sees(observed.found.iter().flat_map(|found| &found.ports).chain(&observed.ports));
        Ok(observed)
    }

    async fn wanted(&self, service: &ServiceView, targets: &Targets, observed: &Observed) -> WantedGroup {
        let ranges = self.ranges.of(&self.network(), &targets.subnets(&observed.ports)).await.unwrap();
        WantedGroup::of(&intent(service), targets, &observed.ports, &ranges, false).unwrap()
    }

    /// One look and the steps that follow from it.
    async fn plan(&self, service: &ServiceView, nodes: &NodeSet) -> Vec<CloudStep> {
        let targets = self.targets(service, nodes);
        let observed = self.observe(&intent(service).names.security_group(), &targets).await.unwrap();
        let wanted = self.wanted(service, &targets, &observed).await;
        ensure_steps(Some(&wanted), observed.found.as_ref()).into_iter().map(|planned| planned.step).collect()
    }

    /// Looks and acts until there is nothing to do; how many rounds it took.
    async fn ensure(&self, service: &ServiceView, nodes: &NodeSet) -> usize {
        for round in 0..5 {
            let steps = self.plan(service, nodes).await;
            if steps.is_empty() {
                return round;
            }
            for step in steps {
                self.perform(&step.action).await.unwrap();
            }
        }
        panic!("it does not come to rest");
    }

    /// The requests of something, such as `2 GET /v2.0/ports`.
    async fn counted<T>(&self, work: impl Future<Output = T>) -> (T, Vec<String>) {
        self.simulation.sim.with(|cloud| cloud.log_mut().clear());
        let result = work.await;
        (result, self.simulation.counts())
    }

    fn edit_port(&self, index: usize, change: impl FnOnce(&mut SimPort)) {
        let id = self.port(index).id;
        self.simulation.edit(|state| {
            state.network.ports.update(&id, change).unwrap();
        });
    }

    /// Does what a step says, and nothing else.
    async fn perform(&self, action: &Action) -> Result<(), CloudError> {
        let (network, turns) = (self.network(), &self.turns);
        let result = match action {
            Action::CreateGroup { name, description } => {
                let group = SecurityGroupCreate { name: name.clone(), description: description.clone() };
                network.create_security_group(&group).await.map(drop)
            }
            Action::CreateRules(_, rules) => network.create_security_group_rules(rules).await.map(drop),
            Action::DeleteRule(id, _) => network.delete_security_group_rule(id).await,
            Action::AddPortGroup { port, group } => return add_group(&network, turns, port, group).await,
            Action::RemovePortGroup { port, group } => {
                return remove_group(&network, turns, port, group).await;
            }
            Action::DeletePortTag { port, tag } => network.remove_tag(Tagged::Port(port), tag).await,
            Action::DeleteGroup(id) => network.delete_security_group(id).await,
            other => panic!("not a step of a group: {other:?}"),
        };
        result.map_err(cloud_error)
    }

    /// Somebody else gives the first port a group of theirs.
    fn add_theirs(&self, name: &str) {
        let project = &self.simulation.estate.project;
        let theirs = self.simulation.sim.with(|cloud| new_group(cloud.world(), project, name));
        self.edit_port(0, |port| {
            port.security_groups.push(theirs);
            port.revision_number += 1;
        });
    }

    fn group(&self, name: &str) -> SecurityGroupId {
        self.simulation.look(|state| {
            let groups = &state.network.security_groups;
            let found = groups.iter().find(|group| group.name == name).unwrap();
            SecurityGroupId::new(found.id.as_str()).unwrap()
        })
    }

    /// The names of the groups of a server's port.
    fn groups(&self, index: usize) -> Vec<String> {
        let port = self.port(index);
        self.simulation.look(|state| {
            let groups = &state.network.security_groups;
            port.security_groups.iter().map(|id| groups.get(id).unwrap().name.clone()).collect()
        })
    }

    /// The rules of all groups of this name.
    fn rules(&self, name: &str) -> Vec<String> {
        self.simulation.look(|state| {
            let state = &state.network;
            let groups = state.security_groups.iter().filter(|group| group.name == name);
            let rules = groups.flat_map(|group| state.rules.find("security_group_id", &group.id));
            rules
                .map(|rule| {
                    let (protocol, from) = (rule.protocol.as_deref(), rule.remote_ip_prefix.as_deref());
                    let port = (rule.port_range_min, rule.port_range_max);
                    format!("{} {} {protocol:?} {port:?} {from:?}", rule.direction, rule.ethertype)
                })
                .collect()
        })
    }
}

/// Another Service of the same Nodes.
fn other() -> ServiceView {
    ServiceView { name: "api".into(), uid: "99999999-2222-3333-4444-555555555555".into(), ..service() }
}

const OTHER: &str = "lb-sg-99999999-2222-3333-4444-555555555555-default-api";

#[tokio::test(start_paused = true)]
async fn fifty_nodes_get_the_group_and_every_look_takes_the_same_few_reads() {
    let world = World::new(50);
    let all = world.nodes(0..50);
    let (rounds, calls) = world.counted(world.ensure(&service(), &all)).await;
    assert_eq!(rounds, 2, "the group first, then its rules and ports");
    let subnet = world
        .simulation
        .look(|state| state.network.subnets.get(&world.simulation.estate.subnet).unwrap().cidr.clone());
    let rule = format!("ingress IPv4 Some(\"tcp\") (Some(30080), Some(30080)) Some({subnet:?})");
    assert_eq!(world.rules(NAME), [rule], "no way out is left of the two of a new group");
    assert!((0..50).all(|index| world.groups(index) == [BASE, NAME]));
    let writes: Vec<&String> =
        calls.iter().filter(|call| !call.contains(" GET ") && call.contains("/v2.0/")).collect();
    assert_eq!(
        writes,
        [
            "2 DELETE /v2.0/security-group-rules/{id}",
            "1 POST /v2.0/security-group-rules",
            "1 POST /v2.0/security-groups",
            "50 PUT /v2.0/ports/{id}"
        ]
    );
    let reads: Vec<&String> = calls.iter().filter(|call| call.contains(" GET /v2.0/")).collect();
    assert_eq!(
        reads,
        ["4 GET /v2.0/ports", "3 GET /v2.0/security-groups", "1 GET /v2.0/subnets/{id}"],
        "three looks, and no port is read again before it is written"
    );
    let (steps, calls) = world.counted(world.plan(&service(), &all)).await;
    assert!(steps.is_empty());
    assert_eq!(calls, ["1 GET /v2.0/ports", "1 GET /v2.0/security-groups"], "at rest");
}

#[tokio::test(start_paused = true)]
async fn the_port_of_a_departed_node_loses_the_group_and_keeps_the_others() {
    let world = World::new(3);
    world.ensure(&service(), &world.nodes(0..3)).await;
    assert_eq!(world.ensure(&service(), &world.nodes(0..2)).await, 1);
    assert_eq!(world.groups(2), [BASE]);
    assert_eq!(world.groups(1), [BASE, NAME]);
    assert_eq!(world.ensure(&service(), &world.nodes(0..3)).await, 1, "it comes back");
    assert_eq!(world.groups(2), [BASE, NAME]);
}

#[tokio::test(start_paused = true)]
async fn a_change_by_somebody_else_is_not_lost() {
    let world = World::new(1);
    let nodes = world.nodes([0]);
    for step in world.plan(&service(), &nodes).await {
        world.perform(&step.action).await.unwrap();
    }
    let steps = world.plan(&service(), &nodes).await;
    // Between our look and our step somebody gives the port a group of theirs…
    world.add_theirs("early");
    // …so that what we saw of it is refused. And another one after we have read the port and before we write it.
    let late = Rule::new(Fault::Slow(Duration::from_secs(2))).on(Service::Network).method(Method::GET);
    world.simulation.fault(late.path("/v2.0/ports/{id}").times(1));
    let act = async {
        for step in &steps {
            world.perform(&step.action).await.unwrap();
        }
    };
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.add_theirs("late");
    };
    let (((), ()), calls) = world.counted(join(act, meanwhile)).await;
    assert_eq!(world.groups(0), [BASE, "early", "late", NAME]);
    let refused_and_again = ["2 GET /v2.0/ports/{id}", "3 PUT /v2.0/ports/{id}"];
    assert!(refused_and_again.iter().all(|call| calls.iter().any(|made| made == call)), "{calls:?}");
    assert_eq!(world.ensure(&service(), &nodes).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_port_that_somebody_changes_all_the_time_is_left_to_the_next_look() {
    let world = World::new(1);
    let nodes = world.nodes([0]);
    for step in world.plan(&service(), &nodes).await {
        world.perform(&step.action).await.unwrap();
    }
    let steps = world.plan(&service(), &nodes).await;
    let stale = Fault::status(http::StatusCode::PRECONDITION_FAILED);
    world.simulation.fault(Rule::new(stale).on(Service::Network).method(Method::PUT));
    let add = &steps.last().unwrap().action;
    let (refused, calls) = world.counted(world.perform(add)).await;
    assert_eq!(refused.unwrap_err().class(), ErrorClass::Conflict);
    // As it was seen by the look, and three times as it was read.
    assert_eq!(calls, ["3 GET /v2.0/ports/{id}", "4 PUT /v2.0/ports/{id}"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_so_already_is_not_written_and_a_port_that_is_gone_has_no_group() {
    let world = World::new(2);
    world.ensure(&service(), &world.nodes(0..2)).await;
    let group = world.group(NAME);
    let port = |index: usize| PortId::new(world.port(index).id).unwrap();
    let add = Action::AddPortGroup { port: port(0), group: group.clone() };
    let (added, calls) = world.counted(world.perform(&add)).await;
    added.unwrap();
    assert_eq!(calls, ["1 GET /v2.0/ports/{id}"]);
    let remove = Action::RemovePortGroup { port: port(1), group };
    world.perform(&remove).await.unwrap();
    let (removed, calls) = world.counted(world.perform(&remove)).await;
    removed.unwrap();
    assert_eq!(calls, ["1 GET /v2.0/ports/{id}"]);
    world.simulation.remove(1);
    world.perform(&remove).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_services_share_the_port_of_a_node_and_one_leaves_it_to_the_other() {
    let world = World::new(1);
    let nodes = world.nodes([0]);
    world.ensure(&service(), &nodes).await;
    world.ensure(&other(), &nodes).await;
    assert_eq!(world.groups(0), [BASE, NAME, OTHER]);
    let id = world.group(NAME);
    world.edit_port(0, |port| port.tags = vec!["mine".to_owned(), id.to_string()]);
    let found = world.observe(NAME, &Targets::default()).await.unwrap().found.unwrap();
    for planned in removal_steps(&found) {
        world.perform(&planned.step.action).await.unwrap();
    }
    let mut left = world.groups(0);
    left.sort();
    assert_eq!(left, [BASE, OTHER]);
    assert_eq!(world.port(0).tags, ["mine"]);
    assert_eq!(world.rules(NAME), [""; 0]);
    assert!(world.observe(NAME, &Targets::default()).await.unwrap().found.is_none());
    assert_eq!(world.ensure(&other(), &nodes).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_port_without_port_security_and_the_second_nic_of_a_node_are_left_alone() {
    let world = World::new(2);
    let nodes = world.nodes(0..2);
    world.edit_port(0, |port| {
        port.port_security_enabled = false;
        port.security_groups.clear();
    });
    let mut second = world.port(1);
    second.id = "5ec0d111-0000-4000-8000-000000000000".to_owned();
    second.fixed_ips[0].ip_address = "10.99.0.5".to_owned();
    second.fixed_ips[0].subnet_id = "5ec0d222-0000-4000-8000-000000000000".to_owned();
    let second_id = second.id.clone();
    world.simulation.edit(|state| state.network.ports.insert(second));
    world.ensure(&service(), &nodes).await;
    let having = world.simulation.look(|state| {
        let state = &state.network;
        let group = state.security_groups.iter().find(|group| group.name == NAME).unwrap().id.clone();
        state.ports.find_ids("security_groups", &group)
    });
    assert_eq!(having.len(), 1);
    assert_ne!(having[0], second_id);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_was_cut_takes_the_group_from_nobody() {
    let world = World::new(3);
    let nodes = world.nodes(0..3);
    world.ensure(&service(), &nodes).await;
    for skip in 0..2 {
        let cut = Rule::new(Fault::TruncateList { keep: 1 }).on(Service::Network).path("/v2.0/ports");
        world.simulation.fault(cut.after(skip).times(1));
        assert!(world.plan(&service(), &nodes).await.is_empty());
        let targets = world.targets(&service(), &nodes);
        let asked =
            [Asked { name: NAME, targets: &targets, made: None, untouched: None, list_is_proof: true }];
        let observed = observe_many(&world.network(), &world.project, &asked).await.unwrap();
        let observed = observed[0].as_ref().unwrap();
        let wanted = world.wanted(&service(), &targets, observed).await;
        assert!(ensure_steps(Some(&wanted), observed.found.as_ref()).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn two_groups_of_one_name_are_an_error_that_names_both_and_touches_no_other_service() {
    let world = World::new(1);
    let nodes = world.nodes([0]);
    let create = SecurityGroupCreate { name: NAME.to_owned(), description: String::new() };
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(world.network().create_security_group(&create).await.unwrap().id);
    }
    let targets = world.targets(&service(), &nodes);
    let error = world.observe(NAME, &targets).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    assert!(ids.iter().all(|id| error.to_string().contains(id.as_str())), "{error}");
    let asked = [
        Asked { name: NAME, targets: &targets, made: None, untouched: None, list_is_proof: true },
        Asked { name: OTHER, targets: &targets, made: None, untouched: None, list_is_proof: true },
    ];
    let observed = observe_many(&world.network(), &world.project, &asked).await.unwrap();
    assert!(matches!(observed[0], Err(GroupError::Several { .. })));
    assert!(observed[1].as_ref().is_ok_and(|observed| observed.found.is_none()));
}

/// Groups without their rules.
fn without_rules(uri: Uri) -> Uri {
    if !uri.path().ends_with("/security-groups") {
        return uri;
    }
    let query = uri.query().map_or(String::new(), |query| format!("{query}&"));
    let host = uri.authority().map_or("", |authority| authority.as_str());
    format!("http://{host}{}?{query}fields=id&fields=name&fields=project_id", uri.path()).parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_does_not_show_rules_within_groups_is_asked_for_them() {
    let world = World::of(Simulation::asked(Config::default(), 1, without_rules));
    let nodes = world.nodes([0]);
    assert_eq!(world.ensure(&service(), &nodes).await, 2);
    assert_eq!(world.rules(NAME).len(), 1);
    let (steps, calls) = world.counted(world.plan(&service(), &nodes)).await;
    assert!(steps.is_empty());
    let rules = "1 GET /v2.0/security-group-rules";
    assert_eq!(calls, ["1 GET /v2.0/ports", rules, "1 GET /v2.0/security-groups"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_list_is_an_error_and_never_a_missing_group() {
    let world = World::new(1);
    let targets = world.targets(&service(), &world.nodes([0]));
    world.simulation.fault(Rule::new(Fault::not_found_lie()).on(Service::Network).times(1));
    let error = world.observe(NAME, &targets).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient, "{error}");
}

#[tokio::test(start_paused = true)]
async fn twenty_services_on_fifty_nodes_are_seen_with_two_lists_and_as_one_by_one() {
    let world = World::new(50);
    let all = world.nodes(0..50);
    world.ensure(&service(), &all).await;
    let targets = world.targets(&service(), &all);
    let names: Vec<String> = (0..19).map(|number| format!("lb-sg-{number}")).collect();
    let asked: Vec<Asked<'_>> = names
        .iter()
        .map(String::as_str)
        .chain([NAME])
        .map(|name| Asked { name, targets: &targets, made: None, untouched: None, list_is_proof: true })
        .collect();
    let (observed, calls) = world.counted(observe_many(&world.network(), &world.project, &asked)).await;
    assert_eq!(calls, ["1 GET /v2.0/ports", "1 GET /v2.0/security-groups"]);
    let observed = observed.unwrap();
    assert!(
        observed[..19]
            .iter()
            .all(|one| one.as_ref().is_ok_and(|one| one.found.is_none() && one.ports.len() == 50))
    );
    let one = world.observe(NAME, &targets).await.unwrap();
    let many = observed[19].as_ref().unwrap();
    assert_eq!(many.ports, one.ports);
    let (many, one) = (many.found.as_ref().unwrap(), one.found.unwrap());
    assert_eq!((&many.group, &many.ports), (&one.group, &one.ports));
    let (nothing, calls) = world.counted(observe_many(&world.network(), &world.project, &[])).await;
    assert!(nothing.unwrap().is_empty() && calls.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_few_new_nodes_cost_one_more_list_of_their_ports() {
    let world = World::new(5);
    world.ensure(&service(), &world.nodes(0..3)).await;
    let all = world.nodes(0..5);
    let (steps, calls) = world.counted(world.plan(&service(), &all)).await;
    assert_eq!(steps.len(), 2);
    assert_eq!(calls, ["2 GET /v2.0/ports", "1 GET /v2.0/security-groups"]);
    let asked = world.simulation.sim.with(|cloud| {
        cloud
            .log()
            .entries()
            .filter(|entry| entry.target.contains("device_id="))
            .map(|entry| entry.target.clone())
            .last()
    });
    assert_eq!(asked.unwrap().matches("device_id=").count(), 2, "only theirs");
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_time_with_groups_is_found_with_one_list_for_all_services() {
    let world = World::new(2);
    world.ensure(&service(), &world.nodes(0..2)).await;
    let left = LeftOvers::default();
    let (network, project) = (world.network(), &world.project);
    let clean = async {
        for number in 0..30 {
            let name = format!("lb-sg-{number}-default-other");
            assert!(left.find(&network, project, &name).await.unwrap().is_none());
        }
    };
    let ((), calls) = world.counted(clean).await;
    assert_eq!(calls, ["1 GET /v2.0/security-groups"]);
    let found = left.find(&network, project, NAME).await.unwrap().unwrap();
    assert_eq!(found.ports.len(), 2);
    for planned in ensure_steps(None, Some(&found)) {
        world.perform(&planned.step.action).await.unwrap();
    }
    assert_eq!((world.groups(0), world.rules(NAME).len()), (vec![BASE.to_owned()], 0));
    let (again, calls) = world.counted(left.find(&network, project, NAME)).await;
    assert!(again.unwrap().is_none());
    assert_eq!(calls, ["1 GET /v2.0/security-groups"], "that it is gone is seen");
    let (again, calls) = world.counted(left.find(&network, project, NAME)).await;
    assert!(again.unwrap().is_none() && calls.is_empty(), "and it is not looked for again");
}

#[tokio::test(start_paused = true)]
async fn a_failed_first_look_for_left_overs_is_made_again() {
    let world = World::new(1);
    world.ensure(&service(), &world.nodes([0])).await;
    let left = LeftOvers::default();
    world.simulation.fault(Rule::new(Fault::forbidden()).on(Service::Network).times(1));
    assert!(left.find(&world.network(), &world.project, NAME).await.is_err());
    assert!(left.find(&world.network(), &world.project, NAME).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_subnet_that_is_gone_is_told_and_one_that_is_known_is_not_read_again() {
    let world = World::new(1);
    let own = [SubnetId::new(world.simulation.estate.subnet.as_str()).unwrap()].into();
    world.ranges.of(&world.network(), &own).await.unwrap();
    let (again, calls) = world.counted(world.ranges.of(&world.network(), &own)).await;
    assert!(again.unwrap().len() == 1 && calls.is_empty());
    let gone = [SubnetId::new("5ec0d222-0000-4000-8000-000000000000").unwrap()].into();
    let error = world.ranges.of(&world.network(), &gone).await.unwrap_err();
    assert!(matches!(error, GroupError::NoRange { .. }), "{error}");
    assert_eq!(error.class(), ErrorClass::Invalid);
}
