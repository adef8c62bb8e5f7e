//! What the operator decides, as functions of their input: which platform a cluster runs on, which flags its components
//! need, what becomes of a cloud configuration, what makes pods roll, and when a rollout is done.
//!
//! `apply`, `observe`, `operate`, `openshift` and `command` perform it. Nothing else here talks to an API server, reads a file or
//! looks at a clock. Texts that may hold secrets are never quoted in errors.

pub mod allowed;
pub mod api;
pub mod apply;
pub mod command;
pub mod config;
pub mod feature_gates;
pub mod flags;
pub mod hash;
pub mod images;
pub mod infrastructure;
pub mod install;
pub mod migration;
pub mod observe;
pub mod openshift;
pub mod operate;
pub mod platform;
pub mod proxy;
pub mod reference;
pub mod render;
pub mod rollout;
pub mod tls;
pub mod trust;
