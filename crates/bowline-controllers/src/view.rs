//! What is kept in memory of Nodes and Services: projections, never whole objects.

pub mod node;
pub mod service;

pub use node::{SlimNode, node_view};
pub use service::{SlimService, service_view};
