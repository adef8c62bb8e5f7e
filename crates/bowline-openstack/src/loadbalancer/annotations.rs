//! The annotations of a Service: one table, from which reading, refusals and the reference page come.
//!
//! A row names its key, the kind of its value, what counts where it is not there, when it takes effect and what it means.
//! Nothing else in this crate knows the key of an annotation. What a value does is decided in [`super::intent`].

mod page;
mod read;
mod rows;
#[cfg(test)]
mod tests;

pub use self::page::reference_markdown;
pub use self::read::Reader;
pub use self::rows::*;

/// How the keys begin that belong to load balancers of OpenStack alone.
pub const PREFIX: &str = "loadbalancer.openstack.org/";

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
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
    /// Labels of Nodes.
    Selector,
    /// A certificate in the key manager.
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
            Self::Selector => "labels as key=value or key, separated by commas".to_owned(),
            Self::Certificate => {
                "a reference that ends in /containers/<id> or /secrets/<id> of the key manager".to_owned()
            }
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
    /// What to use in its place, if it should not be used any more.
    pub deprecated: Option<&'static str>,
    /// What it means.
    pub doc: &'static str,
}

impl Annotation {
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

/// The row of a key.
#[must_use]
pub fn find(key: &str) -> Option<&'static Annotation> {
    ANNOTATIONS.iter().find(|row| row.key == key)
}
