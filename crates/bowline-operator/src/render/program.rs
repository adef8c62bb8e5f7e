//! The program of a platform: its image, how it is started, where it looks for its configuration and credentials.
//!
//! Facts of upstream's images. What is not certain is asked for instead of guessed.

use k8s_openapi::api::core::v1::EnvVar;

use super::error::RenderError;
use super::facts::ClusterFacts;
use crate::api::{CloudControllerManagerSpec, Manager, PlatformName};
use crate::platform::Platform;

/// Where the configuration is in the container.
pub(super) const CONFIG_FOLDER: &str = "/etc/cloud-config";
/// The name of the configuration as a key and as a file.
pub(super) const CONFIG_FILE: &str = "cloud.conf";

/// Where the credentials of a platform go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credentials {
    /// The key of the Secret is a file in a folder.
    File {
        /// The folder.
        folder: &'static str,
        /// The file, and the key that is taken where none is named.
        file: &'static str,
        /// The variable that names the file.
        variable: Option<&'static str>,
    },
    /// All keys of the Secret are files in a folder.
    Folder(&'static str),
    /// The program reads the Secret itself; the variables name it.
    Read {
        /// The variable with its namespace.
        namespace: &'static str,
        /// The variable with its name.
        name: &'static str,
    },
    /// They are a part of the configuration.
    InConfig,
}

/// How a platform's manager is started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    /// The value of `--cloud-provider`.
    pub(super) provider: &'static str,
    /// The program, where the image does not say it.
    pub(super) command: &'static [&'static str],
    /// What comes before the flags.
    pub(super) subcommand: &'static [&'static str],
    /// Where it says that it lives, and that it is ready.
    pub(super) health: (&'static str, &'static str),
    /// Where its credentials go.
    pub(super) credentials: Credentials,
    /// Variables that it needs.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// Controllers that another program of the platform has.
    pub(super) elsewhere: &'static [&'static str],
    /// How much memory it asks for.
    pub(super) memory: &'static str,
    /// The most memory that it may take. Only Bowline's own manager has a limit: it alone bounds what a cloud may answer.
    pub(super) memory_limit: Option<&'static str>,
}

const UPSTREAM: Program = Program {
    provider: "",
    command: &[],
    subcommand: &[],
    health: ("/healthz", "/healthz"),
    credentials: Credentials::InConfig,
    variables: &[],
    elsewhere: &[],
    memory: "128Mi",
    memory_limit: None,
};

const CLOUDS_YAML: Credentials =
    Credentials::File { folder: "/etc/openstack/secret", file: "clouds.yaml", variable: None };

/// The program that a resource asks for.
pub(super) fn program(spec: &CloudControllerManagerSpec) -> Result<Program, RenderError> {
    use PlatformName as P;
    if spec.manager == Manager::Bowline {
        return match spec.platform {
            P::OpenStack => Ok(bowline()),
            other => Err(RenderError::NotOurs { platform: other.into() }),
        };
    }
    Ok(match spec.platform {
        P::OpenStack => Program {
            provider: "openstack",
            command: &["/bin/openstack-cloud-controller-manager"],
            credentials: CLOUDS_YAML,
            memory: "64Mi",
            ..UPSTREAM
        },
        P::Aws => Program {
            provider: "aws",
            credentials: Credentials::File {
                folder: "/etc/aws",
                file: "credentials",
                variable: Some("AWS_SHARED_CREDENTIALS_FILE"),
            },
            ..UPSTREAM
        },
        P::Azure => Program {
            provider: "azure",
            command: &["cloud-controller-manager"],
            elsewhere: &["cloud-node"],
            ..UPSTREAM
        },
        P::Gcp => Program {
            provider: "gce",
            command: &["/usr/local/bin/cloud-controller-manager"],
            elsewhere: &["nodeipam"],
            credentials: Credentials::File {
                folder: "/etc/cloud-sa",
                file: "service_account.json",
                variable: Some("GOOGLE_APPLICATION_CREDENTIALS"),
            },
            ..UPSTREAM
        },
        P::VSphere => Program {
            provider: "vsphere",
            credentials: Credentials::Read {
                namespace: "VSPHERE_SECRET_NAMESPACE",
                name: "VSPHERE_SECRET_NAME",
            },
            variables: &[("ENABLE_ALPHA_DUAL_STACK", "true")],
            ..UPSTREAM
        },
        P::Nutanix => Program {
            provider: "nutanix",
            credentials: Credentials::Read {
                namespace: "NUTANIX_SECRET_NAMESPACE",
                name: "NUTANIX_SECRET_NAME",
            },
            ..UPSTREAM
        },
        P::IbmCloud => {
            Program { variables: &[(IBM_CONFIG, CONFIG_PATH), ("VPCCTL_PUBLIC_ENDPOINT", "false")], ..ibm() }
        }
        P::PowerVs => Program {
            variables: &[(IBM_CONFIG, CONFIG_PATH), ("ENABLE_VPC_PUBLIC_ENDPOINT", "true")],
            ..ibm()
        },
    })
}

