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

mod compare;
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
    let mut player = Player::new();
    identity::replay(&mut player);
    compute::replay(&mut player);
    network::replay(&mut player);
    load_balancer::replay(&mut player);
    let replayed = player.replayed();
    let report = deviations::judge(&player);
    assert!(
        report.is_empty(),
        "{} of {replayed} exchanges differ in unlisted ways:\n{}",
        report.len(),
        report.join("\n")
    );
    assert!(replayed > 400, "only {replayed} exchanges were replayed");
}
