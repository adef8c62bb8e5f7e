//! Load balancers: what a Service wants of Octavia and Neutron, and what things are called there.
//!
//! [`annotations`] is the table of what a Service may say, [`admission`] the policy that is made of it, [`features`] what the
//! cloud can do, [`intent`] makes a typed wish of Service, configuration and features, [`names`] and [`ownership`] know what things are called and whose they are. [`found`] is
//! what is there, [`wanted`] what shall be there, [`step`] what can be done about it, [`plan`] decides, [`notes`] is what is written
//! on the Service, [`shortfalls`] what it asks for and does not get, [`picture`] what is shown to people, and [`Observed`] ties them together. All of these are pure. [`Balancers`] is the shell around them: it looks
//! at the cloud and performs steps.

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
