//! The table of known differences between the simulator and the real services, each with its reason.

use crate::player::Player;

/// A known difference: exchanges (a star at the end stands for any text), the place in the answer, and why.
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
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}

/// Every difference that is not in the table, every entry of the table without a difference, every exchange left over.
pub(crate) fn judge(player: &Player) -> Vec<String> {
    let mut report = Vec::new();
    let mut used = vec![false; DEVIATIONS.len()];
    for difference in &player.differences {
        let known = DEVIATIONS.iter().position(|deviation| {
            matches(deviation.exchange, &difference.exchange) && matches(deviation.place, &difference.place)
        });
        match known {
            Some(index) => used[index] = true,
            None => {
                report.push(format!("{} at {}: {}", difference.exchange, difference.place, difference.what))
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
        player
            .left_over()
            .into_iter()
            .filter(|name| !listed(name))
            .map(|name| format!("{name} is not replayed")),
    );
    report
}
