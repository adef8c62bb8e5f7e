//! Tenancy: what the Services of a namespace may use of the cloud, by the rules of cloud.conf. Pure.
//!
//! [`sharing`] decides which Services may join a load balancer and which one inherits it, [`rules`] checks the values that a Service
//! requests, and [`policy`] generates an admission policy so that the API server checks them, too.
//! Annotations are requests and prove nothing. The proof that a Service uses a load balancer is its tag there, which users of a namespace
//! cannot write. A rule never deletes anything.

pub mod policy;
pub mod rules;
pub mod sharing;

pub use self::rules::held_back;
