//! Load balancers: what a Service wants of Octavia and Neutron, and what things are called there.
//!
//! Pure so far: no client, no clock, no runtime. [`annotations`] is the table of what a Service may say, [`admission`] the
//! policy that is made from it, [`features`] is what
//! the cloud can do, [`intent`] makes a typed wish of Service, configuration and features, [`names`] knows what things are called.

pub mod admission;
pub mod annotations;
pub mod features;
pub mod intent;
pub mod names;
pub mod subnet_choice;
