//! Whose a load balancer and its listeners are.

use super::*;
use crate::config::{Tenancy, TenancySection};

/// A load balancer of another Service, which this one names.
fn shared(name: &'static str, change: impl FnOnce(&mut Wanted, &mut World)) -> Case {
    case(name, |wanted, world| {
        wanted.named = "lb-1".parse().ok();
        world.by = FoundBy::Id;
        OTHER_TAG.clone_into(&mut world.lb().name);
        world.lb().tags = vec![OTHER_TAG.to_owned()];
        world.tree = crate::loadbalancer::found::Tree::default();
        world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
        change(wanted, world);
    })
}

/// The load balancer of the Service from when the cluster was called `before`.
fn renamed(name: &'static str, change: impl FnOnce(&mut Wanted, &mut World)) -> Case {
    case(name, |wanted, world| {
        let before = |text: &str| text.replace("_held_", "_before_");
        wanted.named = "lb-1".parse().ok();
        (world.by, world.recover) = (FoundBy::Id, true);
        world.known_address = "192.0.2.1".parse().ok();
        world.floating[0].description = wanted.names.floating_ip_description_in("before");
        world.lb().name = before(TAG);
        world.lb().tags = vec![before(TAG), "team-a".to_owned()];
        world.listener(80).tags = vec![before(TAG)];
        world.listener(80).name = before(&wanted.listeners[0].name);
        world.pool(0).pool.name = before(&wanted.listeners[0].pool.name);
        let monitor = world.pool(0).monitor.as_mut().unwrap();
        monitor.name = before(&monitor.name);
        change(wanted, world);
    })
}

/// The tags of a load balancer.
fn tags(all: &[&str]) -> Vec<String> {
    all.iter().map(|tag| (*tag).to_owned()).collect()
}

/// A load balancer that a user made, with these tags, and a listener that has the Service's tag. The Service names it.
fn alike(
    name: &'static str,
    tagged: &'static [&'static str],
    change: impl FnOnce(&mut Wanted, &mut World),
) -> Case {
    case(name, |wanted, world| {
        wanted.named = "lb-1".parse().ok();
        world.by = FoundBy::Id;
        "mine".clone_into(&mut world.lb().name);
        world.lb().tags = tags(tagged);
        change(wanted, world);
    })
}

/// The load balancer with the Service's name, in a cluster whose name is so long that names are truncated.
fn truncated(name: &'static str, change: impl FnOnce(&mut World)) -> Case {
    let mut wanted = wanted();
    wanted.names = Names::of(&"c".repeat(250), &service());
    let mut world = World::of(&wanted);
    change(&mut world);
    (name, shortened(world.ensure(&wanted)))
}

/// With truncated names that are easier to read.
fn shortened(mut plan: LoadBalancerPlan) -> LoadBalancerPlan {
    if let Plan::Refuse(refusal) = &mut plan {
        refusal.problems.iter_mut().for_each(|problem| *problem = problem.replace(&"c".repeat(242), "ccc…"));
    }
    plan
}

