//! For each piece the run in which it can show: as small as it can be, with the actions and faults that it needs and no others.
//!
//! The same runs without a piece are sound, and a test shows it: so it is the piece that is found.

use std::time::Duration;

use super::Piece;
use crate::action::{Action, Attack, Edit, Meddling, ServiceSpec, Shop, Target, TenantAction};
use crate::case::{Case, Provider, Setting, Timed};
use crate::fault::{Kind, Place, Source, Spot, Swarm};

const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";

fn second(at: u64) -> Duration {
    Duration::from_secs(at)
}

/// A short run: what is under way ends soon, and rest is watched for a few minutes.
fn short(seed: u64, servers: usize) -> Case {
    let setting = Setting {
        seed,
        servers,
        quiet: second(360),
        settle: second(120),
        patience: second(900),
        repair: None,
        ..Setting::default()
    };
    let actions = (1..=servers).map(|number| Timed { at: second(2), action: Action::Join(number) }).collect();
    Case { setting, actions, ..Case::default() }
}

impl Case {
    fn then(mut self, at: u64, action: Action) -> Self {
        self.actions.push(Timed { at: second(at), action });
        self
    }

    fn create(self, at: u64, number: usize) -> Self {
        self.then(at, Action::Create(number, ServiceSpec::default()))
    }

    fn tenant(self, at: u64, action: TenantAction) -> Self {
        self.then(at, Action::Tenant(action))
    }

    fn set(mut self, change: impl FnOnce(&mut Setting)) -> Self {
        change(&mut self.setting);
        self
    }

    fn amphora(self) -> Self {
        self.set(|setting| setting.provider = Provider::Amphora)
    }

    fn guarded(self) -> Self {
        self.set(|setting| setting.security_groups = true)
    }

    fn chance(mut self, chances: &[(Kind, f64)]) -> Self {
        let seed = self.setting.seed;
        self.faults = Source::Chance(Swarm { seed, chances: chances.to_vec() });
        self
    }

    /// Only from the one time to the other.
    fn between(mut self, begin: u64, end: u64) -> Self {
        (self.faults_begin, self.faults_end) = (Some(second(begin)), Some(second(end)));
        self
    }

    fn effect(mut self, number: u64, kind: Kind) -> Self {
        let spot = Spot { place: Place::CloudEffect, number };
        self.faults = Source::Script([(spot, kind)].into());
        self
    }
}

fn edit(number: usize, edit: Edit) -> Action {
    Action::Edit(number, edit)
}

/// The run of a piece, without the piece.
#[must_use]
pub fn case(piece: Piece, seed: u64) -> Case {
    let case = nodes(piece, seed).or_else(|| network(piece, seed)).or_else(|| octavia(piece, seed));
    let case = case.or_else(|| tenants(piece, seed)).unwrap_or_else(|| lives(piece, seed));
    Case { name: format!("{piece:?}"), ..case }
}

impl Piece {
    /// The run in which it can show, with it built in.
    #[must_use]
    pub fn case(self, seed: u64) -> Case {
        Case { piece: Some(self), ..case(self, seed) }
    }
}

