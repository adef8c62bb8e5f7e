//! Cloud configurations: which text is taken, and what each platform's manager must be given in its place.
//!
//! Texts go in, texts come out, with what was changed and what a person should look at. An error has the line and the key.
//! Nothing is read here, and no value of a key is shown but those we set.

mod aws;
mod azure;
mod azure_credentials;
mod ini;
mod openstack;
mod problem;
mod source;
mod vsphere;

#[cfg(test)]
mod tests;

pub use self::aws::transform_aws;
pub use self::azure::{transform_azure, transform_azure_stack_hub};
pub use self::azure_credentials::{AzureCredentials, CredentialsError, inject_azure_credentials};
pub use self::openstack::{OpenStackOptions, transform_openstack, validate_openstack};
pub use self::problem::{Change, ChangeKind, ConfigError, Problem, Transformed};
pub use self::source::{
    CLOUD_CONF, Inputs, Origin, Synced, needs_sync, normalise, prefers_managed, sync, transform,
};
pub use self::vsphere::{MINIMAL_VSPHERE, transform_vsphere};
