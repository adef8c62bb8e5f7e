//! Cases by chance: the whole of a case follows from its seed.

mod additions;
mod company;
mod fleet;
mod tenants;

use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sim_openstack::Service;

use crate::action::{Action, Edit, Meddling, ServiceSpec};
use crate::case::{Case, Provider, Setting, Timed};
use crate::fault::{Source, Swarm};

/// The most Services at a time.
const SERVICES: usize = 3;

/// The case of a seed.
#[must_use]
pub fn case(seed: u64) -> Case {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let provider = if dice.one_in(2) { Provider::Ovn } else { Provider::Amphora };
    let setting = Setting {
        seed,
        provider,
        servers: dice.of(2..=6),
        security_groups: provider == Provider::Amphora && dice.one_in(4),
        routes: dice.one_in(8),
        // What changes behind our back while we change something ourselves is seen when everything is read again: after six hours.
        patience: Duration::from_secs(8 * 3600),
        application_credential: dice.one_in(4),
        replicas: dice.of(1..=2),
        skew: Duration::from_secs(dice.of(0..=20)),
        predecessor: predecessor(seed),
        tenants: tenants::are_there(seed),
        same_cluster_name: tenants::has_same_cluster_name(seed),
        ..Setting::default()
    };
    let mut actions = Vec::new();
    let mut at = Duration::ZERO;
    for number in 1..=setting.servers {
        at += Duration::from_millis(dice.of(0..=800));
        actions.push(Timed { at, action: Action::Join(number) });
    }
    let count = dice.of(3..=14);
    let mut mood = Mood::default();
    for _ in 0..count {
        at += Duration::from_millis(dice.pause());
        let action = dice.action(&setting, &mut mood);
        if let Action::ServerReplaced(number) = action {
            // It takes a new machine a while to boot.
            let up = at + Duration::from_secs(dice.of(30..120));
            actions.push(Timed { at: up, action: Action::Join(number) });
        }
        actions.push(Timed { at, action });
    }
    for action in mood.amends() {
        at += Duration::from_secs(1);
        actions.push(Timed { at, action });
    }
    actions.extend(company::of(&setting, at));
    actions.extend(tenants::of(&setting, at));
    actions.extend(tenants::more(&setting, at));
    actions.extend(tenants::places(&setting, at));
    actions.extend(additions::of(seed, at));
    actions.extend(control_plane(seed, at));
    actions.extend(fleet::of(seed, at));
    actions.sort_by_key(|timed| timed.at);
    Case {
        name: format!("seed {seed}"),
        setting,
        actions,
        faults: Source::Chance(Swarm::of(seed)),
        ..Case::default()
    }
}

/// Once in eight times OpenStack's own manager leads at first. Its dice are its own: the rest of a seed is as it was without.
fn predecessor(seed: u64) -> Option<Duration> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x4f43_434d));
    dice.one_in(8).then(|| Duration::from_secs(dice.of(2..90)))
}

/// Once in six times the control plane of Octavia fails. Its dice are its own, too.
fn control_plane(seed: u64, until: Duration) -> Option<Timed> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x4d47_4d54));
    let at = until.mul_f64(dice.of(0.0..1.0));
    dice.one_in(6).then_some(Timed { at, action: Action::BalancersInError { offline: false } })
}

/// What has to be put right before the end: nothing converges without.
#[derive(Default)]
struct Mood {
    no_quota: bool,
    bad_config: bool,
    next_server: usize,
}

impl Mood {
    fn amends(self) -> Vec<Action> {
        let quota = self.no_quota.then_some(Action::Quota(false));
        let config = self.bad_config.then_some(Action::BreakConfig(false));
        quota.into_iter().chain(config).collect()
    }
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn of<T, R>(&mut self, range: R) -> T
    where
        R: rand::distr::uniform::SampleRange<T>,
        T: rand::distr::uniform::SampleUniform,
    {
        self.0.random_range(range)
    }

    fn one_in(&mut self, many: u32) -> bool {
        self.of(0..many) == 0
    }