/// Those about Nodes.
fn nodes(piece: Piece, seed: u64) -> Option<Case> {
    Some(match piece {
        Piece::MissIsAnError | Piece::NodeDeleteForbidden | Piece::DeleteWithoutUid => {
            short(seed, 4).then(30, Action::ServerGone(2))
        }
        Piece::ShutOffIsGone => short(seed, 4).then(30, Action::ServerStops(2)),
        Piece::UnknownIsGone => short(seed, 4)
            .then(60, Action::Ready(2, false))
            .then(61, Action::Outage(sim_openstack::Service::Compute, second(180)))
            .then(400, Action::Ready(2, true)),
        Piece::OneMissIsProof => short(seed, 4)
            .then(60, Action::Ready(4, false))
            .then(400, Action::Ready(4, true))
            .chance(&[(Kind::NotFoundLie, 0.5)])
            .between(60, 400),
        Piece::SystemUuidIsServer => short(seed, 4)
            .then(20, Action::Metal(true))
            .then(400, Action::Metal(false))
            .set(|setting| setting.patience = second(1800)),
        Piece::MissRemembered => {
            short(seed, 4).then(30, Action::ServerGone(2)).then(200, Action::NewServer(2))
        }
        Piece::NoBrake => {
            let case = short(seed, 13).set(|setting| setting.patience = second(5400));
            (1..=4).fold(case, |case, number| case.then(60, Action::ServerGone(number)))
        }
        Piece::AddressesAlwaysDiffer => short(seed, 2).set(|setting| setting.quiet = second(900)),
        Piece::ProviderIdForgotten => short(seed, 2),
        Piece::CallsPerServer => short(seed, 8),
        _ => return None,
    })
}

/// Those about Neutron.
fn network(piece: Piece, seed: u64) -> Option<Case> {
    let internal = Edit::Annotate(INTERNAL, Some("true".to_owned()));
    let two_ports = ServiceSpec { ports: vec![("TCP", 80), ("TCP", 81)], ..ServiceSpec::default() };
    Some(match piece {
        Piece::FloatingIpKept => short(seed, 2).create(5, 1).then(60, edit(1, internal)),
        Piece::FloatingIpPerLook => short(seed, 2).amphora().create(5, 1),
        Piece::RemainsOfTheGone => short(seed, 2)
            .guarded()
            .create(5, 1)
            .then(60, Action::Meddle(1, Meddling::DeleteBalancer))
            .then(70, Action::Delete(1)),
        Piece::RuleGoneEndsAll => short(seed, 3)
            .guarded()
            .then(5, Action::Create(1, two_ports))
            // An old answer is one that was given before, to the same question.
            .then(70, Action::Exclude(3, true))
            .then(90, Action::Meddle(1, Meddling::DeleteRule))
            .then(91, edit(1, Edit::Ports(vec![("TCP", 90), ("TCP", 91)])))
            .set(|setting| setting.old = second(30))
            .chance(&[(Kind::StaleCloud, 0.6)])
            .between(60, 93),
        Piece::NoRevision => short(seed, 3)
            .guarded()
            .create(5, 1)
            .create(75, 2)
            .then(90, Action::Meddle(1, Meddling::GuardPorts))
            .create(91, 3)
            .set(|setting| setting.old = second(30))
            .chance(&[(Kind::StaleCloud, 0.6)])
            .between(60, 93),
        Piece::GroupStaysOnPorts => short(seed, 3)
            .guarded()
            .create(5, 1)
            .then(60, Action::Exclude(2, true))
            .then(120, Action::Delete(1)),
        Piece::RouteFailureForgotten => {
            short(seed, 3).set(|setting| setting.routes = true).effect(0, Kind::ServerError)
        }
        _ => return None,
    })
}

