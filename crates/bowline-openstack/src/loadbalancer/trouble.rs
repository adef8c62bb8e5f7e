//! Why a look at the cloud came to no picture: the wish cannot be had, or nobody can say.

use bowline_cloud::{CloudError, Doubt, ErrorClass, Refusal};
use openstack_client::Error;

use crate::error::cloud_error;
use crate::inventory::InventoryError;

/// Why there is no picture.
#[derive(Debug, Clone)]
pub(super) enum Trouble {
    /// A person must change something.
    Refused(Refusal),
    /// Nobody can say; time may help.
    Unknown(Doubt),
}

impl Trouble {
    /// A refusal for one problem.
    pub(super) fn refused(problem: impl Into<String>) -> Self {
        Self::Refused(Refusal { problems: vec![problem.into()] })
    }
}

impl From<Error> for Trouble {
    /// What was not found on the way to an answer is never the thing that was asked about.
    fn from(error: Error) -> Self {
        let error: CloudError = cloud_error(error);
        let mut doubt = Doubt::from(&error);
        if doubt.class == ErrorClass::NotFound {
            doubt.class = ErrorClass::Transient;
        }
        Self::Unknown(doubt)
    }
}

impl From<InventoryError> for Trouble {
    fn from(error: InventoryError) -> Self {
        Self::Unknown(error.doubt())
    }
}
