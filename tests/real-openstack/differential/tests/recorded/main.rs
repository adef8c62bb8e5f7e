//! The simulator against recorded exchanges with a real OpenStack: the same requests in the same order, then statuses,
//! headers that matter, the shapes of bodies, and the words of errors are compared.
//!
//! What differs must be in the table of [`deviations`], each with its reason; a difference that is not there fails, and so
//! does an entry that no difference needs any more.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

mod compute;
mod deviations;
mod exchange;
mod identity;
mod load_balancer;
mod network;
mod player;

use player::Player;

#[test]
fn the_simulator_answers_as_the_real_services_did() {
    // Several seeds: what depends on the order of random identifiers must not decide.
    let players: Vec<Player> = (1..=3).map(replay).collect();
    let replayed = players.iter().map(Player::replayed).min().unwrap();
    let report = deviations::judge(&players);
    assert!(
        report.is_empty(),
        "{} differences in {replayed} exchanges are not listed:\n{}",
        report.len(),
        report.join("\n")
    );
    assert!(replayed > 400, "only {replayed} exchanges were replayed");
}

fn replay(seed: u64) -> Player {
    let mut player = Player::new(seed);
    identity::replay(&mut player);
    compute::replay(&mut player);
    network::replay(&mut player);
    load_balancer::replay(&mut player);
    player
}
