//! Why nothing can be said about a security group.

use bowline_cloud::{CloudError, ErrorClass};
use openstack_client::{Error, ErrorClass as ClientClass, SecurityGroupId, SubnetId};

use crate::error::{class_of, cloud_error};

/// Why nothing can be said about a security group.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GroupError {
    /// A list cannot be had.
    #[error(transparent)]
    Call(#[from] Error),
    /// Several groups have the name of one Service.
    #[error(
        "several security groups are called {name}: {}; nobody can say which is meant: delete all but one, and that one should \
         be the one that the ports of the Nodes have",
        joined(ids)
    )]
    Several {
        /// The name.
        name: String,
        /// All of them.
        ids: Vec<SecurityGroupId>,
    },
    /// A group that was made or seen a moment ago is not shown.
    #[error(
        "security group {id}, called {name}, was there a moment ago and Neutron does not show it; no second one is made, it is \
         looked for again"
    )]
    NotShown {
        /// The name.
        name: String,
        /// The group.
        id: SecurityGroupId,
    },
    /// The rules of a group need the range of a subnet that cannot be had.
    #[error(
        "the range of subnet {subnet}, from where the load balancer reaches the Nodes, is not known: {why}; see member-subnet-id \
         and subnet-id"
    )]
    NoRange {
        /// The subnet.
        subnet: SubnetId,
        /// Why not.
        why: String,
    },
}

fn joined(ids: &[SecurityGroupId]) -> String {
    ids.iter().map(SecurityGroupId::as_str).collect::<Vec<_>>().join(", ")
}

impl GroupError {
    /// The class, which decides the retry.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            // Every cloud has groups and ports to list: a "no such thing" here is a service that is not itself.
            Self::Call(error) => match error.class() {
                ClientClass::NotFound | ClientClass::Unsupported => ErrorClass::Transient,
                class => class_of(class),
            },
            Self::NotShown { .. } => ErrorClass::Transient,
            Self::Several { .. } | Self::NoRange { .. } => ErrorClass::Invalid,
        }
    }
}

impl From<GroupError> for CloudError {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::Call(call)
                if !matches!(call.class(), ClientClass::NotFound | ClientClass::Unsupported) =>
            {
                cloud_error(call)
            }
            other => Self::new(other.class(), other.to_string()).caused_by(other),
        }
    }
}
