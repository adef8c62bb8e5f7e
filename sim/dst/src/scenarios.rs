//! The scenarios of the exhaustive level: short stories, each about one thing that people do. Every effect of each of them meets
//! every kind of fault.

use std::time::Duration;

use crate::action::{Action, Addition, Attack, Edit, Meddling, ServiceSpec, Shop, Target, TenantAction};
use crate::case::{Case, Provider, Setting, Timed};

/// The base of all: two Nodes and a Service that is served.
const JOINED: u64 = 1;
const CREATED: u64 = 4;
/// When the thing happens that the scenario is about.
const THEN: u64 = 60;

/// What changes behind our back is noticed, and mended, within this time after a first look: faults strike that, too.
const NOTICED: Duration = Duration::from_secs(240);

/// What changes behind our back before the first look at what we made is seen when all is read again: after six hours.
const PATIENCE: Duration = Duration::from_secs(8 * 3600);

/// All scenarios.
#[must_use]
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for provider in [Provider::Ovn, Provider::Amphora] {
        cases.extend(creations(provider));
        cases.extend(edits(provider));
        cases.extend(meddlings(provider));
        cases.extend(endings(provider));
    }
    cases.extend(nodes());
    cases.extend(groups());
    cases.extend(routes());
    cases.extend(processes());
    cases.extend(take_overs());
    cases.extend(tenants());
    cases.extend(places());
    cases.extend(fleets());
    cases.extend(additions());
    cases
}

fn setting(provider: Provider) -> Setting {
    Setting {
        provider,
        servers: 2,
        replicas: 1,
        quiet: Duration::from_secs(60),
        settle: Duration::from_secs(660),
        patience: PATIENCE,
        ..Setting::default()
    }
}

fn case(name: String, setting: Setting, then: Vec<Action>) -> Case {
    let timed = |at: u64, action: Action| Timed { at: Duration::from_secs(at), action };
    let mut actions = vec![timed(JOINED, Action::Join(1)), timed(JOINED, Action::Join(2))];
    for (place, action) in then.into_iter().enumerate() {
        // The first is the creation; what follows has time to be done one after the other.
        let at = if place == 0 { CREATED } else { THEN * place as u64 };
        actions.push(timed(at, action));
    }
    let last = actions.iter().map(|timed| timed.at).max().unwrap_or_default();
    Case { name, setting, actions, faults_end: Some(last + NOTICED), ..Case::default() }
}

fn named(provider: Provider, what: &str) -> String {
    format!("{what} ({provider:?})").to_lowercase()
}

fn web() -> ServiceSpec {
    ServiceSpec::default()
}

fn edit_ports() -> Action {
    Action::Edit(1, Edit::Ports(vec![("TCP", 80), ("TCP", 443)]))
}

fn noted(key: &'static str, value: &str) -> ServiceSpec {
    ServiceSpec { annotations: vec![(key, value.to_owned())], ..web() }
}

const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";

fn creations(provider: Provider) -> Vec<Case> {
    let mut specs = vec![
        ("create, one port", web()),
        ("create, three ports", ServiceSpec { ports: vec![("TCP", 80), ("TCP", 443), ("UDP", 53)], ..web() }),
        ("create, internal", noted(INTERNAL, "true")),
        ("create, with a monitor", noted("enable-health-monitor", "true")),
        ("create, local", ServiceSpec { local: true, ..noted("enable-health-monitor", "true") }),
        ("create, keep the address", noted("keep-floatingip", "true")),
    ];
    if provider == Provider::Amphora {
        specs.push((
            "create, ranges",
            ServiceSpec { source_ranges: vec!["10.0.0.0/8", "192.0.2.0/24"], ..web() },
        ));
        specs.push(("create, affinity", ServiceSpec { affinity: true, ..web() }));
        specs.push(("create, proxy protocol", noted("proxy-protocol", "true")));
        specs.push(("create, timeouts", noted("timeout-client-data", "60000")));
    }
    specs
        .into_iter()
        .map(|(name, spec)| case(named(provider, name), setting(provider), vec![Action::Create(1, spec)]))
        .collect()
}

