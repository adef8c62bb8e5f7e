//! A Kubernetes API in memory, for tests, the simulation and the playground.

pub mod patch;