/// Where a Service of another cluster, or another one of this cluster, may have the same name.
fn contested() -> Vec<Case> {
    const ALL: &[&str] = &[TAG, "bowline-cluster:c2", "bowline-service:s2"];
    const BOTH: &[&str] = &[TAG, OTHER_TAG, "bowline-cluster:c1", "bowline-cluster:c2"];
    vec![
        alike("on a user's load balancer, with the tag of a namesake in another cluster", ALL, |_, _| {}),
        alike("the same, and its status shows an address that is no floating IP", ALL, |_, world| {
            (world.known_address, world.is_vip_unique) = ("10.0.0.100".parse().ok(), false);
        }),
        alike("on a user's load balancer that another cluster uses, with its UID", ALL, |_, world| {
            world.lb().tags.extend(tags(&["bowline-cluster:c1", "bowline-service:s1"]));
        }),
        alike("on a user's load balancer that another cluster uses, by OCCM", ALL, |_, world| {
            world.known_address = "192.0.2.1".parse().ok();
        }),
        case("of its name, and two clusters use it", |_, world| world.lb().tags = tags(BOTH)),
        case("of its name, and two clusters use it, with its UID", |_, world| {
            world.lb().tags = tags(BOTH);
            world.lb().tags.push("bowline-service:s1".to_owned());
        }),
        case("of its name, and two clusters use it, and its status shows it", |_, world| {
            world.lb().tags = tags(BOTH);
            world.known_address = "10.0.0.100".parse().ok();
        }),
        case("of its name, with the UID of another Service, and two clusters use it", |_, world| {
            world.lb().tags = tags(&[TAG, "bowline-cluster:c1", "bowline-cluster:c2", "bowline-service:s2"]);
            world.known_address = "10.0.0.100".parse().ok();
        }),
        shared("joins one with a name of this cluster that another cluster uses as well", |_, world| {
            world.lb().tags = tags(&[OTHER_TAG, "bowline-cluster:c1", "bowline-cluster:c2"]);
        }),
        truncated("of its truncated name, as it was made", |_| {}),
        truncated("of its truncated name, with a description only", |world| world.lb().tags.truncate(1)),
        truncated("of its truncated name, with the description of another", |world| {
            world.lb().tags.truncate(1);
            "Kubernetes external service default/other".clone_into(&mut world.lb().description);
        }),
        truncated("of its truncated name, by its tag on a user's load balancer", |world| {
            (world.by, world.lb().tags) = (FoundBy::Id, world.lb().tags[..1].to_vec());
            "mine".clone_into(&mut world.lb().name);
        }),
    ]
}

