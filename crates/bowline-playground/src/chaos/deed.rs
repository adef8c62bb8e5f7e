//! What goes wrong, and in which order: a pure function of the seed.

use std::fmt;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use sim_openstack::Service;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// A service of the cloud answers reads with 503 for a while. Not changes: of those it would be in doubt for half a minute whether they
    /// were made, and the manager waits that long.
    BrownOut(Service),
    /// It answers 429 for a while.
    Throttle(Service),
    /// What is asked of it is done, and the answer is lost, twice.
    LostReplies(Service),
    /// No token is accepted any more.
    TokensRevoked,
    /// A load balancer is in ERROR.
    BalancerError,
    /// It is deleted behind the manager's back.
    BalancerDeleted,
    /// One of its listeners is.
    ListenerDeleted,
    /// One of its members is.
    MemberDeleted,
    /// The connections of all watches break.
    WatchesBroken,
    /// All watches end with 410.
    WatchesExpired,
    /// The API server answers 503 for a while.
    ApiServerOverloaded,
    /// The manager is ended and another one started.
    ManagerRestarted,
    /// The manager is gone in the middle of what it does; another one is started and leads when the Lease has run out.
    ManagerCrashed,
    /// A server is deleted, and another one joins.
    ServerReplaced,
}

const CLOUD: [Service; 3] = [Service::Compute, Service::Network, Service::LoadBalancer];

impl fmt::Display for Deed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrownOut(service) => {
                write!(out, "{} answers every question with 503 for 3 s", service.project_name())
            }
            Self::Throttle(service) => {
                write!(out, "{} answers 429, Retry-After: 1, for 3 s", service.project_name())
            }
            Self::LostReplies(service) => {
                write!(
                    out,
                    "{} does what it is asked, and its next two answers are lost",
                    service.project_name()
                )
            }
            Self::TokensRevoked => out.write_str("keystone revokes all tokens"),
            Self::BalancerError => out.write_str("a load balancer falls into ERROR"),
            Self::BalancerDeleted => out.write_str("somebody deletes a load balancer in the cloud"),
            Self::ListenerDeleted => out.write_str("somebody deletes a listener in the cloud"),
            Self::MemberDeleted => out.write_str("somebody deletes a member in the cloud"),
            Self::WatchesBroken => out.write_str("the connections of all watches break"),
            Self::WatchesExpired => out.write_str("all watches end with 410 Gone"),
            Self::ApiServerOverloaded => out.write_str("the API server answers the manager 503 for 3 s"),
            Self::ManagerRestarted => out.write_str("the manager is ended, and another one started"),
            Self::ManagerCrashed => {
                out.write_str("the manager crashes, and another one leads as soon as the Lease has run out")
            }
            Self::ServerReplaced => out.write_str("a server is deleted in the cloud, and a new one joins"),
        }
    }
}

/// What a person does at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meanwhile {
    /// Creates a Service.
    Creates,
    /// Deletes one.
    Deletes,
    /// Nothing.
    Waits,
}

/// What goes wrong, one after the other. All kinds come before one comes again.
pub(super) struct Deeds {
    random: Xoshiro256PlusPlus,
    left: Vec<Deed>,
}

impl Deeds {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), left: Vec::new() }
    }

    /// The next, and what a person does then.
    pub(super) fn next_two(&mut self) -> (Deed, Meanwhile) {
        let meanwhile = match self.below(3) {
            0 => Meanwhile::Creates,
            1 => Meanwhile::Deletes,
            _ => Meanwhile::Waits,
        };
        if self.left.is_empty() {
            self.left = self.all();
        }
        let at = self.below(self.left.len());
        let deed = self.left.swap_remove(at);
        // Where nobody asks for anything, nothing can go wrong with it.
        let needs_work = matches!(
            deed,
            Deed::BrownOut(_)
                | Deed::Throttle(_)
                | Deed::LostReplies(_)
                | Deed::WatchesBroken
                | Deed::WatchesExpired
                | Deed::ManagerRestarted
                | Deed::ManagerCrashed
        );
        (deed, if needs_work { Meanwhile::Creates } else { meanwhile })
    }

    fn all(&mut self) -> Vec<Deed> {
        let mut service = || CLOUD.get(self.below(CLOUD.len())).copied().unwrap_or(Service::LoadBalancer);
        vec![
            Deed::BrownOut(service()),
            Deed::Throttle(service()),
            Deed::LostReplies(Service::LoadBalancer),
            Deed::LostReplies(Service::Network),
            Deed::TokensRevoked,
            Deed::BalancerError,
            Deed::BalancerDeleted,
            Deed::ListenerDeleted,
            Deed::MemberDeleted,
            Deed::WatchesBroken,
            Deed::WatchesExpired,
            Deed::ApiServerOverloaded,
            Deed::ManagerRestarted,
            Deed::ManagerCrashed,
            Deed::ServerReplaced,
        ]
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap_or(1);
        usize::try_from(self.random.next_u64() % limit).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, count: usize) -> Vec<(Deed, Meanwhile)> {
        let mut deeds = Deeds::new(seed);
        (0..count).map(|_| deeds.next_two()).collect()
    }

    #[test]
    fn a_seed_always_gives_the_same_and_another_one_something_else() {
        assert_eq!(first(7, 50), first(7, 50));
        assert_ne!(first(7, 50), first(8, 50));
    }

    #[test]
    fn every_kind_comes_before_one_comes_again() {
        let mut names: Vec<String> = first(3, 15).iter().map(|(deed, _)| format!("{deed:?}")).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 15);
    }
}
