//! The closed vocabularies of a Service's spec. The API server lets no other word through; one that a newer server may know
//! is read as `Unknown`, which is equal to nothing a controller looks for.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $word,)+
            /// A word that is not known here.
            #[default]
            Unknown,
        }

        impl $name {
            /// The word as Kubernetes spells it.
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
        /// Reached from inside the cluster.
        ClusterIp = "ClusterIP",
        /// Reached on a port of every node.
        NodePort = "NodePort",
        /// Reached through a load balancer of the cloud.
        LoadBalancer = "LoadBalancer",
        /// A name for something outside.
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
        /// Each connection goes where it goes.
        None = "None",
        /// Connections of one client go to one pod.
        ClientIp = "ClientIP",
    }
}

vocabulary! {
    /// `spec.externalTrafficPolicy`.
    TrafficPolicy {
        /// Any node takes traffic and passes it on.
        Cluster = "Cluster",
        /// Only nodes with a pod of the Service take traffic.
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
        /// One family.
        SingleStack = "SingleStack",
        /// Two, where the cluster has them.
        PreferDualStack = "PreferDualStack",
        /// Two, or nothing.
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
