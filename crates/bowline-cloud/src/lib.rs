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

/// The vocabulary that the provider interface shares with the rest of the framework: a provider needs no other crate.
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
