//! The load balancers on the simulated OpenStack, in virtual time; calls are counted by its log.

mod cleaning;
mod counts;
mod crashes;
mod doubt;
mod draining;
mod drift;
mod finding;
mod grouping;
mod moving;
mod noting;
mod performing;
mod picturing;
mod reading;
mod resolving;
mod sharing;
mod stage;
mod transitions;
