//! The servers behind the Nodes.

pub mod addresses;
pub mod metadata;
pub mod provider_id;
