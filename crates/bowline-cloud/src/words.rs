//! Enums for the fields of a Service's spec. The API server accepts no other values; a value that only a newer server knows is read as
//! `Unknown`, which no controller acts on.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $word,)+
            /// A value that this version does not know.
            #[default]
            Unknown,
        }

        impl $name {
            /// The value in the Kubernetes API; empty for `Unknown`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)+
                    Self::Unknown => "",
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$word,)+
                    _ => Self::Unknown,
                }
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                self.as_str() == *text
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Ok(Self::from(&*text))
            }
        }
    };
}

vocabulary! {
    /// `spec.type`.
    ServiceType {
        /// Reachable from inside the cluster.
        ClusterIp = "ClusterIP",
        /// Reachable on a port of every node.
        NodePort = "NodePort",
        /// Reachable through a load balancer of the cloud.
        LoadBalancer = "LoadBalancer",
        /// An alias for a host name outside the cluster.
        ExternalName = "ExternalName",
    }
}

vocabulary! {
    /// `spec.ports[].protocol`.
    Protocol {
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
        /// SCTP.
        Sctp = "SCTP",
    }
}

vocabulary! {
    /// `spec.sessionAffinity`.
    SessionAffinity {
        /// Connections of one client may go to different pods.
        None = "None",
        /// Connections of one client go to one pod.
        ClientIp = "ClientIP",
    }
}

vocabulary! {
    /// `spec.externalTrafficPolicy`.
    TrafficPolicy {
        /// Every node accepts traffic and forwards it to pods on any node.
        Cluster = "Cluster",
        /// Only nodes with a pod of the Service accept traffic.
        Local = "Local",
    }
}

vocabulary! {
    /// An entry of `spec.ipFamilies`.
    IpFamily {
        /// IPv4.
        V4 = "IPv4",
        /// IPv6.
        V6 = "IPv6",
    }
}

vocabulary! {
    /// `spec.ipFamilyPolicy`.
    IpFamilyPolicy {
        /// One IP family.
        SingleStack = "SingleStack",
        /// Both IP families if the cluster has them.
        PreferDualStack = "PreferDualStack",
        /// Both IP families; the API server rejects the Service if the cluster has only one.
        RequireDualStack = "RequireDualStack",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written_as_kubernetes_spells_them() {
        let words = serde_json::json!(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]);
        let read: Vec<ServiceType> = serde_json::from_value(words.clone()).unwrap();
        assert_eq!(read[2], ServiceType::LoadBalancer);
        assert_eq!(serde_json::to_value(read).unwrap(), words);
    }

    #[test]
    fn a_word_of_a_newer_server_is_no_error_and_no_other_word() {
        let read: TrafficPolicy = serde_json::from_str("\"Nearest\"").unwrap();
        assert_eq!(read, TrafficPolicy::Unknown);
    }
}
