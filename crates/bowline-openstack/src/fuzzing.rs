//! Entries for a fuzzer, and for the tests here that do the same in a small way: anything as a provider ID, as the annotations of a
//! Service, as what a Service wants and what a cloud has. None may panic, and each says what must hold whatever the bytes are.
//!
//! For `fuzz/` (by the feature `fuzzing`) and for tests only: no part of the provider, and nothing talks.

mod annotations;
mod choices;
mod order;
mod ours;
mod performed;
mod plan;
mod provider_id;
pub(crate) mod scene;
pub(crate) mod seeds;
#[cfg(test)]
mod tests;
#[cfg_attr(not(test), expect(dead_code, reason = "tests use more of it"))]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a model for tests: what cannot be is told at once"
)]
pub(crate) mod world;

pub use self::annotations::annotations;
pub use self::choices::Choices;
pub use self::performed::performed;
pub use self::plan::plan;
pub use self::provider_id::provider_id;
pub use self::seeds::bytes;

/// What holds, or what does not, with what was seen.
pub type Held = Result<(), String>;
