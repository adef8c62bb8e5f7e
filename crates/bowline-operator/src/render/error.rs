//! Why objects cannot be made of what was asked for.

use super::object::ObjectError;
use crate::hash::HashError;
use crate::images::ImagesError;
use crate::infrastructure::InfrastructureError;
use crate::platform::Platform;
use crate::tls::TlsError;

/// Why objects cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Something in `extraFlags` is no flag.
    #[error(
        "extraFlags: {flag:?} is no flag; wanted --name=value or --name, with a name of lower-case letters, digits and '-'"
    )]
    NotAFlag {
        /// What was found.
        flag: String,
    },
    /// A flag that is ours.
    #[error("extraFlags: --{flag} is set by the operator itself; {instead}")]
    OwnFlag {
        /// Its name.
        flag: String,
        /// Where to say it instead.
        instead: &'static str,
    },
    /// Nobody said what to run.
    #[error("no image for {platform}: {wanted}")]
    NoImage {
        /// The platform.
        platform: Platform,
        /// What to say.
        wanted: &'static str,
    },
    /// Azure has a second image, and its name does not follow from the first one.
    #[error(
        "image {image:?} has no azure-cloud-controller-manager in its name, so the image of the cloud node manager does not follow from it; wanted both under the names that Azure gives them"
    )]
    NoNodeManagerImage {
        /// The first one.
        image: String,
    },
    /// The cloud's own manager cannot look without touching.
    #[error("manager Upstream has no shadow mode: the hand-over to it cannot be tried beforehand")]
    NoShadow,
    /// There is no manager of ours for the platform.
    #[error("manager Bowline is for the platform OpenStack, not for {platform}; wanted manager: Upstream")]
    NotOurs {
        /// The platform.
        platform: Platform,
    },
    /// Something that runs outside of pods only cannot run here.
    #[error("{what} cannot be a static pod: {why}")]
    NotStatic {
        /// What.
        what: &'static str,
        /// Why.
        why: &'static str,
    },
    /// The name of the API server cannot be split.
    #[error("apiServer: {found:?} is not host:port, an IPv6 address in brackets")]
    ApiServer {
        /// What was found.
        found: String,
    },
    /// A TLS setting nobody knows.
    #[error("tls: {0}")]
    Tls(#[from] TlsError),
    /// OpenShift does not say what it runs on.
    #[error(transparent)]
    Infrastructure(#[from] InfrastructureError),
    /// OpenShift's file of images lacks one.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// A value of the cluster that a platform's objects need.
    #[error("{provider}: {field}: non zero value required")]
    MissingValue {
        /// The platform.
        provider: String,
        /// What is missing.
        field: &'static str,
    },
    /// An object without a name or without JSON.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// A configuration that cannot be hashed.
    #[error(transparent)]
    Hash(#[from] HashError),
}
