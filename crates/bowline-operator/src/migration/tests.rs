//! What a migration decides.

mod blocked;
mod checks;
mod kinds;
mod lost;
mod model;
mod phases;
mod removal;
mod rules;
mod scene;
mod static_pods;
mod steps;
