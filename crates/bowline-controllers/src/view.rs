//! What is kept in memory of Nodes and Services: projections, never whole objects.

mod cidr;
pub mod node;
mod reference;
pub mod service;

pub use cidr::lenient_cidr;
pub use node::{SlimNode, node_view};
pub use reference::{node_reference, reference, service_reference};
pub use service::{SERVICE_CONDITION, SlimService, service_view};