pub(in super::super) fn ownership() -> Vec<Case> {
    let mut cases = vec![
        case("made by OCCM, without our own tags", |_, world| world.lb().tags.truncate(1)),
        case("its tag is missing", |_, world| world.lb().tags = vec!["team-a".to_owned(), String::new()]),
        case("of the name that Kubernetes' own provider gave", |_, world| {
            world.by = FoundBy::LegacyName;
            LEGACY.clone_into(&mut world.lb().name);
            world.lb().tags.clear();
            world.listener(80).tags.clear();
        }),
        case("of another cluster with the same name", |_, world| {
            world.lb().tags = vec![TAG.to_owned(), "bowline-cluster:c2".to_owned()];
        }),
        case("of an earlier Service of its name", |_, world| {
            world.lb().tags =
                vec![TAG.to_owned(), "bowline-cluster:c1".to_owned(), "bowline-service:s0".to_owned()];
        }),
        case("of an earlier Service of its name, shared with another", |_, world| {
            world.lb().tags = vec![TAG.to_owned(), OTHER_TAG.to_owned(), "bowline-service:s0".to_owned()];
        }),
        shared("it joins the load balancer of another Service and asks for tags of it", |wanted, _| {
            let all = vec!["env=prod".to_owned()];
            wanted.extra_tags = ExtraTags { balancer: all.clone(), listener: all.clone(), pool: all };
        }),
        shared("it is on the load balancer of another Service and asks for tags of it", |wanted, world| {
            let all = vec!["env=prod".to_owned()];
            wanted.extra_tags = ExtraTags { balancer: all.clone(), listener: all.clone(), pool: all };
            world.lb().tags.push(TAG.to_owned());
        }),
        case("several Services on its own load balancer", |_, world| {
            world.lb().tags.push(OTHER_TAG.to_owned());
            world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
        }),
        case("a port that another Service has", |wanted, world| {
            wanted.listeners.push(listener(1, Protocol::Tcp, 8080));
            world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
        }),
        case("a port that another Service has with another protocol", |wanted, world| {
            wanted.listeners.push(listener(1, Protocol::Http, 8080));
            world.foreign_listener("TERMINATED_HTTPS", 8080, &[OTHER_TAG]);
        }),
        case("a port that another Service has for UDP", |wanted, world| {
            wanted.listeners.push(listener(1, Protocol::Tcp, 8080));
            world.foreign_listener("UDP", 8080, &[OTHER_TAG]);
        }),
        case("a port that another Service has, and a Node joined", |wanted, world| {
            wanted.listeners[0].pool.members.change(|all| all.push(member(3, 30080)));
            wanted.listeners.push(listener(1, Protocol::Tcp, 8080));
            world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
        }),
        case("a listener without tags that is not wanted", |_, world| {
            world.foreign_listener("TCP", 8080, &[]);
        }),
        case("a listener without tags that is not wanted, with a name of the Service", |_, world| {
            world.named_listener("listener_1_kube_service_held_default_web", "TCP", 8080, &[]);
        }),
        case(
            "a listener without tags that is not wanted, with the name that an early OCCM gave",
            |_, world| {
                world.named_listener("listener_kube_service_held_default_web_1", "TCP", 8080, &[""]);
            },
        ),
        case("a listener without tags that is not wanted, with the name of another Service", |_, world| {
            world.named_listener("listener_1_kube_service_held_default_other", "TCP", 8080, &[]);
        }),
        case("a listener without tags of another protocol where ours shall be", |wanted, world| {
            wanted.listeners.push(listener(1, Protocol::Http, 8080));
            world.foreign_listener("TCP", 8080, &[]);
        }),
        case("somebody's listener with a tag of his own that is not wanted", |_, world| {
            world.foreign_listener("TCP", 8080, &["team-a"]);
        }),
        case("somebody's listener of another protocol where ours shall be", |wanted, world| {
            wanted.listeners.push(listener(1, Protocol::Http, 8080));
            world.foreign_listener("TCP", 8080, &["team-a"]);
        }),
        case("a Service that never had one names one that is not there", |wanted, world| {
            wanted.named = "lb-0".parse().ok();
            *world = World { gone: true, ..World::empty() };
        }),
        case("a Service names its load balancer, which is gone", |wanted, world| {
            wanted.named = "lb-0".parse().ok();
            *world = World { gone: true, recover: true, ..World::empty() };
        }),
        ("two of the same name", {
            let wanted = wanted();
            let namesakes = vec!["lb-1".parse().unwrap(), "lb-2".parse().unwrap()];
            super::super::ensure(&wanted, &Found { namesakes, ..Found::default() })
        }),
    ];
    cases.extend(sharing());
    cases.extend(renaming());
    cases.extend(contested());
    cases
}