    fn moment(&mut self, from: Duration, to: Duration) -> Duration {
        let (from, to) = (from.as_millis() as u64, to.as_millis() as u64);
        Duration::from_millis(self.of(from..=to.max(from)))
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.of(0..from.len())].clone()
    }

    /// Mostly soon, so that things meet; at times late, so that they come to rest.
    fn pause(&mut self) -> u64 {
        match self.of(0..10) {
            0..5 => self.of(0..2_000),
            5..8 => self.of(2_000..20_000),
            _ => self.of(20_000..180_000),
        }
    }

    fn action(&mut self, setting: &Setting, mood: &mut Mood) -> Action {
        let service = self.of(1..=SERVICES);
        let node = self.of(1..=setting.servers);
        match self.of(0..100) {
            0..26 => Action::Create(service, self.spec(setting.provider)),
            26..46 => Action::Edit(service, self.edit(setting.provider)),
            46..56 => Action::Delete(service),
            56..66 => Action::Meddle(service, self.meddling()),
            66..70 => {
                mood.next_server += 1;
                Action::NewServer(setting.servers + mood.next_server)
            }
            70..73 => Action::ServerGone(node),
            73..75 => Action::ServerStops(node),
            75..77 => Action::ServerStarts(node),
            77..79 => Action::ServerReplaced(node),
            79..81 => Action::Exclude(node, self.one_in(2)),
            81..83 => Action::Ready(node, self.one_in(2)),
            83..86 => Action::KillLeader,
            86..88 => Action::StopLeader,
            88..90 => Action::PauseLeader(Duration::from_secs(self.of(5..120))),
            90..91 => Action::DeleteLease,
            91..92 => Action::RotatePassword,
            92..93 => Action::RevokeTokens,
            93..94 => {
                mood.bad_config = !mood.bad_config;
                Action::BreakConfig(mood.bad_config)
            }
            94..95 => {
                mood.no_quota = !mood.no_quota;
                Action::Quota(mood.no_quota)
            }
            95..97 => {
                let service = self.pick(&[
                    Service::LoadBalancer,
                    Service::Network,
                    Service::Compute,
                    Service::Identity,
                ]);
                Action::Outage(service, Duration::from_secs(self.of(5..120)))
            }
            97..98 => Action::BreakWatches,
            _ => Action::ExpireWatches,
        }
    }

    fn ports(&mut self) -> Vec<(&'static str, u16)> {
        let all = [("TCP", 80), ("TCP", 443), ("UDP", 53), ("TCP", 8080)];
        let mut ports: Vec<_> = all.into_iter().filter(|_| self.one_in(2)).collect();
        if ports.is_empty() {
            ports.push(("TCP", 80));
        }
        ports
    }

    fn spec(&mut self, provider: Provider) -> ServiceSpec {
        let mut annotations = Vec::new();
        for (key, value) in NOTES {
            if self.one_in(6) {
                annotations.push((*key, (*value).to_owned()));
            }
        }
        let amphora = provider == Provider::Amphora;
        ServiceSpec {
            ports: self.ports(),
            annotations,
            source_ranges: if amphora && self.one_in(6) { vec!["10.0.0.0/8"] } else { Vec::new() },
            local: self.one_in(6),
            affinity: amphora && self.one_in(6),
        }
    }

    fn edit(&mut self, provider: Provider) -> Edit {
        let amphora = provider == Provider::Amphora;
        match self.of(0..8) {
            0..3 => Edit::Ports(self.ports()),
            3..5 => {
                let (key, value) = self.pick(NOTES);
                Edit::Annotate(key, self.one_in(2).then(|| value.to_owned()))
            }
            5 => Edit::Local(self.one_in(2)),
            6 if amphora => match self.one_in(2) {
                true => Edit::SourceRanges(vec!["10.0.0.0/8", "192.0.2.0/24"]),
                false => Edit::Affinity(self.one_in(2)),
            },
            _ => Edit::IsBalanced(self.one_in(2)),
        }
    }

    fn meddling(&mut self) -> Meddling {
        self.pick(&[
            Meddling::DeleteBalancer,
            Meddling::BalancerError,
            Meddling::DeleteListener,
            Meddling::DeletePool,
            Meddling::DeleteMember,
            Meddling::AddMember,
            Meddling::DeleteMonitor,
            Meddling::DetachFloatingIp,
            Meddling::DeleteFloatingIp,
            Meddling::DeleteRule,
        ])
    }
}

/// Annotations that can stand on any Service.
const NOTES: &[(&str, &str)] = &[
    ("service.beta.kubernetes.io/openstack-internal-load-balancer", "true"),
    ("enable-health-monitor", "true"),
    ("health-monitor-delay", "7"),
    ("keep-floatingip", "true"),
    ("connection-limit", "300"),
];
