//! The annotations of a Service: one table, from which reading, refusals and the reference page come.
//!
//! A row names its key, the kind of its value, what counts where it is not there, when it takes effect and what it means.
//! Nothing else in this crate knows the key of an annotation. What a value does is decided in [`super::intent`].

mod page;
mod read;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use self::page::reference_markdown;
pub use self::read::{Reader, Rejected, clipped, is_short};
pub use self::rows::*;

use super::intent::tags;
use super::names::LOAD_BALANCER_PREFIX;
use super::ownership;

/// How the keys begin that belong to load balancers of OpenStack alone.
pub const PREFIX: &str = "loadbalancer.openstack.org/";

/// The longest text that Octavia stores as a certificate reference or the name of an availability zone, in characters. A Service may
/// have 256 KiB in one annotation, and what it asks for is in memory several times.
pub const LONGEST_TEXT_CHARS: usize = 255;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// Any text of up to [`LONGEST_TEXT_CHARS`] characters.
    ShortText,
    /// The id of something in the cloud.
    Id,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Number {
        /// The least.
        least: i64,
        /// The greatest.
        most: i64,
        /// Of what.
        unit: &'static str,
    },
    /// A time with its unit, up to so many seconds.
    Duration {
        /// The greatest, in seconds.
        most: u32,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a `[LoadBalancerClass]`.
    Class,
    /// A pattern for the names of subnets.
    NamePattern,
    /// Tags of subnets.
    Tags,
    /// Tags to add to load balancers, listeners or pools.
    ExtraTags,
    /// Labels of Nodes.
    Selector,
    /// A certificate in the key manager; the reference has up to [`LONGEST_TEXT_CHARS`] characters.
    Certificate,
    /// Networks.
    Networks,
    /// An IP address.
    Address,
}

impl Kind {
    /// What is accepted, in words for a person.
    #[must_use]
    pub fn accepted(self) -> String {
        match self {
            Self::Text => "any text".to_owned(),
            Self::ShortText => format!("a text of up to {LONGEST_TEXT_CHARS} characters"),
            Self::Id => "an id: up to 255 printable characters without blanks, /, \\, ?, # and %".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Number { least, most, unit: "" } => {
                format!("a whole number from {least} to {most}")
            }
            Self::Number { least, most, unit } => format!("a whole number of {unit} from {least} to {most}"),
            Self::Duration { most } => {
                format!("a time with its unit such as 30s or 5m, up to {}h; 0 for none", most / 3600)
            }
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Class => "the name of a [LoadBalancerClass] of cloud.conf".to_owned(),
            Self::NamePattern => {
                "a glob, or a regular expression behind ~; a ! before it for all other names".to_owned()
            }
            Self::Tags => {
                "tags separated by commas; & before them for all of them, ! for the others".to_owned()
            }
            Self::ExtraTags => format!(
                "up to {} tags separated by commas, each of up to {} characters; none that begins with {} or {}, which say whose \
                 a load balancer is",
                tags::MOST,
                tags::LONGEST,
                LOAD_BALANCER_PREFIX,
                ownership::RESERVED
            ),
            Self::Selector => "labels as key=value or key, separated by commas".to_owned(),
            Self::Certificate => format!(
                "a reference of up to {LONGEST_TEXT_CHARS} characters that ends in /containers/<id> or /secrets/<id> of the key manager"
            ),
            Self::Networks => "networks such as 192.0.2.0/24, separated by commas".to_owned(),
            Self::Address => "an IP address".to_owned(),
        }
    }
}

/// What counts where the annotation is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// Nothing.
    Nothing,
    /// Always the same.
    Fixed(&'static str),
    /// A key of `[LoadBalancer]`.
    Config(&'static str),
    /// A key of the class, else the same key of `[LoadBalancer]`.
    ClassOrConfig(&'static str),
}

/// When a changed value takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// At once.
    Always,
    /// When the load balancer is made.
    Creation,
    /// When a floating IP is made.
    FloatingIp,
    /// When the Service is deleted or becomes internal.
    Removal,
    /// Written by the controller.
    Written,
}

/// What counts in place of a value that cannot be read, for a Service that has a load balancer already. One that has none is refused
/// whatever stands here.
///
/// Where OCCM goes on, so does Bowline: OCCM takes the default, or does not read the value while it only follows the Nodes. What
/// cannot be read never leads to a removal, and never ends TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// As if the annotation were not there.
    Unset,
    /// This value.
    Value(&'static str),
    /// What the load balancer has: the first listener or pool of the Service.
    InForce,
    /// What the Service shows: internal if its address is that of its load balancer.
    Shown,
    /// Nothing: the Service is refused, as OCCM fails there whatever it does.
    Refusal,
}

/// Where a Service says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In this annotation.
    Annotation(&'static str),
    /// In `spec.loadBalancerIP`.
    LoadBalancerIp,
}

impl Place {
    /// What counts where the value cannot be read.
    #[must_use]
    pub fn fallback(self) -> Fallback {
        match self {
            Self::Annotation(key) => find(key).map_or(Fallback::Refusal, |row| row.fallback),
            // It names the floating IP that is there, or counts when a load balancer is created.
            Self::LoadBalancerIp => Fallback::Unset,
        }
    }
}

/// A value that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it stands.
    pub place: Place,
    /// Where, what, and what is accepted.
    pub message: String,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotation {
    /// Its key.
    pub key: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What counts where it is not there.
    pub otherwise: Otherwise,
    /// When a changed value takes effect.
    pub effect: Effect,
    /// What counts in place of a value that cannot be read, for a Service that has a load balancer.
    pub fallback: Fallback,
    /// What to use in its place, if it should not be used any more.
    pub deprecated: Option<&'static str>,
    /// What it means.
    pub doc: &'static str,
}

impl Annotation {
    /// The same row with another fallback than its kind and its effect have.
    #[must_use]
    const fn unreadable(self, fallback: Fallback) -> Self {
        Self { fallback, ..self }
    }

    /// The key of cloud.conf that counts where the annotation is not there; empty if there is none.
    #[must_use]
    pub const fn config_key(&self) -> &'static str {
        match self.otherwise {
            Otherwise::Config(key) | Otherwise::ClassOrConfig(key) => key,
            Otherwise::Nothing | Otherwise::Fixed(_) => "",
        }
    }

    /// What always counts where the annotation is not there; empty if nothing does.
    #[must_use]
    pub const fn fixed(&self) -> &'static str {
        match self.otherwise {
            Otherwise::Fixed(value) => value,
            _ => "",
        }
    }
}

/// The row of a key. A Service may have thousands of other keys, each of which is looked up.
#[must_use]
pub fn find(key: &str) -> Option<&'static Annotation> {
    static BY_KEY: LazyLock<HashMap<&str, &Annotation>> =
        LazyLock::new(|| ANNOTATIONS.iter().map(|row| (row.key, row)).collect());
    BY_KEY.get(key).copied()
}
