//! How answers that are too old are renewed with the fewest calls: by asking for these servers, for what has changed since all were listed,
//! or for all of the project. Pure.
//!
//! Nova finds servers by one id or one name at a time (it takes a name for a pattern, but Nova on MySQL knows no alternatives in it), and
//! Neutron the ports of fifty servers in one call. All servers cost `n / 1000 + 1` calls, and all ports one where Neutron has no limit.
//! So one Node that joins costs two calls however many there are. Several at once are found among what has changed, which is two
//! calls as well, or with less than 1,000 servers among all, which is no more. What was listed before and is too old need not be among
//! the changes: that is asked for, or all is. Where only presence is asked for no ports are read, and with 100 nodes one call tells it
//! of all; it is never taken from changes, as servers of which nothing is said may be those of a cell that is down.

use super::attention::Need;
use crate::inventory::{Calls, group_count};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// These servers.
    These,
    /// What has changed, and of these servers what is not among it.
    Changes,
    /// All servers.
    All,
}

/// The servers of which the answers are too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stale {
    /// How many there are.
    pub(super) count: usize,
    /// How many of them are not in the list, so that their ports are not known.
    pub(super) unlisted: usize,
    /// How many of these were not sought one by one since: they may have been made just now.
    pub(super) unsought: usize,
}

/// What is cheapest. `changes` are the calls that a list of what has changed takes, if it can be had. If two cost the same, the smaller
/// answer is taken; but all rather than what has changed, for that renews everything.
pub(super) fn reach(stale: Stale, need: Need, all: Calls, changes: Option<usize>) -> Reach {
    let Stale { count, unlisted, unsought } = stale;
    let (these, whole) = match need {
        Need::Everything => (count + group_count(unlisted), all.all()),
        Need::Presence => (count, all.servers),
    };
    let ports = group_count(unsought).min(all.ports);
    let changed = |calls: usize| calls + ports + count.saturating_sub(unsought);
    let is_cheaper = changes.is_some_and(|calls| changed(calls) < these.min(whole));
    match these <= whole {
        _ if is_cheaper && need == Need::Everything => Reach::Changes,
        true => Reach::These,
        false => Reach::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUNDRED: Calls = Calls { servers: 1, ports: 1 };
    const FIVE_THOUSAND: Calls = Calls { servers: 6, ports: 1 };

    /// Nodes that join.
    fn new(count: usize) -> Stale {
        Stale { count, unlisted: count, unsought: count }
    }

    #[test]
    fn one_that_joins_is_asked_for_and_many_are_found_among_what_has_changed_or_all() {
        for (nodes, all, changes, asked) in [
            (1, HUNDRED, Some(1), Reach::These),
            (2, HUNDRED, Some(1), Reach::All),
            (1, FIVE_THOUSAND, Some(1), Reach::These),
            (2, FIVE_THOUSAND, Some(1), Reach::Changes),
            (500, FIVE_THOUSAND, Some(1), Reach::Changes),
            (6, FIVE_THOUSAND, None, Reach::These),
            (7, FIVE_THOUSAND, None, Reach::All),
            // As much has changed as there is.
            (6, FIVE_THOUSAND, Some(6), Reach::These),
            (7, FIVE_THOUSAND, Some(6), Reach::All),
        ] {
            let found = reach(new(nodes), Need::Everything, all, changes);
            assert_eq!(found, asked, "{nodes} of {all:?}, {changes:?}");
        }
    }

    #[test]
    fn what_was_listed_or_sought_before_is_not_looked_for_among_what_has_changed() {
        let listed = |count| Stale { count, unlisted: 0, unsought: 0 };
        let asked = |stale| reach(stale, Need::Everything, FIVE_THOUSAND, Some(1));
        assert_eq!((asked(listed(7)), asked(listed(8))), (Reach::These, Reach::All));
        let sought = Stale { count: 3, unlisted: 3, unsought: 0 };
        assert_eq!(asked(sought), Reach::These);
        // A few beside those that join are asked for after them; too many are found among all.
        let beside = |old: usize| Stale { count: 50 + old, unlisted: 50, unsought: 50 };
        assert_eq!((asked(beside(4)), asked(beside(5))), (Reach::Changes, Reach::All));
    }

    #[test]
    fn no_ports_are_reckoned_with_where_they_are_known_or_nobody_wants_them() {
        let asked = |stale, need, all| reach(stale, need, all, Some(1));
        let known = Stale { count: 2, unlisted: 0, unsought: 0 };
        assert_eq!(asked(known, Need::Everything, HUNDRED), Reach::These);
        assert_eq!(asked(new(1), Need::Presence, HUNDRED), Reach::These);
        assert_eq!(asked(new(2), Need::Presence, HUNDRED), Reach::All);
        assert_eq!(asked(new(6), Need::Presence, FIVE_THOUSAND), Reach::These);
        assert_eq!(asked(new(7), Need::Presence, FIVE_THOUSAND), Reach::All);
    }
}
