//! Tenancy: what the Services of a namespace may use of the cloud, by the rules of cloud.conf. Pure.
//!
//! [`sharing`] decides who may join a load balancer and who inherits it; [`rules`] judges the values that a Service asks for;
//! [`policy`] has the API server judge them too.
//! Annotations are wishes and prove nothing. What proves that a Service uses a load balancer is its tag there, which a user of a
//! namespace cannot write. A rule never deletes anything.

pub mod policy;
pub mod rules;
pub mod sharing;

pub use self::rules::held_back;
