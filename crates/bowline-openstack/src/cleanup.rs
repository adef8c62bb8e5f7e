//! Removes what a cluster that is no more left in the cloud: its load balancers with all that hangs on them, the floating IPs
//! that were made for them, and the security groups of their Services.
//!
//! [`observe()`] reads everything, [`CleanupPlan::of`] decides, [`perform`] removes one thing. Only tags prove whose something is
//! (see [`ownership`](crate::loadbalancer::ownership)): what merely has the right name is told of and stays. Load balancers bear
//! the tags, so they go last: what is interrupted can be run again.

mod execute;
mod observe;
mod plan;

pub use self::execute::{Done, perform};
pub use self::observe::{Inventory, observe};
pub use self::plan::{CleanupPlan, Kind, LeftAlone, Removal, Request, SeveralClusters, Thing, User};
