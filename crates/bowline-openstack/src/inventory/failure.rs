//! Why the inventory cannot say.

use bowline_cloud::{CloudError, Doubt, ErrorClass};
use openstack_client::{Error, ErrorClass as ClientClass, ProjectId, ServerId};

use crate::error::{class_of, cloud_error};

/// Why the inventory cannot say.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InventoryError {
    /// A direct read failed.
    #[error(transparent)]
    Call(Error),
    /// A list, a login or something else on the way failed. Never says that a server is not there, whatever its status.
    #[error(transparent)]
    OnTheWay(Error),
    /// The credentials are for no project.
    #[error(
        "the credentials are for no project, so they see no servers; give a project in cloud.conf (tenant-id)"
    )]
    NoProject,
    /// The credentials are for another project than before.
    #[error(
        "the credentials are now for project {now}, but the servers of project {first} were looked at before; nothing is \
         concluded from what {now} does not have. Restart to change the project"
    )]
    OtherProject {
        /// The project of the first login.
        first: ProjectId,
        /// The project now.
        now: ProjectId,
    },
    /// What was just read is not there any more. Says that the code is wrong, not the cloud.
    #[error("server {0} was read and then lost; this is a defect of Bowline")]
    Lost(ServerId),
}

impl InventoryError {
    /// A failure that is not the answer of a direct read.
    pub(super) fn on_the_way(error: Error) -> Self {
        Self::OnTheWay(error)
    }

    /// Whether Nova itself said that the server of a direct read is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_not_found())
    }

    /// The class, which decides the retry. Only a direct read can be of class `NotFound`.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Call(error) => class_of(error.class()),
            // Every cloud has servers and ports to list: a "no such thing" here is a service that is not itself.
            Self::OnTheWay(error) => match error.class() {
                ClientClass::NotFound | ClientClass::Unsupported => ErrorClass::Transient,
                class => class_of(class),
            },
            Self::NoProject => ErrorClass::Invalid,
            Self::OtherProject { .. } => ErrorClass::Unauthenticated,
            Self::Lost(_) => ErrorClass::Transient,
        }
    }

    /// The doubt that it leaves.
    #[must_use]
    pub fn doubt(&self) -> Doubt {
        let retry_after = match self {
            Self::Call(error) | Self::OnTheWay(error) => error.retry_after(),
            _ => None,
        };
        Doubt { class: self.class(), why: self.to_string(), retry_after }
    }
}

impl From<InventoryError> for CloudError {
    fn from(error: InventoryError) -> Self {
        match error {
            InventoryError::Call(error) => cloud_error(error),
            other => Self::new(other.class(), other.to_string()).caused_by(other),
        }
    }
}
