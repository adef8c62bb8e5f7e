//! cloud.conf: how it is read, what it says, and how it changes while we run.
//!
//! [`gcfg`] is the text format, [`keys`] the table of keys, [`decode()`] makes a [`CloudConf`] of texts. [`Site`] reads all that
//! a configuration is made of and makes a [`Configuration`], ready for a client; [`Reloader`] keeps it current. Kubernetes
//! is not known here: a Secret is read through a trait of `bowline-cloud`.

mod check;
mod connection;
mod decode;
mod environment;
pub mod gcfg;
pub mod keys;
pub(crate) mod kinds;
mod machine;
mod model;
mod overlay;
mod problem;
mod reload;
mod source;
pub mod tenancy;

pub use self::connection::{Configuration, Connection};
pub use self::decode::{Decoded, Source, decode};
pub use self::environment::Environment;
pub use self::machine::is_ignored_key;
pub use self::model::{CloudConf, Global, LoadBalancer, LoadBalancerClass, Metadata, Networking, Route};
pub use self::overlay::auth_options;
pub use self::problem::{Problem, Problems};
pub use self::reload::{
    FIRST_RETRY, LONGEST_RETRY, NoProject, ProjectOf, Refused, ReloadStatus, Reloader, SHORTEST_PAUSE,
    project_of,
};
pub use self::source::{ConfigSource, LoadError, POLL, SETTLE, Site};
pub use self::tenancy::{Tenancy, TenancySection};

/// Reads any bytes as a cloud.conf, as a fuzzer wants it: must not panic whatever they are.
///
/// # Errors
///
/// If what was read does not print as it was.
pub fn read_anything(bytes: &[u8]) -> Result<(), &'static str> {
    let Ok(text) = gcfg::text_of(bytes) else { return Ok(()) };
    let document = gcfg::parse(text);
    if document.to_string() != text {
        return Err("a document does not print as the text it was read from");
    }
    // Problems are what such texts are expected to have.
    drop(decode(&[Source::new("bytes", text)]));
    Ok(())
}
