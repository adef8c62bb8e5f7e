//! The OpenStack provider of Bowline.
//!
//! It never sees a Kubernetes client: what it needs of the cluster is handed in through traits of `bowline-cloud`.

pub mod cleanup;
pub mod cloud;
pub mod config;
pub mod error;
pub mod fence;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod instances;
pub mod inventory;
pub mod loadbalancer;
pub mod reference;
pub mod routes;
