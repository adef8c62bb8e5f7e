//! By which address a Service is reached.

use super::*;

const OURS: &str = "Floating IP for Kubernetes external service default/web from cluster held";
const BEFORE: &str = "Floating IP for Kubernetes external service default/web from cluster before";
const OTHERS: &str = "Floating IP for Kubernetes external service default/webshop from cluster held";

const RESERVED: &str = "was allocated for Service default/webshop, which still exists; request another address, or let an administrator \
                        change the description of the floating IP if it is free to use";

/// Without floating IPs.
fn bare(name: &'static str, change: impl FnOnce(&mut Wanted, &mut World)) -> Case {
    case(name, |wanted, world| {
        world.floating.clear();
        change(wanted, world);
    })
}

fn internal(name: &'static str, keep: bool, description: &'static str) -> Case {
    bare(name, |wanted, world| {
        world.float("192.0.2.1", Some("vip-port"), description);
        wanted.address = WantedAddress::Own { keep_floating_ip: keep };
    })
}

/// With a load balancer in ERROR that never served, and a floating IP of this description.
fn given_up(name: &'static str, description: &'static str, change: impl FnOnce(&mut Wanted)) -> Case {
    bare(name, |wanted, world| {
        world.fails("OFFLINE");
        world.published = false;
        world.float("192.0.2.1", Some("vip-port"), description);
        change(wanted);
    })
}

pub(in super::super) fn address() -> Vec<Case> {
    let none = |asked: Option<&str>| WantedAddress::Floating {
        place: None,
        asked: asked.map(|asked| asked.parse().unwrap()),
        insist: false,
        keep_floating_ip: false,
    };
    let mut cases = vec![
        bare("none yet", |_, _| {}),
        bare("none yet, and subnets to try", |wanted, _| subnets(wanted, None)),
        bare("none yet, and one of two subnets is told with an address", |wanted, _| {
            subnets(wanted, Some("192.0.2.7"));
        }),
        bare("none yet, and no external network", move |wanted, _| wanted.address = none(None)),
        bare("none yet, an address asked for, and no external network", move |wanted, _| {
            wanted.address = none(Some("192.0.2.7"));
        }),
        bare("an IPv6 address needs none", |_, world| world.lb().vip_address = "2001:db8::7".parse().ok()),
        bare("Octavia does not tell its port", |_, world| world.lb().vip_port_id = None),
        case("several lead here: always the same", |_, world| {
            world.float("192.0.2.0", Some("vip-port"), "");
            world.floating.reverse();
        }),
        case("another one than asked for leads here: it is used", |wanted, world| {
            world.float("192.0.2.7", None, "");
            wanted.address = floating(Some("192.0.2.7"), false);
        }),
        internal("internal: ours goes", false, OURS),
        internal("internal: that of the same Service in another cluster is not ours", false, BEFORE),
        given_up("given up before it served: ours goes", OURS, |_| {}),
        given_up("given up before it served: that of a person stays", "for the shop", |_| {}),
        given_up(
            "given up before it served: that of the same Service in another cluster stays",
            BEFORE,
            |_| {},
        ),
        given_up("given up before it served: ours stays if it is kept", OURS, |wanted| {
            let WantedAddress::Floating { keep_floating_ip, .. } = &mut wanted.address else {
                unreachable!()
            };
            *keep_floating_ip = true;
        }),
        given_up(
            "given up before it served: one that is asked for is found again, and stays",
            OURS,
            |wanted| {
                wanted.address = floating(Some("192.0.2.1"), true);
            },
        ),
        bare("internal: ours of a name that an administrator says the cluster had goes", |wanted, world| {
            wanted.names = wanted.names.clone().with_former_clusters(&["before".to_owned()]);
            world.float("192.0.2.1", Some("vip-port"), BEFORE);
            wanted.address = WantedAddress::Own { keep_floating_ip: false };
        }),
        internal("internal: ours is kept", true, OURS),
        internal("internal: that of a Service of a similar name is not ours", false, OTHERS),
        internal("internal: a user's is not ours", false, "by hand"),
        bare("internal: that of another Service on its port stays", |wanted, world| {
            world.float("192.0.2.1", Some("vip-port"), OTHERS);
            world.of_others = world.floating.iter().map(|one| one.id.clone()).collect();
            wanted.address = WantedAddress::Own { keep_floating_ip: false };
        }),
        bare(
            "its port has the floating IP of another Service, and there is no load balancer yet",
            |wanted, world| {
                *world = World::empty();
                world.float("192.0.2.1", Some("vip-port"), "terraform");
                world.of_others = world.floating.iter().map(|one| one.id.clone()).collect();
                wanted.balancer.vip = Vip { port: Some("vip-port".parse().unwrap()), ..Vip::default() };
            },
        ),
        bare("internal: none", |wanted, _| wanted.address = WantedAddress::Own { keep_floating_ip: false }),
        bare("one is left from before", |_, world| {
            world.float("192.0.2.5", None, OURS);
            world.float("192.0.2.4", None, OURS);
            world.float("192.0.2.3", None, OTHERS);
        }),
        bare("two are left from before, and one was known", |_, world| {
            world.float("192.0.2.5", None, OURS);
            world.float("192.0.2.4", None, OURS);
            world.known_address = "192.0.2.4".parse().ok();
        }),
        case("one leads here, and another is left: it stays", |_, world| {
            world.float("192.0.2.5", None, OURS);
        }),
    ];
    cases.extend(asked());
    cases
}

