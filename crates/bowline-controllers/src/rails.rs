//! The safety rails of the controllers: each judges a plan before anything of it is done. Pure: they hold nothing back
//! themselves, they say what must be.

pub mod create_budget;
pub mod empty_set;
