//! What can go wrong with a request, and where: kinds of faults, the spots at which they strike, and where they come from.
//!
//! Faults are data. A run with chance writes down what struck where, and the same faults strike again from that list alone.

use std::collections::BTreeMap;
use std::fmt;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// Something that goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is told by `Kind::text`")]
pub enum Kind {
    CrashBefore,
    CrashAfter,
    LostRequest,
    LostReply,
    Silence,
    SilenceAfter,
    Unauthorized,
    Forbidden,
    NotFoundLie,
    Conflict,
    TooMany,
    ServerError,
    BadGateway,
    Slow,
    TruncatedList,
    StaleRead,
    StaleCloud,
    CutBody,
    BalancerError,
    BalancerStuck,
    TokensExpire,
    WatchBroken,
    WatchGone,
    WatchHeld,
}

/// What kind of request a fault can strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A write to the API server.
    KubeEffect,
    /// A write of something that is not work: the Lease, an event, a question.
    KubeChore,
    /// A read of the API server.
    KubeRead,
    /// An event of a watch.
    KubeWatch,
    /// A call that changes the cloud.
    CloudEffect,
    /// A call that reads from the cloud.
    CloudRead,
}

impl Place {
    /// Every place.
    pub const ALL: [Self; 6] = [
        Self::KubeEffect,
        Self::KubeChore,
        Self::KubeRead,
        Self::KubeWatch,
        Self::CloudEffect,
        Self::CloudRead,
    ];
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 24] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::LostRequest,
        Self::LostReply,
        Self::Silence,
        Self::SilenceAfter,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFoundLie,
        Self::Conflict,
        Self::TooMany,
        Self::ServerError,
        Self::BadGateway,
        Self::Slow,
        Self::TruncatedList,
        Self::StaleRead,
        Self::StaleCloud,
        Self::CutBody,
        Self::BalancerError,
        Self::BalancerStuck,
        Self::TokensExpire,
        Self::WatchBroken,
        Self::WatchGone,
        Self::WatchHeld,
    ];

    /// What it is called.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::CrashBefore => "crash before",
            Self::CrashAfter => "crash after",
            Self::LostRequest => "request lost",
            Self::LostReply => "reply lost",
            Self::Silence => "no answer",
            Self::SilenceAfter => "no answer, but done",
            Self::Unauthorized => "401",
            Self::Forbidden => "403",
            Self::NotFoundLie => "404, a lie",
            Self::Conflict => "409",
            Self::TooMany => "429",
            Self::ServerError => "500",
            Self::BadGateway => "502 of a proxy",
            Self::Slow => "slow",
            Self::TruncatedList => "list cut short",
            Self::StaleRead => "old answer",
            Self::StaleCloud => "old answer of the cloud",
            Self::CutBody => "body cut short",
            Self::BalancerError => "ends in ERROR",
            Self::BalancerStuck => "never ends",
            Self::TokensExpire => "tokens expire",
            Self::WatchBroken => "watch broken",
            Self::WatchGone => "watch 410",
            Self::WatchHeld => "watch delayed",
        }
    }

    /// Whether it can strike there.
    #[must_use]
    pub const fn strikes(self, place: Place) -> bool {
        use Place::{CloudEffect, CloudRead, KubeChore, KubeEffect, KubeRead, KubeWatch};
        match self {
            Self::CrashBefore
            | Self::LostRequest
            | Self::Silence
            | Self::TooMany
            | Self::ServerError
            | Self::Forbidden
            | Self::Slow => !matches!(place, KubeWatch),
            Self::CrashAfter | Self::LostReply | Self::SilenceAfter | Self::Conflict => {
                matches!(place, KubeEffect | KubeChore | CloudEffect)
            }
            Self::StaleRead => matches!(place, KubeRead),
            Self::StaleCloud => matches!(place, CloudRead),
            Self::Unauthorized | Self::BadGateway | Self::TokensExpire => {
                matches!(place, CloudEffect | CloudRead)
            }
            Self::NotFoundLie | Self::TruncatedList | Self::CutBody => matches!(place, CloudRead),
            Self::BalancerError | Self::BalancerStuck => matches!(place, CloudEffect),
            Self::WatchBroken | Self::WatchGone | Self::WatchHeld => matches!(place, KubeWatch),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())
    }
}

