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
            world.known_address = "192.0.2.1".parse().ok();
        }),
        ("two of the same name", {
            let namesakes = vec!["lb-1".parse().unwrap(), "lb-2".parse().unwrap()];
            super::super::remove(&removal(), &Found { namesakes, ..Found::default() })
        }),
    ];
    cases.extend(shared_cases());
    cases.extend(of_others());
    cases
}

/// What is not the Service's, or not known to be.
fn of_others() -> Vec<Case> {
    let before = || TAG.replace("_held_", "_before_");
    vec![
        goes("the floating IP was kept by another Service, and this one asked for it", |_, world| {
            FORMER_OWNERS.clone_into(&mut world.floating[0].description);
        }),
        goes("the floating IP is that of the same Service in another cluster", |_, world| {
            OURS.replace("held", "before").clone_into(&mut world.floating[0].description);
        }),
        goes("the floating IP has the name that the cluster had before", |removal, world| {
            removal.names = removal.names.clone().with_former_clusters(&["before".to_owned()]);
            OURS.replace("held", "before").clone_into(&mut world.floating[0].description);
        }),
        goes("annotations name the load balancer of the same Service in another cluster", |_, world| {
            world.by = FoundBy::Id;
            (world.lb().name, world.lb().tags) = (before(), vec![before()]);
            world.listener(80).tags = vec![before()];
        }),
        goes("the same, and its status shows the same address by chance", |_, world| {
            world.by = FoundBy::Id;
            (world.known_address, world.has_own) = ("10.0.0.100".parse().ok(), true);
            (world.lb().name, world.lb().tags) = (before(), vec![before()]);
            world.listener(80).tags = vec![before()];
        }),
        goes("the same, and another network has the same addresses", |_, world| {
            world.by = FoundBy::Id;
            (world.known_address, world.is_vip_unique) = ("10.0.0.100".parse().ok(), false);
            (world.lb().name, world.lb().tags) = (before(), vec![before()]);
            world.listener(80).tags = vec![before()];
        }),
        named(
            "a user's load balancer, with the tag of a namesake in another cluster",
            "mine",
            &[TAG, "bowline-cluster:c2", "bowline-service:s2"],
        ),
        named(
            "a user's load balancer that another cluster uses as well",
            "mine",
            &[TAG, "bowline-cluster:c2", "bowline-service:s2", "bowline-cluster:c1", "bowline-service:s1"],
        ),
        named(
            "of its name, and two clusters use it",
            TAG,
            &[TAG, OTHER_TAG, "bowline-cluster:c1", "bowline-cluster:c2", "bowline-service:s2"],
        ),
        named(
            "the last one on it, and it may be of another cluster of this name",
            OTHER_TAG,
            &[TAG, "bowline-cluster:c1", "bowline-cluster:c2", "bowline-service:s1"],
        ),
        goes("somebody put a listener without a tag on its load balancer", |_, world| {
            world.foreign_listener("TCP", 8080, &[]);
        }),
        goes(
            "somebody put a listener without a tag on it, and this Octavia has no tags",
            |removal, world| {
                removal.tagged = false;
                world.lb().tags.clear();
                world.listener(80).tags.clear();
                world.foreign_listener("TCP", 8080, &[]);
            },
        ),
        goes("this Octavia has no tags", |removal, world| {
            removal.tagged = false;
            world.lb().tags.clear();
            world.listener(80).tags.clear();
        }),
        goes("a listener without a tag has the name that an early OCCM gave", |_, world| {
            world.named_listener("listener_kube_service_held_default_web_1", "TCP", 8080, &[]);
        }),
        goes("somebody put a listener on its load balancer", |_, world| {
            world.foreign_listener("TCP", 8080, &["team-a"]);
        }),
        goes("somebody put a pool on its load balancer", |_, world| {
            let mut pool = world.pool(0).clone();
            (pool.pool.id, pool.pool.name) = ("pool-9".parse().unwrap(), "mine".to_owned());
            pool.pool.listeners.clear();
            world.tree.pools.push(pool);
        }),
        goes("somebody's L7 policy on its listener leads to a pool of theirs", |_, world| {
            world.l7_pool("mine");
        }),
        goes("the same, and its listener has no default pool", |_, world| {
            world.l7_pool("mine");
            world.tree.pools.remove(0);
            world.listener(80).default_pool_id = None;
        }),
        goes("a pool of its name that only an L7 policy uses", |_, world| {
            world.l7_pool(&format!("pool_7_{TAG}"));
        }),
        goes("a listener that lost the Service's tag has its name", |_, world| {
            world.listener(80).tags = vec!["team-a".to_owned()];
        }),
        goes("the last one on it, and the Service that owns it exists without a tag", |_, world| {
            world.by = FoundBy::Id;
            OTHER_TAG.clone_into(&mut world.lb().name);
            world.owner_may_want_it = true;
        }),
        goes("the last one on it, and it has a listener without a tag", |_, world| {
            world.by = FoundBy::Id;
            OTHER_TAG.clone_into(&mut world.lb().name);
            world.foreign_listener("TCP", 8080, &[]);
        }),
        goes("the last one on it, and it has a tag of unknown origin", |_, world| {
            world.by = FoundBy::Id;
            OTHER_TAG.clone_into(&mut world.lb().name);
            world.lb().tags.push("team-a".to_owned());
        }),
        goes("the same, and it has no tag of this cluster", |_, world| {
            world.by = FoundBy::Id;
            OTHER_TAG.clone_into(&mut world.lb().name);
            world.lb().tags = vec![TAG.to_owned(), "team-a".to_owned()];
        }),
        goes("the same, and its floating IP is kept", |removal, world| {
            removal.keep_floating_ip = true;
            world.by = FoundBy::Id;
            OTHER_TAG.clone_into(&mut world.lb().name);
            world.lb().tags = vec![TAG.to_owned(), "team-a".to_owned()];
        }),
        goes("the last one on a load balancer of another cluster name", |_, world| {
            world.by = FoundBy::Id;
            world.lb().name = OTHER_TAG.replace("_held_", "_elsewhere_");
        }),
        goes("the owner leaves, and its floating IP is kept", |removal, world| {
            removal.keep_floating_ip = true;
            world.lb().tags.push(OTHER_TAG.to_owned());
            world.foreign_listener("TCP", 8080, &[OTHER_TAG]);
        }),
    ]
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
