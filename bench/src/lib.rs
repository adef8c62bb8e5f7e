//! Benchmarks that count. What is counted is the same on every machine, so tests hold it to its budget.

pub mod ccm;
pub mod footprint;
pub mod initial_list;
pub mod kept_servers;
#[expect(clippy::indexing_slicing, reason = "of JSON that is made right there")]
mod listing;
#[expect(clippy::indexing_slicing, reason = "of JSON that is made right there")]
pub mod objects;
mod own_thread;
mod served_cloud;
pub mod served_cluster;
pub mod server_list;
