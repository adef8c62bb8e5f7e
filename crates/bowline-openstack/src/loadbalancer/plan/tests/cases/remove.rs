//! A Service goes.

use super::*;

const OURS: &str = "Floating IP for Kubernetes external service default/web from cluster held";
const FORMER_OWNERS: &str = "Floating IP for Kubernetes external service default/other from cluster held";

fn goes(name: &'static str, change: impl FnOnce(&mut Removal, &mut World)) -> Case {
    let (mut removal, mut world) = (removal(), World::of(&wanted()));
    world.recover = true;
    change(&mut removal, &mut world);
    (name, world.remove(&removal))
}

/// Another Service is on the load balancer too.
fn shared(name: &'static str, change: impl FnOnce(&mut Removal, &mut World)) -> Case {
    goes(name, |removal, world| {
        world.lb().tags.push(OTHER_TAG.to_owned());
        world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
        change(removal, world);
    })
}

/// On a load balancer with this name, which the Service names.
fn named(name: &'static str, called: &'static str, tags: &'static [&'static str]) -> Case {
    goes(name, |_, world| {
        world.by = FoundBy::Id;
        called.clone_into(&mut world.lb().name);
        world.lb().tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    })
}

pub(in super::super) fn remove() -> Vec<Case> {
    let status = |status: &'static str| {
        move |_: &mut Removal, world: &mut World| world.lb().provisioning_status = status.into()
    };
    let mut cases = vec![
        goes("all goes", |_, _| {}),
        goes("all goes, one after the other", |removal, _| removal.cascade = false),
        goes("the floating IP is kept", |removal, _| removal.keep_floating_ip = true),
        goes("the floating IP is a user's", |_, world| {
            "by hand".clone_into(&mut world.floating[0].description);
        }),
        goes("Octavia gave it up: it goes at once", |removal, world| {
            removal.cascade = false;
            world.lb().provisioning_status = ProvisioningStatus::Error;
        }),
        goes("it is being created", status("PENDING_CREATE")),
        goes("it is being changed", status("PENDING_UPDATE")),
        goes("it is being deleted, without a floating IP", |_, world| {
            world.lb().provisioning_status = ProvisioningStatus::PendingDelete;
            world.floating.clear();
        }),
        goes("Octavia only remembers it", |_, world| {
            world.lb().provisioning_status = ProvisioningStatus::Deleted;
            world.floating.clear();
        }),
        goes("there is nothing", |_, world| *world = World::empty()),
        goes("floating IPs are left", |_, world| {
            *world = World::empty();
            world.float("192.0.2.4", None, OURS);
            world.float("192.0.2.5", None, "by hand");
        }),
        goes("floating IPs are left and kept", |removal, world| {
            removal.keep_floating_ip = true;
            *world = World::empty();
            world.float("192.0.2.4", None, OURS);
        }),
        goes("of the name that Kubernetes' own provider gave", |_, world| {
            world.by = FoundBy::LegacyName;
            LEGACY.clone_into(&mut world.lb().name);
            world.lb().tags.clear();
        }),
        goes("of another cluster with the same name", |_, world| {
            world.lb().tags = vec![TAG.to_owned(), "bowline-cluster:c2".to_owned()];
            world.float("192.0.2.4", None, OURS);
        }),
        goes("the cluster was renamed before the Service went", |_, world| {
            world.by = FoundBy::Id;
            let before = TAG.replace("_held_", "_before_");
            (world.lb().name, world.lb().tags) = (before.clone(), vec![before.clone()]);
            world.listener(80).tags = vec![before];
        }),
        ("two of the same name", {
            let namesakes = vec!["lb-1".parse().unwrap(), "lb-2".parse().unwrap()];
            super::super::remove(&removal(), &Found { namesakes, ..Found::default() })
        }),
    ];
    cases.extend(shared_cases());
    cases
}

fn shared_cases() -> Vec<Case> {
    vec![
        shared("shared: only the Service's own goes, its tags at last", |_, _| {}),
        shared("shared: listeners are known by their tags, not by today's ports", |_, world| {
            world.listener(80).protocol_port = 81;
            world.foreign_listener("UDP", 53, &[TAG, "team-a"]);
            world.foreign_listener("TCP", 54, &[]);
        }),
        shared("shared: nothing is left but the tag", |_, world| {
            world.tree.listeners.remove(0);
            world.tree.pools.clear();
        }),
        shared("shared: Octavia gave it up", |_, world| {
            world.lb().provisioning_status = ProvisioningStatus::Error;
        }),
        shared("shared: Octavia is at work", |_, world| {
            world.lb().provisioning_status = ProvisioningStatus::PendingUpdate;
        }),
        goes("shared with one whose tag is on its listener only", |_, world| {
            world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
        }),
        named("the last one on it, whose owner is gone", OTHER_TAG, &[TAG]),
        goes("the last one on it, and the floating IP is its former owner's", |_, world| {
            world.by = FoundBy::Id;
            OTHER_TAG.clone_into(&mut world.lb().name);
            FORMER_OWNERS.clone_into(&mut world.floating[0].description);
        }),
        named("of a load balancer that a user made: the last tag goes", "mine", &[TAG, "bowline-service:s1"]),
        named("a user's load balancer that the Service is not on", "mine", &["team-a"]),
        named("another Service's, which this one never joined", OTHER_TAG, &[]),
        goes("another Service's, which this one never joined, and Octavia is at work on it", |_, world| {
            world.by = FoundBy::Id;
            OTHER_TAG.clone_into(&mut world.lb().name);
            world.lb().tags.clear();
            world.lb().provisioning_status = ProvisioningStatus::PendingUpdate;
        }),
    ]
}