fn edits(provider: Provider) -> Vec<Case> {
    let annotate = |key, value: &str| Edit::Annotate(key, Some(value.to_owned()));
    let mut edits = vec![
        ("edit, a port more", web(), Edit::Ports(vec![("TCP", 80), ("TCP", 443)])),
        ("edit, another port", web(), Edit::Ports(vec![("TCP", 81)])),
        (
            "edit, a port less",
            ServiceSpec { ports: vec![("TCP", 80), ("TCP", 443)], ..web() },
            Edit::Ports(vec![("TCP", 80)]),
        ),
        ("edit, another protocol", web(), Edit::Ports(vec![("UDP", 80)])),
        ("edit, to internal", web(), annotate(INTERNAL, "true")),
        ("edit, from internal", noted(INTERNAL, "true"), Edit::Annotate(INTERNAL, None)),
        ("edit, monitor on", web(), annotate("enable-health-monitor", "true")),
        (
            "edit, monitor off",
            noted("enable-health-monitor", "true"),
            annotate("enable-health-monitor", "false"),
        ),
        (
            "edit, monitor values",
            noted("enable-health-monitor", "true"),
            annotate("health-monitor-delay", "20"),
        ),
        ("edit, local on", noted("enable-health-monitor", "true"), Edit::Local(true)),
        ("edit, to cluster IP", web(), Edit::IsBalanced(false)),
    ];
    if provider == Provider::Amphora {
        edits.push(("edit, ranges", web(), Edit::SourceRanges(vec!["10.0.0.0/8"])));
        edits.push(("edit, affinity", web(), Edit::Affinity(true)));
        edits.push(("edit, connection limit", web(), annotate("connection-limit", "500")));
        edits.push(("edit, proxy protocol", web(), annotate("proxy-protocol", "true")));
    }
    edits
        .into_iter()
        .map(|(name, spec, edit)| {
            case(
                named(provider, name),
                setting(provider),
                vec![Action::Create(1, spec), Action::Edit(1, edit)],
            )
        })
        .collect()
}

fn meddlings(provider: Provider) -> Vec<Case> {
    use Meddling::{
        AddMember, BalancerDies, BalancerError, DeleteBalancer, DeleteFloatingIp, DeleteListener,
        DeleteMember, DeletePool, DetachFloatingIp, UpdateFails,
    };
    let all = [
        DeleteBalancer,
        BalancerError,
        BalancerDies,
        UpdateFails,
        DeleteListener,
        DeletePool,
        DeleteMember,
        AddMember,
        DetachFloatingIp,
        DeleteFloatingIp,
    ];
    all.into_iter()
        .map(|meddling| {
            let then = vec![Action::Create(1, web()), Action::Meddle(1, meddling)];
            case(named(provider, &format!("meddle, {meddling:?}")), setting(provider), then)
        })
        .collect()
}

fn endings(provider: Provider) -> Vec<Case> {
    let create = || Action::Create(1, web());
    let stories = vec![
        ("delete", vec![create(), Action::Delete(1)]),
        (
            "delete, address kept",
            vec![Action::Create(1, noted("keep-floatingip", "true")), Action::Delete(1)],
        ),
        ("delete and create again", vec![create(), Action::Delete(1), create()]),
        ("share", vec![create(), Action::Share(2, 1)]),
        ("share and leave", vec![create(), Action::Share(2, 1), Action::Delete(2)]),
    ];
    stories.into_iter().map(|(name, then)| case(named(provider, name), setting(provider), then)).collect()
}

fn nodes() -> Vec<Case> {
    let setting = || Setting { servers: 4, ..setting(Provider::Ovn) };
    let create = || Action::Create(1, web());
    let stories = vec![
        ("node joins", vec![create(), Action::Join(3)]),
        ("two nodes join", vec![create(), Action::Join(3), Action::Join(4)]),
        ("node leaves", vec![create(), Action::Join(3), Action::Join(4), Action::ServerGone(2)]),
        ("node stops and starts", vec![create(), Action::ServerStops(2), Action::ServerStarts(2)]),
        (
            "node is replaced",
            vec![create(), Action::Join(3), Action::Join(4), Action::ServerReplaced(2), Action::Join(2)],
        ),
        ("node is excluded", vec![create(), Action::Exclude(2, true), Action::Exclude(2, false)]),
        ("node gets another address", vec![create(), Action::Readdress(2)]),
        ("node is deleted by hand", vec![create(), Action::DeleteNode(2), Action::Join(2)]),
    ];
    stories.into_iter().map(|(name, then)| case(name.to_owned(), setting(), then)).collect()
}

fn groups() -> Vec<Case> {
    let setting = || Setting { security_groups: true, ..setting(Provider::Amphora) };
    let create = || Action::Create(1, web());
    let stories = vec![
        ("groups, create", vec![create()]),
        ("groups, edit", vec![create(), Action::Edit(1, Edit::Ports(vec![("TCP", 80), ("TCP", 443)]))]),
        ("groups, a rule is gone", vec![create(), Action::Meddle(1, Meddling::DeleteRule)]),
        ("groups, delete", vec![create(), Action::Delete(1)]),
    ];
    stories.into_iter().map(|(name, then)| case(name.to_owned(), setting(), then)).collect()
}

fn routes() -> Vec<Case> {
    let setting = || Setting { routes: true, servers: 4, ..setting(Provider::Ovn) };
    let stories = vec![
        ("routes, nodes join", vec![Action::Join(3)]),
        ("routes, node leaves", vec![Action::Join(3), Action::Join(4), Action::ServerGone(2)]),
    ];
    stories.into_iter().map(|(name, then)| case(name.to_owned(), setting(), then)).collect()
}

