//! Load balancers: what a Service wants of Octavia and Neutron, and what things are called there.
//!
//! [`annotations`] is the table of what a Service may say, [`admission`] the policy that is made of it, [`features`] what the cloud can do, [`intent`] makes a typed wish of
//! Service, configuration and features, [`names`] and [`ownership`] know what things are called and whose they are. [`found`] is
//! what is there, [`wanted`] what shall be there, [`step`] what can be done about it, [`plan`] what is done. All of these are pure.

pub mod admission;
pub mod annotations;
pub mod features;
pub mod found;
pub mod group;
pub mod intent;
pub mod names;
pub mod ownership;
pub mod plan;
pub mod step;
pub mod subnet_choice;
pub mod wanted;