fn subnets(wanted: &mut Wanted, asked: Option<&str>) {
    let subnets = vec!["first".parse().unwrap(), "second".parse().unwrap()];
    let place = Some(FloatingPlace { network: "public".parse().unwrap(), subnets });
    let asked = asked.map(|asked| asked.parse().unwrap());
    wanted.address = WantedAddress::Floating { place, asked, insist: false, keep_floating_ip: false };
}

fn asked() -> Vec<Case> {
    let ask = |wanted: &mut Wanted| wanted.address = floating(Some("192.0.2.7"), false);
    let insist = |wanted: &mut Wanted| wanted.address = floating(Some("192.0.2.7"), true);
    vec![
        bare("the one asked for is free", move |wanted, world| {
            world.float("192.0.2.7", None, "by hand");
            ask(wanted);
        }),
        bare("the one asked for leads elsewhere", move |wanted, world| {
            world.float("192.0.2.7", Some("elsewhere"), "by hand");
            ask(wanted);
        }),
        bare("the one asked for leads elsewhere, and there is no load balancer yet", move |wanted, world| {
            *world = World::empty();
            world.float("192.0.2.7", Some("elsewhere"), "by hand");
            ask(wanted);
        }),
        bare("the one asked for leads elsewhere, and a Node joined", move |wanted, world| {
            world.float("192.0.2.7", Some("elsewhere"), "by hand");
            wanted.listeners[0].pool.members.change(|all| all.push(member(3, 30080)));
            ask(wanted);
        }),
        bare("the one asked for leads elsewhere, while Octavia is at work", move |wanted, world| {
            world.float("192.0.2.7", Some("elsewhere"), "by hand");
            world.lb().provisioning_status = ProvisioningStatus::PendingUpdate;
            ask(wanted);
        }),
        bare("the one asked for was made for another Service that exists", move |wanted, world| {
            world.float("192.0.2.7", None, OTHERS);
            world.asked_owner = Some(RESERVED.to_owned());
            ask(wanted);
        }),
        bare("the same, and there is no load balancer yet", move |wanted, world| {
            *world = World::empty();
            world.float("192.0.2.7", None, OTHERS);
            world.asked_owner = Some(RESERVED.to_owned());
            ask(wanted);
        }),
        case("insists on one that was made for another Service that exists", move |wanted, world| {
            world.float("192.0.2.7", None, OTHERS);
            world.asked_owner = Some(RESERVED.to_owned());
            insist(wanted);
        }),
        bare("the one asked for is not there", move |wanted, _| ask(wanted)),
        case("insists on one that is free", move |wanted, world| {
            world.float("192.0.2.7", None, "by hand");
            insist(wanted);
        }),
        bare(
            "the one asked for may be that of a Service of this name in another cluster",
            move |wanted, world| {
                world.float("192.0.2.7", None, OURS);
                world.unproven = world.floating.iter().map(|one| one.id.clone()).collect();
                ask(wanted);
            },
        ),
        bare("the one asked for was made for the Service", move |wanted, world| {
            world.float("192.0.2.7", None, OURS);
            ask(wanted);
        }),
        case("insists on one that is not there", move |wanted, _| insist(wanted)),
        case("insists on one that leads elsewhere: the old one stays", move |wanted, world| {
            world.float("192.0.2.7", Some("elsewhere"), "by hand");
            insist(wanted);
        }),
        case("insists on one that is not there, and no external network", |wanted, _| {
            let asked = "192.0.2.7".parse().ok();
            wanted.address =
                WantedAddress::Floating { place: None, asked, insist: true, keep_floating_ip: false };
        }),
        case(
            "insists on one that is free, and that of another Service is on its port",
            move |wanted, world| {
                world.of_others = world.floating.iter().map(|one| one.id.clone()).collect();
                world.float("192.0.2.7", None, "by hand");
                insist(wanted);
            },
        ),
        case("insists on the one that leads here beside another", move |wanted, world| {
            world.float("192.0.2.7", Some("vip-port"), "by hand");
            insist(wanted);
        }),
        case("insists, on a shared load balancer", move |wanted, world| {
            world.by = FoundBy::Id;
            OTHER_TAG.clone_into(&mut world.lb().name);
            world.lb().tags.push(OTHER_TAG.to_owned());
            insist(wanted);
        }),
    ]
}