fn processes() -> Vec<Case> {
    let setting = || Setting { replicas: 2, ..setting(Provider::Ovn) };
    let create = || Action::Create(1, web());
    let edit = edit_ports;
    let stories = vec![
        ("leader killed", vec![create(), Action::KillLeader, edit()]),
        ("leader asked to end", vec![create(), Action::StopLeader, edit()]),
        ("leader cut off", vec![create(), Action::PauseLeader(Duration::from_secs(90)), edit()]),
        ("lease deleted", vec![create(), Action::DeleteLease, edit()]),
        ("password rotated", vec![create(), Action::RotatePassword, edit()]),
        ("tokens revoked", vec![create(), Action::RevokeTokens, edit()]),
        (
            "configuration broken and mended",
            vec![create(), Action::BreakConfig(true), edit(), Action::BreakConfig(false)],
        ),
        ("quota exhausted", vec![Action::Quota(true), create(), Action::Quota(false)]),
        ("watches broken", vec![create(), Action::BreakWatches, edit()]),
        ("watches expired", vec![create(), Action::ExpireWatches, edit()]),
    ];
    stories.into_iter().map(|(name, then)| case(name.to_owned(), setting(), then)).collect()
}

/// OCCM has served until now, and is killed: before, while and after it makes a load balancer, or removes one.
fn take_overs() -> Vec<Case> {
    let create = || Action::Create(1, web());
    let mut cases = Vec::new();
    for provider in [Provider::Ovn, Provider::Amphora] {
        for (name, until, then) in [
            ("taken over at rest", 50, vec![create()]),
            ("taken over at rest, then edited", 50, vec![create(), edit_ports()]),
            ("taken over at rest, then deleted", 50, vec![create(), Action::Delete(1)]),
            ("taken over in the middle of a creation", 6, vec![create()]),
            ("taken over before the address is told", 26, vec![create()]),
            ("taken over in the middle of a removal", 62, vec![create(), Action::Delete(1)]),
        ] {
            let predecessor = Some(Duration::from_secs(until));
            let setting = Setting { predecessor, ..setting(provider) };
            cases.push(case(named(provider, name), setting, then));
        }
    }
    cases
}

/// A hostile tenant asks for what belongs to others, and leaves.
fn tenants() -> Vec<Case> {
    use TenantAction::{Attack as Attacks, Close, LoseBalancer, Open, Withdraw};
    let front = Target::Shop(Shop::Front);
    let stories = vec![
        (
            "a kept floating IP of another tenant",
            vec![
                Open(Shop::Archive),
                Close(Shop::Archive),
                Attacks(1, Attack::FloatingIp(Target::Shop(Shop::Archive))),
                Withdraw(1),
            ],
        ),
        (
            "the floating IP of another tenant whose load balancer is away",
            vec![
                Open(Shop::Front),
                LoseBalancer(Shop::Front),
                Attacks(1, Attack::LoadBalancerIp(front)),
                Withdraw(1),
            ],
        ),
        (
            "the load balancer of another tenant",
            vec![Open(Shop::Front), Attacks(1, Attack::Join(front)), Withdraw(1)],
        ),
        (
            "the load balancer of another cluster",
            vec![Attacks(1, Attack::JoinForged(Target::OtherCluster)), Withdraw(1)],
        ),
        (
            "a floating IP of another cluster",
            vec![Attacks(1, Attack::FloatingIp(Target::OtherCluster)), Withdraw(1)],
        ),
        (
            "a load balancer that no Service made",
            vec![Attacks(1, Attack::Join(Target::Unmanaged)), Withdraw(1)],
        ),
        (
            "a load balancer of a Service that is gone, with a person's listener",
            vec![Attacks(1, Attack::Join(Target::Ownerless)), Withdraw(1)],
        ),
        (
            "a person's floating IP that another tenant uses, while its load balancer is away",
            vec![
                Open(Shop::Given),
                LoseBalancer(Shop::Given),
                Attacks(1, Attack::FloatingIp(Target::Shop(Shop::Given))),
                Withdraw(1),
            ],
        ),
        (
            "the port of another tenant whose load balancer is away",
            vec![
                Open(Shop::Pinned),
                // A Service that is younger than two minutes may be unknown.
                Open(Shop::Front),
                Open(Shop::Given),
                LoseBalancer(Shop::Pinned),
                Attacks(1, Attack::PortId(Target::Shop(Shop::Pinned))),
                Withdraw(1),
            ],
        ),
        (
            "the VIP of another tenant whose load balancer is there",
            vec![Open(Shop::Front), Attacks(1, Attack::VipAddress(front)), Withdraw(1)],
        ),
        ("tags of another tenant", vec![Open(Shop::Front), Attacks(1, Attack::Tags(front)), Withdraw(1)]),
        (
            "a load balancer that a Service of another cluster shares",
            vec![Attacks(3, Attack::Join(Target::Joined)), Withdraw(3)],
        ),
    ];
    let same = vec![
        (
            "the load balancer of another cluster of the same name",
            vec![Attacks(2, Attack::JoinForged(Target::OtherCluster)), Withdraw(2)],
        ),
        (
            "a load balancer that a Service of another cluster of the same name shares",
            vec![Attacks(3, Attack::Join(Target::Joined)), Withdraw(3)],
        ),
    ];
    let cases = |stories: Vec<(&'static str, Vec<TenantAction>)>, same_cluster_name| {
        stories.into_iter().map(move |(name, then)| {
            let setting = Setting { tenants: true, same_cluster_name, ..setting(Provider::Ovn) };
            case(format!("hostile, {name}"), setting, then.into_iter().map(Action::Tenant).collect())
        })
    };
    cases(stories, false).chain(cases(same, true)).collect()
}

