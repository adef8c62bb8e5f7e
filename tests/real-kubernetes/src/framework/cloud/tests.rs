//! The cloud notices what it is there to notice.

use super::*;
use crate::framework::protocol::{Hosts, Settings};

fn ask(cloud: &mut Cloud, caller: u32, call: Call) -> Reply {
    cloud.answer(Request { caller, call })
}

fn create(owner: &str) -> Call {
    Call::CreateBalancer { owner: owner.to_owned(), name: "lb".to_owned(), settings: Settings::new() }
}

#[test]
fn a_second_load_balancer_of_one_service_is_a_wrong_and_one_each_is_not() {
    let mut cloud = Cloud::default();
    ask(&mut cloud, 1, create("a"));
    ask(&mut cloud, 1, create("b"));
    assert!(cloud.record.wrongs.is_empty());
    ask(&mut cloud, 1, create("a"));
    assert_eq!(cloud.record.wrongs, ["a second load balancer for Service a"]);
    assert_eq!(cloud.record.changes["create balancer"], 3);
}

#[test]
fn a_change_of_what_is_not_there_or_not_ones_own_or_of_nothing_is_a_wrong() {
    let mut cloud = Cloud::default();
    ask(&mut cloud, 1, create("a"));
    let id = cloud.balancers.values().next().unwrap().id;
    let hosts = |owner: &str, hosts: Hosts| Call::SetHosts { balancer: id, owner: owner.to_owned(), hosts };
    ask(&mut cloud, 1, hosts("a", Hosts::from([("n".to_owned(), "scripted://n".to_owned())])));
    assert!(cloud.record.wrongs.is_empty());
    ask(&mut cloud, 1, hosts("b", Hosts::new()));
    ask(&mut cloud, 1, hosts("a", Hosts::new()));
    ask(&mut cloud, 1, Call::DeleteBalancer { balancer: id + 9, owner: "a".to_owned() });
    assert_eq!(cloud.record.wrongs.len(), 4, "{:?}", cloud.record.wrongs);
}

#[test]
fn two_processes_that_change_things_in_turns_are_a_wrong_and_one_after_the_other_is_not() {
    let mut cloud = Cloud::default();
    ask(&mut cloud, 1, create("a"));
    ask(&mut cloud, 2, create("b"));
    ask(&mut cloud, 1, Call::Machines);
    assert!(cloud.record.wrongs.is_empty());
    ask(&mut cloud, 1, create("c"));
    assert_eq!(cloud.record.wrongs.len(), 1);
}
