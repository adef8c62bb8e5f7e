//! A Kubernetes API in memory, for tests, the simulation and the playground.
//!
//! [`SimKube`] is a `tower::Service` that `kube::Client::new` takes, and [`http::serve`] puts the same server on a
//! socket for kubectl. It stores any resource, keeps the real server's rules as far as controllers can see them
//! (resourceVersion, conflicts, watches, subresources, finalizers, allocation for Services), and takes its clock and
//! randomness from [`Config`], so that a seed replays.
//!
//! Deliberately absent: schemas of custom resources, admission webhooks, a scheduler, kubelets and workload
//! controllers, and graceful termination of pods.

mod bootstrap;
pub mod command;
mod config;
mod controllers;
mod core;
mod discovery;
mod fault;
pub mod http;
mod listing;
mod log;
mod object;
mod openapi;
pub mod patch;
mod protobuf;
mod request;
mod resource;
mod server;
mod shape;
mod status;
mod store;
mod strategy;
mod table;
mod typed;
mod verbs;

pub use config::{AccessRequest, Authorizer, Clock, Config, Numbers, User, random_numbers, seeded_numbers};
pub use fault::{Delivery, EventInfo, Interceptor, NoFaults, Reply, Verdict, WatchInfo};
pub use log::LogEntry;
pub use request::RequestInfo;
pub use resource::Resource;
pub use server::{ConnectionLost, DirectError, Objects, SimBody, SimKube};
pub use status::ApiError;
