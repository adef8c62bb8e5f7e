//! Benchmarks that count. What is counted is the same on every machine, so tests hold it to its budget.

pub mod footprint;
mod listing;
pub mod objects;
