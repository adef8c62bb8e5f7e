//! The projections of Nodes and Services that the informers cache, instead of whole objects.

mod informers;
mod metadata;
pub mod node;
mod reference;
pub mod service;

pub use informers::{node_informer, service_informer};
pub use node::{SlimNode, keeps_node_annotation, node_view};
pub use reference::{node_reference, reference, service_reference};
pub use service::{SERVICE_CONDITION, SlimService, keeps_service_annotation, service_view};

/// Collects without spare capacity, because views stay in memory: a parsed list usually has some.
fn exactly<T>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.shrink_to_fit();
    items
}