/// Those about Octavia.
fn octavia(piece: Piece, seed: u64) -> Option<Case> {
    let monitored = ServiceSpec {
        local: true,
        annotations: vec![("enable-health-monitor", "true".to_owned())],
        ..ServiceSpec::default()
    };
    let shared = || short(seed, 2).create(5, 1).then(60, Action::Share(2, 1));
    Some(match piece {
        Piece::MonitorPortForgotten => {
            short(seed, 2).amphora().then(5, Action::Create(1, monitored)).then(120, Action::NewServer(3))
        }
        Piece::DriftStays => short(seed, 2)
            .set(|setting| setting.repair = Some(second(300)))
            .create(5, 1)
            .then(60, Action::Meddle(1, Meddling::DeleteMember)),
        Piece::PostSentAgain => short(seed, 2).amphora().create(5, 1).effect(0, Kind::LostReply),
        Piece::BalancerReappears => {
            short(seed, 2).create(5, 1).then(60, Action::Delete(1)).then(300, Action::Ready(1, true))
        }
        Piece::MembersPutEachSync => short(seed, 2)
            .set(|setting| setting.repair = Some(second(240)))
            .create(5, 1)
            .then(60, Action::NewServer(3))
            .then(120, Action::NewServer(4)),
        Piece::OwnNoteIsNews => short(seed, 2).create(5, 1).set(|setting| setting.octavia_calls = Some(5)),
        Piece::PendingNotFound => short(seed, 2).amphora().create(5, 1).then(7, Action::StopLeader),
        Piece::NodesNotedTooEarly => {
            short(seed, 2).create(5, 1).then(120, Action::NewServer(3)).effect(2, Kind::ServerError)
        }
        Piece::SharedLooksUnshared => shared().then(180, Action::Delete(2)),
        Piece::TagsReplaced => shared(),
        Piece::NotesStay => short(seed, 2)
            .create(5, 1)
            .then(60, edit(1, Edit::IsBalanced(false)))
            .then(120, edit(1, Edit::IsBalanced(true))),
        Piece::ErrorStays => short(seed, 2)
            .set(|setting| setting.patience = second(300))
            .amphora()
            .create(5, 1)
            .effect(0, Kind::BalancerError),
        Piece::ErrorIsUseless => (1..=5)
            .fold(short(seed, 2).set(|setting| setting.patience = second(3600)), |case, number| {
                case.create(5, number)
            })
            .then(120, Action::BalancersInError { offline: false })
            .then(130, Action::NewServer(3)),
        Piece::OneLookIsEnough => short(seed, 2)
            .create(5, 1)
            .then(120, Action::Meddle(1, Meddling::BalancerDies))
            .then(130, Action::NewServer(3)),
        Piece::NoFleetBreaker => (1..=5)
            .fold(short(seed, 2).set(|setting| setting.patience = second(3600)), |case, number| {
                case.create(5, number)
            })
            .then(120, Action::BalancersInError { offline: true })
            .then(130, Action::NewServer(3))
            .between(0, 400),
        Piece::CreatedBeforeDeleted => short(seed, 2)
            .amphora()
            .create(5, 1)
            .then(120, edit(1, Edit::Annotate("x-forwarded-for", Some("true".to_owned())))),
        Piece::AffinityForgotten => {
            short(seed, 2).amphora().create(5, 1).then(120, edit(1, Edit::Affinity(true)))
        }
        Piece::MembersWiped => short(seed, 2).create(5, 1).then(60, Action::NewServer(3)),
        Piece::SlowWorker => short(seed, 2)
            .amphora()
            .create(5, 1)
            .create(15, 2)
            .effect(0, Kind::BalancerStuck)
            .set(|setting| (setting.prompt, setting.patience) = (Some((2, second(120))), second(2700))),
        Piece::TwoAtOnce => {
            short(seed, 2).create(5, 1).then(60, Action::NewServer(3)).chance(&[(Kind::Slow, 0.5)])
        }
        _ => return None,
    })
}

