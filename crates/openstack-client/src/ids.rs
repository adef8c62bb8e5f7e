//! The ids of OpenStack's objects. Each kind has its own type, so the id of a network cannot be used as that of a port.
//!
//! Ids become part of request paths, so characters that could change the meaning of a path are rejected. An empty id would address the
//! whole collection.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// The maximum length of an id, in bytes.
const MAX_LEN: usize = 255;

/// A string that cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} {text:?} is not an id: wanted 1 to 255 printable characters without slashes, spaces, '?' or '#'"
)]
pub struct InvalidId {
    what: &'static str,
    text: String,
}

/// Checks an id. The characters of `inner` are also allowed, but not at the ends.
fn check(what: &'static str, text: &str, inner: &str) -> Result<(), InvalidId> {
    let good =
        |c: char| inner.contains(c) || (c.is_ascii_graphic() && !matches!(c, '/' | '\\' | '?' | '#' | '%'));
    let ends = text.starts_with(|c| inner.contains(c)) || text.ends_with(|c| inner.contains(c));
    let length = (1..=MAX_LEN).contains(&text.len());
    if !length || ends || matches!(text, "." | "..") || !text.chars().all(good) {
        return Err(InvalidId { what, text: text.chars().take(64).collect() });
    }
    Ok(())
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $what:literal $(with $inner:literal)?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Box<str>);

        impl $name {
            /// Validates `text` as an id.
            ///
            /// # Errors
            ///
            /// [`InvalidId`] if it is empty, too long, or has characters that ids do not have.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                check($what, &text, concat!($($inner)?))?;
                Ok(Self(text.into_boxed_str()))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(input)?).map_err(D::Error::custom)
            }
        }
    )*};
}

ids! {
    /// A server of Nova.
    ServerId = "server";
    /// A flavor of Nova. Administrators can choose its id freely.
    FlavorId = "flavor" with " ";
    /// A project of Keystone.
    ProjectId = "project";
    /// A network of Neutron.
    NetworkId = "network";
    /// A subnet of Neutron.
    SubnetId = "subnet";
    /// A port of Neutron.
    PortId = "port";
    /// A trunk of Neutron.
    TrunkId = "trunk";
    /// A router of Neutron.
    RouterId = "router";
    /// A floating IP of Neutron.
    FloatingIpId = "floating IP";
    /// A security group of Neutron.
    SecurityGroupId = "security group";
    /// A rule of a security group.
    SecurityGroupRuleId = "security group rule";
    /// A load balancer of Octavia.
    LoadBalancerId = "load balancer";
    /// A listener of Octavia.
    ListenerId = "listener";
    /// A pool of Octavia.
    PoolId = "pool";
    /// A member of a pool.
    MemberId = "member";
    /// A health monitor of Octavia.
    HealthMonitorId = "health monitor";
    /// A flavor of Octavia.
    LoadBalancerFlavorId = "load balancer flavor";
    /// A container of Barbican.
    ContainerId = "container";
    /// A secret of Barbican.
    SecretId = "secret";
}

impl MemberId {
    /// A placeholder for an id that Octavia did not return. Octavia never assigns ids of this form.
    pub(crate) fn unknown(which: &str) -> Self {
        Self(format!("unknown-{which}").into_boxed_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_change_the_meaning_of_a_path_is_no_id() {
        for bad in ["", ".", "..", "a/b", "a?b", "a#b", "a b", "a%2fb", "a\\b", "ä", "a\n", &"x".repeat(256)]
        {
            assert!(PortId::new(bad).is_err(), "{bad:?}");
            assert!(serde_json::from_value::<PortId>(bad.into()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_flavor_may_have_spaces_within_its_id_but_not_around_it() {
        for bad in [" ", " a", "a ", "a\tb"] {
            assert!(FlavorId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn uuids_hexadecimal_ids_and_short_flavors_are_ids() {
        for good in [
            "46270c6c-7544-4610-bdf2-5717a89ab6ff",
            "05a2ca643f9c4ec88c197cde22941c01",
            "1",
            "m1.tiny",
            "my own flavor",
        ] {
            assert_eq!(FlavorId::new(good).unwrap().to_string(), good);
        }
    }
}
