//! The table of known differences between the simulator and the real services, each with its reason.

use crate::player::Player;

/// A known difference: exchanges (a star stands for any text), the place in the answer, and why.
struct Deviation {
    exchange: &'static str,
    place: &'static str,
    reason: &'static str,
}

/// A row of the table.
const fn row(exchange: &'static str, place: &'static str, reason: &'static str) -> Deviation {
    Deviation { exchange, place, reason }
}

const DEVIATIONS: &[Deviation] = &[
    row(
        "auth-malformed-400",
        "body",
        "Keystone prints its whole JSON schema after the first line; the simulator only says the first line",
    ),
    row(
        "auth-catalog",
        "body.catalog*",
        "the recorded cloud had Placement and no Barbican; the simulator has Barbican and no Placement",
    ),
    row(
        "neutron-ports-page*",
        "body.ports*",
        "pages go by identifiers, which are random: other ports are on the page",
    ),
    row(
        "neutron-ports-fields",
        "body.ports[].fixed_ips",
        "the one port on the page is random: ports of servers have two addresses, the recorded port of the router had one",
    ),
    row(
        "octavia-ovn-lb-status-tree",
        "body.statuses.loadbalancer.listeners[].pools[].operating_status",
        "OVN shows a pool without members as OFFLINE or ONLINE, depending on what was changed last; here it is ONLINE",
    ),
    row("octavia-ovn-pools-of-lb", "body.pools[].operating_status", "as in the status tree of OVN"),
    row(
        "octavia-*-lb-create-fully-populated",
        "body.loadbalancer.pools[].members[].operating_status",
        "Octavia shows NO_MONITOR for the members of one of the pools and OFFLINE for the others; here all have NO_MONITOR",
    ),
    row(
        "octavia-ovn-lb-full-status",
        "body.statuses.loadbalancer.listeners[].pools[].members[].operating_status",
        "the same a moment later",
    ),
    row(
        "octavia-amphora-members-list-after-additive",
        "body.members*",
        "a new member is OFFLINE until the next heartbeat of the amphora; here its monitor has seen it at once",
    ),
    row(
        "octavia-ovn-members-list-after-*",
        "body.members",
        "recorded while OVN's driver still worked (new members are PENDING_CREATE): it adds before it deletes, and still \
         showed the member that the batch leaves out; here the test waits until it has ended",
    ),
    row(
        "octavia-ovn-members-list-empty",
        "body.members",
        "the list was recorded while OVN's driver still worked on the members; here the test waits until it has ended",
    ),
    row(
        "octavia-ovn-pool-deleted-404",
        "status",
        "the pool was recorded while OVN's driver still worked on it; here the test waits until it has ended",
    ),
];

/// Exchanges that are not replayed, and why.
const NOT_REPLAYED: &[(&str, &str)] = &[];

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            text.starts_with(start) && text.ends_with(end) && text.len() >= start.len() + end.len()
        }
        None => pattern == text,
    }
}

/// Every difference that is not in the table, every entry of the table without a difference, every exchange left over.
pub(crate) fn judge(players: &[Player]) -> Vec<String> {
    let mut report = Vec::new();
    let mut used = vec![false; DEVIATIONS.len()];
    for difference in players.iter().flat_map(|player| &player.differences) {
        let known = DEVIATIONS.iter().position(|deviation| {
            matches(deviation.exchange, &difference.exchange) && matches(deviation.place, &difference.place)
        });
        match known {
            Some(index) => used[index] = true,
            None => {
                report.push(format!("{} at {}: {}", difference.exchange, difference.place, difference.what));
            }
        }
    }
    for (deviation, used) in DEVIATIONS.iter().zip(used) {
        if !used {
            report.push(format!(
                "no longer differs: {} at {} ({})",
                deviation.exchange, deviation.place, deviation.reason
            ));
        }
    }
    let listed = |name: &str| NOT_REPLAYED.iter().any(|(listed, _)| *listed == name);
    report.extend(
        players
            .iter()
            .flat_map(Player::left_over)
            .filter(|name| !listed(name))
            .map(|name| format!("{name} is not replayed")),
    );
    report
}
