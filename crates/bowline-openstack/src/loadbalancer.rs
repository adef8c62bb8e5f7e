//! Load balancers: what a Service wants of Octavia and Neutron, and the names of its objects there.
//!
//! The pure modules: [`annotations`] is the table of annotations and [`admission`] the admission policy generated from it. [`features`]
//! describes what the cloud supports. [`intent`] combines Service, configuration and features into typed values. [`names`] and
//! [`ownership`] identify objects and their owners. [`found`] is the observed state, [`wanted`] the wanted state, [`step`] a single change,
//! and [`plan`] computes the steps. [`notes`] are the annotations that are stored on the Service, [`shortfalls`] the settings that an
//! existing load balancer does not have, and [`picture`] the topology shown to people. [`Observed`] combines them.
//!
//! [`Balancers`] is the asynchronous shell around them: it observes the cloud and executes steps.

pub mod admission;
pub mod annotations;
mod balancers;
mod broken;
mod execute;
pub mod features;
mod fingerprint;
pub mod found;
pub mod group;
pub mod intent;
pub mod members;
mod memory;
pub mod names;
pub mod notes;
mod observe;
mod observed;
pub mod ownership;
pub mod picture;
pub mod plan;
mod resolve;
pub mod shortfalls;
pub mod step;
pub mod subnet_choice;
pub mod tenancy;
#[cfg(test)]
mod tests;
mod told;
mod trouble;
pub mod unreadable;
pub mod wanted;

pub use self::balancers::{Balancers, Lore};
pub(crate) use self::execute::port::{PortTurns, remove_group};
pub use self::observed::{Observation, Observed};
