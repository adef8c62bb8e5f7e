//! The table of known differences between the simulator and the real services, each with its reason.

use cloud_differential::{Deviation, judge as judge_by};

use crate::player::Player;

const DEVIATIONS: &[Deviation] = &[
    Deviation::always(
        "auth-malformed-400",
        "body",
        "Keystone prints its whole JSON schema after the first line; the simulator only says the first line",
    ),
    Deviation::always(
        "auth-catalog",
        "body.catalog*",
        "the recorded cloud had Placement and no Barbican; the simulator has Barbican and no Placement",
    ),
    Deviation::always(
        "neutron-ports-page*",
        "body.ports*",
        "pages go by identifiers, which are random: other ports are on the page",
    ),
    Deviation::always(
        "neutron-ports-fields",
        "body.ports[].fixed_ips*",
        "the one port on the page is random: ports of servers have two addresses, the recorded port of the router had one",
    ),
    Deviation::always(
        "octavia-ovn-lb-status-tree",
        "body.statuses.loadbalancer.listeners[].pools[].operating_status",
        "OVN shows a pool without members as OFFLINE or ONLINE, depending on what was changed last; here it is ONLINE",
    ),
    Deviation::always(
        "octavia-ovn-pools-of-lb",
        "body.pools[].operating_status",
        "as in the status tree of OVN",
    ),
    Deviation::always(
        "octavia-*-lb-create-fully-populated",
        "body.loadbalancer.pools[].members[].operating_status",
        "Octavia shows NO_MONITOR for the members of one of the pools and OFFLINE for the others; here all have NO_MONITOR",
    ),
    Deviation::always(
        "octavia-ovn-lb-full-status",
        "body.statuses.loadbalancer.listeners[].pools[].members[].operating_status",
        "the same a moment later",
    ),
    Deviation::always(
        "octavia-amphora-members-list-after-additive",
        "body.members*",
        "a new member is OFFLINE until the next heartbeat of the amphora; here its monitor has seen it at once",
    ),
    Deviation::always(
        "octavia-ovn-members-list-after-*",
        "body.members",
        "recorded while OVN's driver still worked (new members are PENDING_CREATE): it adds before it deletes, and still \
         showed the member that the batch leaves out; here the test waits until it has ended",
    ),
    Deviation::always(
        "octavia-ovn-members-list-empty",
        "body.members",
        "the list was recorded while OVN's driver still worked on the members; here the test waits until it has ended",
    ),
    Deviation::always(
        "octavia-ovn-pool-deleted-404",
        "status",
        "the pool was recorded while OVN's driver still worked on it; here the test waits until it has ended",
    ),
];

/// Exchanges that are not replayed, and why.
const NOT_REPLAYED: &[(&str, &str)] = &[];

/// Every difference that is not in the table, every entry of the table without a difference, every exchange left over.
pub(crate) fn judge(players: &[Player]) -> Vec<String> {
    let differences = players.iter().flat_map(|player| player.differences.clone());
    let judgement = judge_by(differences, DEVIATIONS);
    let mut report: Vec<String> = judgement.unlisted.iter().map(ToString::to_string).collect();
    report.extend(judgement.stale);
    let listed = |name: &str| NOT_REPLAYED.iter().any(|(listed, _)| *listed == name);
    let left_over = players.iter().flat_map(Player::left_over).filter(|name| !listed(name));
    report.extend(left_over.map(|name| format!("{name} is not replayed")));
    report
}
