//! Safety rails: each answers an incident in which a cloud-controller-manager did harm. They judge what is planned before
//! it is executed, for every provider alike; a provider cannot opt out.
//!
//! Rails are values and pure functions: no client, no clock, no logging. Who asks them tells people what they held back.

pub mod claim;
pub mod create_budget;
pub mod deletion_budget;
pub mod identity;
pub mod new_node_grace;
pub mod second_look;
