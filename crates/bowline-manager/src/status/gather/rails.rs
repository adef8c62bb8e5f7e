//! The safety rails and their current state.

use crate::status::board::Board;
use crate::status::overview::RailRow;

pub(super) fn rows(board: &Board) -> Vec<RailRow> {
    let limits = &board.limits;
    let deletion = &board.metrics.node_deletion;
    let held = |rail| deletion.held_by(rail);
    let count = |rail| u64::try_from(held(rail)).unwrap_or_default();
    let breaker = deletion.breaker_open.get() != 0;
    let pause = board.parts().fence.as_ref().and_then(|fence| fence.paused());
    let loss = board.identity.watch().borrow().clone();
    let minutes = limits.deletion_window.as_secs() / 60;
    let mut rails = vec![
        RailRow {
            id: "SR-1",
            name: "Unknown is not gone",
            guards: "a Node is deleted only if the cloud proves that its server is gone".to_owned(),
            holds: held("evidence") > 0,
            says: nodes(held("evidence"), "the cloud does not say"),
            rail: "evidence",
            nodes_held: Some(count("evidence")),
            plans_held: None,
        },
        RailRow {
            id: "SR-2",
            name: "Node deletion budget",
            guards: format!("at most {}% of the Nodes within {minutes} minutes", limits.deletion_percent),
            holds: held("budget") > 0,
            says: nodes(held("budget"), "the budget is spent"),
            rail: "budget",
            nodes_held: Some(count("budget")),
            plans_held: None,
        },
        RailRow {
            id: "SR-2",
            name: "Node deletion breaker",
            guards: format!(
                "opens when more than {}% seem gone at once; then none goes",
                limits.breaker_percent
            ),
            holds: breaker,
            says: match breaker {
                true => format!("open: {} Nodes held. Check credentials and project", held("breaker")),
                false => "closed".to_owned(),
            },
            rail: "breaker",
            nodes_held: Some(count("breaker")),
            plans_held: None,
        },
        RailRow {
            id: "SR-3",
            name: "Identity",
            guards: "nothing is written while the cloud does not know us, or knows us as somebody else"
                .to_owned(),
            holds: loss.is_some(),
            says: loss.map_or("the cloud knows us".to_owned(), |loss| loss.to_string()),
            rail: "identity",
            nodes_held: None,
            plans_held: None,
        },
        RailRow {
            id: "SR-14",
            name: "New node grace",
            guards: "a Node that just joined is spared".to_owned(),
            holds: held("grace") > 0,
            says: nodes(held("grace"), "it is too new"),
            rail: "grace",
            nodes_held: Some(count("grace")),
            plans_held: None,
        },
        RailRow {
            id: "SR-15",
            name: "Pause",
            guards: "a person can stop all writes".to_owned(),
            holds: pause.is_some(),
            says: pause.map_or("not paused".to_owned(), |pause| pause.to_string()),
            rail: "pause",
            nodes_held: None,
            plans_held: None,
        },
    ];
    rails.extend([
        counted(board, "SR-7", "Second look", "second-look", "large removals are looked at twice"),
        counted(board, "SR-10", "Create budget", "create-budget", "nothing is created over and over"),
    ]);
    let breaker_open = board.metrics.load_balancer_breaker_open.get() != 0;
    let guards = format!(
        "a broken load balancer that may carry traffic is kept; none is replaced when more than {}% are broken at once",
        limits.replacement_breaker_percent
    );
    let replacement = counted(board, "SR-19", "Broken is not useless", "replacement", &guards);
    rails.push(match breaker_open {
        true => RailRow { holds: true, says: format!("breaker open; {}", replacement.says), ..replacement },
        false => replacement,
    });
    if limits.skip_node_deletion {
        rails.push(RailRow {
            id: "mode",
            name: "Skip node deletion",
            guards: "no Node is deleted, even if its server is proven gone (--skip-node-deletion)".to_owned(),
            holds: true,
            says: nodes(held("skip"), "deletion is off"),
            rail: "skip",
            nodes_held: Some(count("skip")),
            plans_held: None,
        });
    }
    if limits.adopt_only {
        let guards = "nothing that users reach is made, deleted or exchanged";
        let rail = counted(board, "mode", "Adopt only", "adopt-only", guards);
        rails.push(RailRow { holds: true, ..rail });
    }
    rails
}

fn nodes(held: i64, why: &str) -> String {
    match held {
        0 => "nothing held".to_owned(),
        1 => format!("1 Node held: {why}"),
        held => format!("{held} Nodes held: {why}"),
    }
}

/// A rail about Services: the Services' states show what it holds now, and a counter shows how often it did.
fn counted(board: &Board, id: &'static str, name: &'static str, rail: &'static str, guards: &str) -> RailRow {
    let notes = board.notebook.read();
    let is_held = |standing: &bowline_cloud::Standing| matches!(standing, bowline_cloud::Standing::Held { rail: by, .. } if *by == rail);
    let now = notes.services.values().filter(|stood| is_held(&stood.standing)).count();
    drop(notes);
    let times = board.metrics.times_held_back(rail);
    let says = match now {
        0 => format!("nothing held now; {times} times since the start"),
        now => format!("{now} Services held now; {times} times since the start"),
    };
    RailRow {
        id,
        name,
        guards: guards.to_owned(),
        holds: now > 0,
        says,
        rail,
        nodes_held: None,
        plans_held: Some(times),
    }
}