/// The n-th request of a place, counted from 0 over all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// What kind of request.
    pub place: Place,
    /// Which one.
    pub number: u64,
}

/// What strikes where.
pub type Script = BTreeMap<Spot, Kind>;

/// The chance of each kind per request, for a run by chance: a swarm, in which each seed has other kinds switched on.
#[derive(Clone, Debug, PartialEq)]
pub struct Swarm {
    /// Seeds the dice.
    pub seed: u64,
    /// Kind and chance.
    pub chances: Vec<(Kind, f64)>,
}

impl Swarm {
    /// A mix of a few kinds, as the seed wants: a few at a time find more than all of them always.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5741_524d);
        let rate = [0.005, 0.02, 0.06][dice.random_range(0..3)];
        let mut chances = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::StaleCloud) {
            if dice.random_range(0.0..1.0) < 0.35 {
                // A crash or a stuck load balancer costs much of a run; a lost reply does not.
                let scale = match kind {
                    Kind::CrashBefore | Kind::CrashAfter | Kind::BalancerStuck => 0.5,
                    Kind::Silence | Kind::SilenceAfter => 0.3,
                    _ => 1.0,
                };
                chances.push((kind, rate * scale));
            }
        }
        // Comes last, so that the rest of a seed is as it is without.
        if dice.random_range(0.0..1.0) < 0.35 {
            chances.push((Kind::StaleCloud, rate));
        }
        Self { seed, chances }
    }
}

/// Where the faults of a run come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Source {
    /// Nothing goes wrong.
    #[default]
    Nothing,
    /// Exactly these.
    Script(Script),
    /// By chance.
    Chance(Swarm),
}

/// Decides at each request, and remembers what it decided.
#[derive(Debug)]
pub struct Faults {
    source: Source,
    dice: Xoshiro256PlusPlus,
    counts: BTreeMap<Place, u64>,
    struck: Script,
    on: bool,
}

impl Faults {
    /// Faults of a source, from the first request on.
    #[must_use]
    pub fn new(source: Source) -> Self {
        let seed = match &source {
            Source::Chance(swarm) => swarm.seed,
            _ => 0,
        };
        let dice = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { source, dice, counts: BTreeMap::new(), struck: Script::new(), on: true }
    }

    /// Faults from now on.
    pub fn start(&mut self) {
        self.on = true;
    }

    /// No fault from now on.
    pub fn stop(&mut self) {
        self.on = false;
    }

    /// What goes wrong with the next request of this place, if anything does.
    pub fn strike(&mut self, place: Place) -> Option<Kind> {
        let count = self.counts.entry(place).or_default();
        let spot = Spot { place, number: *count };
        *count += 1;
        if !self.on {
            return None;
        }
        let kind = match &self.source {
            Source::Nothing => None,
            Source::Script(script) => script.get(&spot).copied(),
            Source::Chance(swarm) => {
                let possible = swarm.chances.iter().filter(|(kind, _)| kind.strikes(place));
                let mut roll: f64 = self.dice.random_range(0.0..1.0);
                let mut struck = None;
                for (kind, chance) in possible {
                    if roll < *chance {
                        struck = Some(*kind);
                        break;
                    }
                    roll -= chance;
                }
                struck
            }
        }?;
        self.struck.insert(spot, kind);
        Some(kind)
    }

    /// What struck so far.
    #[must_use]
    pub fn struck(&self) -> &Script {
        &self.struck
    }

    /// How many requests there were of a place.
    #[must_use]
    pub fn count(&self, place: Place) -> u64 {
        self.counts.get(&place).copied().unwrap_or_default()
    }
}
