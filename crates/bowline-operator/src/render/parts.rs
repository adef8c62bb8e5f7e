//! The parts of pods that the operator's own pod is made of, too.

pub(crate) use super::hardening::probes;
pub(crate) use super::placement::{manager_tolerations, spread};
pub(crate) use super::pod::{base, hardened, https_port, requests, with_memory_limit};
pub(crate) use super::program::variable;