/// A hostile tenant asks for the places of others: the VIP or port of an internal Service whose load balancer is away, the floating IP of
/// a Service that shows a host name, the ports of servers and routers.
fn places() -> Vec<Case> {
    use TenantAction::{Attack as Attacks, LoseBalancer, Open, ReachNode, Withdraw};
    // A Service that is younger than two minutes may be unknown.
    let old = |shop| vec![Open(shop), Open(Shop::Front), Open(Shop::Given)];
    let away = |shop, attack: Attack| {
        [old(shop), vec![LoseBalancer(shop), Attacks(1, attack), Withdraw(1)]].concat()
    };
    let target = Target::Shop;
    let named = [
        old(Shop::Named),
        vec![
            Attacks(1, Attack::Join(target(Shop::Named))),
            LoseBalancer(Shop::Named),
            Attacks(2, Attack::FloatingIp(target(Shop::Named))),
            Withdraw(2),
            Withdraw(1),
        ],
    ];
    let device = |of| vec![ReachNode, Attacks(1, Attack::PortId(of)), Withdraw(1)];
    let stories = vec![
        ("the VIP of an internal Service", away(Shop::Inside, Attack::VipAddress(target(Shop::Inside)))),
        (
            "the VIP of an internal Service, for an internal one",
            away(Shop::Inside, Attack::InternalIp(target(Shop::Inside))),
        ),
        (
            "the port of an internal Service",
            away(Shop::PinnedInside, Attack::PortId(target(Shop::PinnedInside))),
        ),
        ("a person's floating IP behind a host name", named.concat()),
        ("the port of a server", device(Target::NodePort)),
        ("the port of a router", device(Target::RouterPort)),
    ];
    let cases = stories.into_iter().map(|(name, then)| {
        // The load balancer that is away is not missed before the attack.
        let setting =
            Setting { tenants: true, repair: Some(Duration::from_secs(600)), ..setting(Provider::Ovn) };
        case(format!("hostile, {name}"), setting, then.into_iter().map(Action::Tenant).collect())
    });
    cases.collect()
}

/// All load balancers are in ERROR and none of them serves: few are replaced, many are not.
fn fleets() -> Vec<Case> {
    let create = |number| Action::Create(number, web());
    let stories = [("few", 2), ("many", 5)].map(|(name, count)| {
        let creations = (1..=count).map(create);
        let fails = [Action::BalancersInError { offline: true }, Action::Ready(2, true)];
        (name, creations.chain(fails).collect::<Vec<_>>())
    });
    let cases = stories.into_iter().map(|(name, story)| {
        case(named(Provider::Ovn, &format!("offline, {name}")), setting(Provider::Ovn), story)
    });
    cases.collect()
}

/// People add a listener or pool of their own to the load balancer of a Service, which is edited, replaced or deleted afterwards.
fn additions() -> Vec<Case> {
    let stories = [
        ("a listener, then edit", Addition::Listener, edit_ports()),
        ("a listener, then delete", Addition::Listener, Action::Delete(1)),
        ("a tagged listener, then delete", Addition::TaggedListener, Action::Delete(1)),
        ("a pool, then delete", Addition::Pool, Action::Delete(1)),
        (
            "a tagged listener, then failure",
            Addition::TaggedListener,
            Action::Meddle(1, Meddling::BalancerDies),
        ),
    ];
    let cases = stories.into_iter().map(|(name, addition, then)| {
        let add = Action::Meddle(1, Meddling::Add(addition));
        // What was added only now may be unknown.
        let wait = Action::Ready(2, true);
        let story = vec![Action::Create(1, web()), add, wait, then];
        case(named(Provider::Ovn, &format!("add by hand {name}")), setting(Provider::Ovn), story)
    });
    cases.collect()
}