const IBM_CONFIG: &str = "VPCCTL_CLOUD_CONFIG";
const CONFIG_PATH: &str = "/etc/cloud-config/cloud.conf";

const fn ibm() -> Program {
    Program { provider: "ibm", credentials: Credentials::Folder("/etc/vpc"), ..UPSTREAM }
}

const fn bowline() -> Program {
    Program {
        provider: "openstack",
        command: &["bowline"],
        subcommand: &["ccm"],
        health: ("/livez", "/readyz"),
        credentials: CLOUDS_YAML,
        memory: "64Mi",
        memory_limit: Some("512Mi"),
        ..UPSTREAM
    }
}

/// The image that a resource asks for: its own word, else the one that belongs to the version.
pub(super) fn image(spec: &CloudControllerManagerSpec, facts: &ClusterFacts) -> Result<String, RenderError> {
    let platform: Platform = spec.platform.into();
    let missing = |wanted| RenderError::NoImage { platform: platform.clone(), wanted };
    if let Some(image) = &spec.image {
        return Ok(image.clone());
    }
    if spec.manager == Manager::Bowline {
        let own = facts.own_image.as_deref().ok_or_else(|| missing("wanted spec.image"))?;
        return Ok(spec.version.as_ref().map_or_else(|| own.to_owned(), |version| tagged(own, version)));
    }
    let repository = repository(spec.platform).ok_or_else(|| missing("wanted spec.image"))?;
    let version = spec.version.clone().or_else(|| version_for(spec.platform, facts.server_minor));
    let version = version.ok_or_else(|| missing("wanted spec.version or spec.image"))?;
    Ok(format!("{repository}:{version}"))
}

/// Where upstream publishes the images of its managers and of Azure's agent.
pub const UPSTREAM_REPOSITORIES: &[&str] = &[OPENSTACK, AWS, AZURE, AZURE_AGENT, GCP, VSPHERE];

const OPENSTACK: &str = "registry.k8s.io/provider-os/openstack-cloud-controller-manager";
const AWS: &str = "registry.k8s.io/provider-aws/cloud-controller-manager";
const AZURE: &str = "mcr.microsoft.com/oss/kubernetes/azure-cloud-controller-manager";
const AZURE_AGENT: &str = "mcr.microsoft.com/oss/kubernetes/azure-cloud-node-manager";
const GCP: &str = "registry.k8s.io/cloud-provider-gcp/cloud-controller-manager";
const VSPHERE: &str = "registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere";

/// Where upstream publishes a platform's image, if that is settled.
fn repository(platform: PlatformName) -> Option<&'static str> {
    match platform {
        PlatformName::OpenStack => Some(OPENSTACK),
        PlatformName::Aws => Some(AWS),
        PlatformName::Azure => Some(AZURE),
        PlatformName::Gcp => Some(GCP),
        PlatformName::VSphere => Some(VSPHERE),
        PlatformName::IbmCloud | PlatformName::Nutanix | PlatformName::PowerVs => None,
    }
}

/// The version for an API server. Only OpenStack's provider has a release `.0` for each minor version of Kubernetes.
fn version_for(platform: PlatformName, minor: Option<u32>) -> Option<String> {
    minor.filter(|_| platform == PlatformName::OpenStack).map(|minor| format!("v1.{minor}.0"))
}

/// An image with another tag. What follows the last `:` is a port if there is a `/` in it.
fn tagged(image: &str, tag: &str) -> String {
    let bare = image.split_once('@').map_or(image, |(name, _digest)| name);
    let name = match bare.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => bare,
    };
    format!("{name}:{tag}")
}

/// The image of Azure's agent: of the same release, under its own name.
pub(super) fn node_manager_image(manager: &str) -> Result<String, RenderError> {
    let (ours, theirs) = ("azure-cloud-controller-manager", "azure-cloud-node-manager");
    // A digest is of one image only.
    if !manager.contains(ours) || manager.contains('@') {
        return Err(RenderError::NoNodeManagerImage { image: manager.to_owned() });
    }
    Ok(manager.replacen(ours, theirs, 1))
}

/// A variable with its value.
pub(crate) fn variable(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.into()), value_from: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_told_from_a_port_and_a_digest() {
        for (image, wanted) in [
            ("bowline", "bowline:v2"),
            ("bowline:v1", "bowline:v2"),
            ("registry.example:5000/bowline", "registry.example:5000/bowline:v2"),
            ("registry.example:5000/bowline:v1", "registry.example:5000/bowline:v2"),
            ("registry.example/bowline:v1@sha256:00", "registry.example/bowline:v2"),
        ] {
            assert_eq!(tagged(image, "v2"), wanted);
        }
    }

    #[test]
    fn azures_second_image_follows_from_the_first_or_is_an_error() {
        assert_eq!(
            node_manager_image("r/azure-cloud-controller-manager:v1").unwrap(),
            "r/azure-cloud-node-manager:v1"
        );
        assert!(node_manager_image("r/mine:v1").is_err());
        assert!(node_manager_image("r/azure-cloud-controller-manager@sha256:00").is_err());
    }
}
