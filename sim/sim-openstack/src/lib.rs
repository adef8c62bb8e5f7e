//! An OpenStack in memory, for tests, the simulation and the playground.
