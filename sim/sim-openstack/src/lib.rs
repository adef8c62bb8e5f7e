//! An OpenStack in memory, for tests, the simulation and the playground.
//!
//! [`Cloud`] is the core: synchronous, a pure function of its configuration, the requests and the times at which they
//! arrive. [`SimService`] makes it a `tower::Service`, [`serve`] an HTTP server on which the `openstack` command-line
//! client works. Faults are injected with [`Faults`]; [`Cloud::edit`] changes things behind the API's back.
//!
//! It moves no packets and has no compatibility code for old releases: it answers as the releases do that the recorded
//! exchanges of `cloud-differential` come from, which compares it with them and with a running cloud.

mod ask;
mod clock;
mod cloud;
pub mod command;
pub mod compute;
mod config;
mod faults;
mod http;
pub mod identity;
mod ids;
pub mod image;
pub mod key_manager;
mod listing;
pub mod load_balancer;
mod log;
pub mod network;
mod schedule;
mod seed;
mod table;

pub use clock::{Clock, TokioClock};
pub use cloud::{Cloud, Outcome, State, World};
pub use config::{Config, Endpoint, Latencies, Region, Service};
pub use faults::{Chaos, Fault, FaultBody, Faults, Rule, RuleId};
pub use http::{ApiRequest, ApiResponse, Body, Call, Caller, Query, Refusal, Reply};
pub use http::{ReplyLost, SimBody, SimService, serve};
pub use ids::IdGenerator;
pub use log::{Asked, LogEntry, RequestLog};
pub use schedule::{Effect, Schedule};
pub use seed::{ADMIN, Account, Estate, EstateSize, MEMBER, add_account, cloud_conf, clouds_yaml, seed};
pub use table::{OrderKey, Row, Table};
