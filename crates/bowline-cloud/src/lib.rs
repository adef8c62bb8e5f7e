//! The provider interface of Bowline: traits and value types, no I/O.
//!
//! A provider implements [`Cloud`] and those of [`Instances`], [`LoadBalancers`] and [`Routes`] that its cloud supports. The framework
//! supplies the controllers, the safety rails, the rate limits and the process.
//!
//! Every operation has three phases. *Observe* returns a complete observation, or states that it could not get one ([`Evidence`]). *Plan*
//! is a pure function from the desired and the observed state to a [`Plan`]: typed steps, each with its reason. *Execute* performs one step
//! and makes no decisions.
//!
//! This crate has no client, no runtime and no clock on purpose: it builds without tokio and without kube.

pub mod broken;
pub mod cidr;
pub mod cloud;
pub mod directory;
pub mod events;
pub mod extra;
pub mod finalizers;
pub mod instances;
pub mod journal;
pub mod load_balancer;
pub mod node;
pub mod notes;
pub mod pairs;
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

/// Types that the provider interface shares with the rest of the framework, re-exported so that a provider needs no other crate.
pub use bowline_core::{
    CallBudget, CloudError, Doubt, ErrorClass, EventKind, Evidence, FairPermit, FairSemaphore, Fence, Fenced,
    PAUSED, Pause, Proof, Retry, Text, TokenBucket, Unfenced, Unlimited, Urgency, namespace_in_turn,
    on_behalf_of, pause_said,
};

pub use broken::{Broken, Traffic};
pub use cidr::lenient_cidr;
pub use cloud::{Capability, Cloud, CloudConfig, CloudContext, CloudFactory};
pub use directory::{ServiceDirectory, ServiceLookup};
pub use events::{About, EventSink, NoEvents};
pub use extra::{Answer, ExtraController, Watched, Watches};
pub use finalizers::Finalizers;
pub use instances::{Claim, Instance, InstanceLookup, Instances, OneByOne, Power};
pub use journal::{CallNote, EventNote, HeldNote, Journal, Note, Scribe, ServiceNote, Standing, StepNote};
pub use load_balancer::ensure::{EnsureLoadBalancer, EnsureOutcome, Ensured};
pub use load_balancer::{
    AnyLoadBalancers, AnyObserved, AnyStep, LoadBalancerPolicy, LoadBalancerRequest, LoadBalancers,
    ObservedLoadBalancer, PlainPolicy, Purpose, Reconcile, Reconciled,
};
pub use node::{AddressKind, ConditionView, NodeAddress, NodeSet, NodeView, Taint};
pub use notes::Notes;
pub use pairs::Pairs;
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
