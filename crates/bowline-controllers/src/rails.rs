//! The safety rails that controllers put between plan and execution. Pure: they judge, and perform nothing.

pub mod second_look;
