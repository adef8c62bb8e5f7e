//! cloud.conf: how it is read, what it says, and how it changes while we run.
//!
//! [`gcfg`] is the text format, [`keys`] the table of keys, [`decode()`] makes a [`CloudConf`] of texts. Nothing here talks to
//! a cloud or to Kubernetes.

mod check;
mod decode;
pub mod gcfg;
pub mod keys;
mod kinds;
mod model;
mod problem;

pub use self::decode::{Decoded, Source, decode};
pub use self::model::{CloudConf, Global, LoadBalancer, LoadBalancerClass, Metadata, Networking, Route};
pub use self::problem::{Problem, Problems};