fn sharing() -> Vec<Case> {
    vec![
        shared("joins", |_, _| {}),
        shared("joined, and its listener is missing", |_, world| world.lb().tags.push(TAG.to_owned())),
        shared("there are as many as may share", |_, world| {
            world.lb().tags.push("kube_service_held_default_third".to_owned());
        }),
        shared("there are more than may join, and it is on it already", |_, world| {
            world.lb().tags.extend([TAG.to_owned(), "kube_service_held_default_third".to_owned()]);
        }),
        shared("a cloud without tags", |wanted, _| wanted.balancer.tagged = false),
        shared("an internal Service", |wanted, _| {
            wanted.address = WantedAddress::Own { keep_floating_ip: false }
        }),
        shared("several reasons against it at once", |wanted, _| {
            wanted.address = WantedAddress::Own { keep_floating_ip: false };
            wanted.most_sharers = 1;
        }),
        shared("joins, and its port is taken", |_, world| world.foreign_listener("TCP", 80, &[OTHER_TAG])),
        shared("joins, and a listener without tags has its port", |_, world| {
            world.foreign_listener("TCP", 80, &[]);
        }),
        shared("joins, and there is no floating IP", |_, world| world.floating.clear()),
        shared("joined, there is no floating IP, and its listener is missing", |_, world| {
            world.floating.clear();
            world.lb().tags.push(TAG.to_owned());
        }),
        shared(
            "its owner has left, there is no floating IP, and it is the first of those who stay",
            |_, world| {
                world.floating.clear();
                world.lb().tags = vec![TAG.to_owned(), "kube_service_held_default_xyz".to_owned()];
            },
        ),
        shared("its owner has left, and the floating IP is there and leads nowhere", |wanted, world| {
            world.floating.clear();
            world.float("192.0.2.5", None, &wanted.names.floating_ip_description());
            world.lb().tags = vec![TAG.to_owned()];
        }),
        shared("its owner has left, there is no floating IP, and another is the first", |_, world| {
            world.floating.clear();
            world.lb().tags = vec![TAG.to_owned(), "kube_service_held_default_abc".to_owned()];
        }),
        shared("a load balancer that a user made, without a floating IP", |_, world| {
            world.floating.clear();
            "mine".clone_into(&mut world.lb().name);
        }),
        shared("Octavia gave the shared one up", |_, world| {
            world.lb().provisioning_status = ProvisioningStatus::Error;
        }),
        shared("Octavia is at work on the shared one", |_, world| {
            world.lb().provisioning_status = ProvisioningStatus::PendingUpdate;
        }),
        shared("of another cluster, by tag: its tags stay", |wanted, world| {
            let rule = TenancySection { join_other_clusters: Some(true), ..TenancySection::default() };
            let rules = Tenancy(BTreeMap::from([(String::new(), rule)]));
            wanted.ownership.tenancy = Arc::new(rules);
            world.lb().tags.push("bowline-cluster:c2".to_owned());
        }),
    ]
}

fn renaming() -> Vec<Case> {
    vec![
        renamed("the cluster was renamed", |_, _| {}),
        renamed("the cluster was renamed, and another Service of it is on it", |_, world| {
            world.lb().tags.push("kube_service_before_default_other".to_owned());
            world.foreign_listener("TCP", 8080, &["kube_service_before_default_other"]);
        }),
        renamed("the cluster was renamed, and a Service of another cluster is on it", |_, world| {
            world.lb().tags.push("kube_service_third_default_web".to_owned());
            world.foreign_listener("TCP", 8080, &["kube_service_third_default_web"]);
        }),
        renamed("the cluster was renamed, and Octavia is at work", |_, world| {
            world.lb().provisioning_status = ProvisioningStatus::PendingUpdate;
        }),
        renamed("the namesake of another cluster, named by annotations alone", |_, world| {
            world.known_address = None;
        }),
        renamed("the namesake of another cluster, and the status shows another address", |_, world| {
            world.known_address = "192.0.2.200".parse().ok();
        }),
        renamed(
            "the namesake of another cluster, and the Service has a load balancer of its own",
            |_, world| {
                world.has_own = true;
            },
        ),
        renamed(
            "the status is lost, and an administrator says what the cluster was called",
            |wanted, world| {
                world.known_address = None;
                wanted.names = wanted.names.clone().with_former_clusters(&["before".to_owned()]);
            },
        ),
        renamed("the cluster was renamed, and the Service is internal", |wanted, world| {
            wanted.address = WantedAddress::Own { keep_floating_ip: false };
            world.floating.clear();
            world.known_address = "10.0.0.100".parse().ok();
        }),
        renamed("the same, and another network has the same addresses", |wanted, world| {
            wanted.address = WantedAddress::Own { keep_floating_ip: false };
            world.floating.clear();
            (world.known_address, world.is_vip_unique) = ("10.0.0.100".parse().ok(), false);
        }),
        renamed("the namesake of another cluster, by its tag", |_, world| {
            world.lb().tags.push("bowline-cluster:c2".to_owned());
        }),
        renamed("the namesake of another cluster, which the Service is on already", |_, world| {
            world.lb().tags.push(TAG.to_owned());
        }),
        renamed("of another Service of a cluster of another name", |_, world| {
            "kube_service_before_default_other".clone_into(&mut world.lb().name);
        }),
    ]
}