/// Those about tenants.
fn tenants(piece: Piece, seed: u64) -> Option<Case> {
    use TenantAction::{Attack as Attacks, Close, LoseBalancer, Open, Withdraw};
    let (front, archive) = (Target::Shop(Shop::Front), Target::Shop(Shop::Archive));
    let case = short(seed, 2).set(|setting| setting.tenants = true);
    Some(match piece {
        Piece::KeptAddressIsOwn => case
            .tenant(5, Open(Shop::Archive))
            .tenant(60, Close(Shop::Archive))
            .tenant(120, Attacks(1, Attack::FloatingIp(archive)))
            .tenant(180, Withdraw(1)),
        Piece::DetachedAddressIsFree => case
            .tenant(5, Open(Shop::Front))
            .tenant(160, LoseBalancer(Shop::Front))
            .tenant(161, Open(Shop::Archive))
            // Without the bug the load balancer is missed, and created again.
            .set(|setting| setting.repair = Some(second(240))),
        Piece::AnnotationIsProof => case.tenant(5, Attacks(1, Attack::JoinForged(Target::OtherCluster))),
        Piece::DeletedWithUnknownParts => {
            case.tenant(5, Attacks(1, Attack::Join(Target::Ownerless))).tenant(60, Withdraw(1))
        }
        Piece::SharedAcrossNamespaces => {
            case.tenant(5, Open(Shop::Front)).tenant(60, Attacks(1, Attack::Join(front)))
        }
        Piece::NameIsProof => case
            .tenant(5, Attacks(2, Attack::JoinForged(Target::OtherCluster)))
            .tenant(60, Withdraw(2))
            .set(|setting| setting.same_cluster_name = true),
        Piece::ShownAddressIsFree => case
            .tenant(5, Open(Shop::Given))
            .tenant(160, LoseBalancer(Shop::Given))
            .tenant(161, Attacks(1, Attack::FloatingIp(Target::Shop(Shop::Given))))
            .tenant(240, Withdraw(1))
            .set(|setting| setting.repair = Some(second(240))),
        Piece::ShownVipIsFree => case
            .tenant(5, Open(Shop::Inside))
            .tenant(160, LoseBalancer(Shop::Inside))
            .tenant(161, Attacks(1, Attack::InternalIp(Target::Shop(Shop::Inside))))
            .tenant(240, Withdraw(1))
            .set(|setting| setting.repair = Some(second(240))),
        Piece::InternalPortIsFree => case
            .tenant(5, Open(Shop::PinnedInside))
            .tenant(160, LoseBalancer(Shop::PinnedInside))
            .tenant(161, Attacks(1, Attack::PortId(Target::Shop(Shop::PinnedInside))))
            .tenant(240, Withdraw(1))
            .set(|setting| setting.repair = Some(second(240))),
        Piece::NodePortIsFree => case
            .tenant(5, TenantAction::ReachNode)
            .tenant(60, Attacks(1, Attack::PortId(Target::NodePort)))
            .tenant(180, Withdraw(1)),
        Piece::NamedIsLed => case
            .tenant(5, Open(Shop::Named))
            .tenant(140, Attacks(1, Attack::Join(Target::Shop(Shop::Named))))
            .tenant(160, LoseBalancer(Shop::Named))
            .tenant(161, Attacks(2, Attack::FloatingIp(Target::Shop(Shop::Named))))
            .tenant(240, Withdraw(2))
            .tenant(241, Withdraw(1))
            .set(|setting| setting.repair = Some(second(240))),
        Piece::OwnStaysBeside => case
            .tenant(5, Attacks(3, Attack::FloatingIp(Target::Shop(Shop::Given))))
            .tenant(60, Attacks(3, Attack::Join(Target::Joined)))
            .tenant(120, Withdraw(3))
            .set(|setting| setting.same_cluster_name = true),
        Piece::PortIsFree => case
            .tenant(5, Open(Shop::Pinned))
            .tenant(160, LoseBalancer(Shop::Pinned))
            .tenant(161, Attacks(1, Attack::PortId(Target::Shop(Shop::Pinned))))
            .tenant(240, Withdraw(1))
            .set(|setting| setting.repair = Some(second(240))),
        _ => return None,
    })
}

/// Those about the lives of processes and of Services.
fn lives(piece: Piece, seed: u64) -> Case {
    match piece {
        Piece::LeaseBelieved => short(seed, 2).then(30, Action::PauseLeader(second(90))).create(150, 1),
        Piece::ReleasedTooEarly => short(seed, 2).amphora().create(5, 1).then(90, Action::Delete(1)),
        Piece::ShownTooEarly => short(seed, 2).amphora().create(5, 1),
        Piece::ForeignTaken => short(seed, 2).create(5, 1).then(60, Action::Delete(1)),
        _ => short(seed, 2).create(5, 1),
    }
}
