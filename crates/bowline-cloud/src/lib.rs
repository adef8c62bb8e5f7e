//! The provider interface of Bowline: traits and value types, no I/O.
//!
//! A cloud implements [`Cloud`] and as much of [`Instances`], [`LoadBalancers`] and [`Routes`] as it has. The controllers,
//! the safety rails, the limits and the process around them come from the framework.
//!
//! Everything follows one idea. *Observe* builds a complete picture or admits that it cannot ([`Evidence`]). *Plan* is a
//! pure function from what is wanted and what is there to a [`Plan`]: typed steps, each with its reason. *Execute*
//! performs one step and makes no choices.
//!
//! This crate deliberately has no client, no runtime and no clock: it builds without tokio and without kube.

pub mod broken;
pub mod bucket;
pub mod budget;
pub mod cidr;
pub mod cloud;
pub mod directory;
pub mod ensure;
pub mod error;
pub mod events;
pub mod evidence;
pub mod extra;
pub mod fair;
pub mod fence;
pub mod finalizers;
pub mod instances;
pub mod journal;
pub mod loadbalancer;
pub mod node;
pub mod notes;
pub mod pairs;
pub mod pause;
pub mod picture;
pub mod plan;
pub mod reference;
pub mod resync;
pub mod routes;
pub mod secrets;
pub mod service;
pub mod shadow;
pub mod shortfall;
pub mod source_ranges;
pub mod suggest;
pub mod words;

pub use async_trait::async_trait;
/// A string in 16 bytes: short ones cost nothing more, clones are cheap. The views are kept by the thousand.
pub use ecow::EcoString as Text;

pub use broken::{Broken, Traffic};
pub use bucket::TokenBucket;
pub use budget::{CallBudget, Unlimited, Urgency};
pub use cidr::lenient_cidr;
pub use cloud::{Capability, Cloud, CloudConfig, CloudContext, CloudFactory};
pub use directory::{ServiceDirectory, ServiceLookup};
pub use ensure::{EnsureLoadBalancer, EnsureOutcome, Ensured};
pub use error::{CloudError, ErrorClass, Retry};
pub use events::{About, EventKind, EventSink, NoEvents};
pub use evidence::{Doubt, Evidence, Proof};
pub use extra::{Answer, ExtraController, Watched, Watches};
pub use fair::{FairPermit, FairSemaphore, namespace_in_turn, on_behalf_of};
pub use fence::{Fence, Fenced, Pause, Unfenced};
pub use finalizers::Finalizers;
pub use instances::{Claim, Instance, InstanceLookup, Instances, OneByOne, Power};
pub use journal::{CallNote, EventNote, HeldNote, Journal, Note, Scribe, ServiceNote, Standing, StepNote};
pub use loadbalancer::{
    AnyLoadBalancers, AnyObserved, AnyStep, LoadBalancerRequest, LoadBalancers, Purpose, Reconcile,
    Reconciled,
};
pub use node::{AddressKind, ConditionView, NodeAddress, NodeSet, NodeView, Taint};
pub use notes::Notes;
pub use pairs::Pairs;
pub use pause::{PAUSED, pause_said};
pub use picture::BalancerPicture;
pub use plan::{Plan, Planned, Refusal, SetChange, Step, StepFacts, Verb, Wait};
pub use resync::RESYNC_AT;
pub use routes::{Route, RouteChange, Routes};
pub use secrets::{SecretData, SecretError, SecretReader, SecretReference};
pub use service::{
    ConditionStatus, Ingress, IpMode, LoadBalancerStatus, PortStatus, ServiceCondition, ServiceKey,
    ServicePort, ServiceView,
};
pub use shortfall::{Shortfall, ShortfallKind};
pub use source_ranges::{SourceRanges, WrongSourceRanges};
pub use words::{IpFamily, IpFamilyPolicy, Protocol, ServiceType, SessionAffinity, TrafficPolicy};
