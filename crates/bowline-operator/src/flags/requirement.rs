//! The table of flags.

use std::fmt;

use super::{Component, Mode};
use crate::infrastructure::PlatformStatus;
use crate::platform::{InTree, Platform, in_tree, is_external};

/// The oldest version that is looked at; before it, other flags existed.
const OLDEST: u32 = 23;

const PROVIDER: &str = "cloud-provider";
const CONFIG: &str = "cloud-config";
const VOLUMES: &str = "external-cloud-volume-plugin";
const GATES: &str = "feature-gates";
const NODE_IP: &str = "node-ip";
const CONFIG_PATH: &str = "/etc/kubernetes/cloud.conf";
const REENABLE: &str = "DisableCloudProviders=false,DisableKubeletCloudCredentialProviders=false";

/// What a flag must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// This.
    Value(String),
    /// This, or not given; it makes no difference.
    ValueOrAbsent(String),
    /// Of one's own choice; this says what.
    Chosen(&'static str),
    /// Not given.
    Absent,
}

/// How much depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Without it something is broken.
    Required,
    /// It is better so.
    Advised,
    /// Only in the case that the reason names.
    Conditional,
}

/// One flag with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The flag without dashes.
    pub flag: &'static str,
    /// What it must be.
    pub want: Want,
    /// How much depends on it.
    pub level: Level,
    /// Why.
    pub why: &'static str,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.want {
            Want::Value(value) => write!(f, "--{}={value}", self.flag)?,
            Want::ValueOrAbsent(value) => write!(f, "--{}={value} or not given", self.flag)?,
            Want::Chosen(what) => write!(f, "--{}=<{what}>", self.flag)?,
            Want::Absent => write!(f, "no --{}", self.flag)?,
        }
        let level = match self.level {
            Level::Required => "required",
            Level::Advised => "advised",
            Level::Conditional => "only if",
        };
        write!(f, "  ({level}: {})", self.why)
    }
}

/// Why there are no such flags.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagsError {
    /// That version has no provider inside.
    #[error("Kubernetes 1.{minor} has no provider for {platform} inside; use a cloud-controller-manager")]
    NotInTree {
        /// The platform.
        platform: Platform,
        /// The version.
        minor: u32,
    },
    /// A version from before our time.
    #[error("Kubernetes 1.{minor} is older than 1.{OLDEST}, which is the oldest whose flags are known here")]
    TooOld {
        /// The version.
        minor: u32,
    },
}

/// What a component of Kubernetes 1.`minor` must be started with.
///
/// # Errors
///
/// If the version is too old, or has no provider for the platform inside where that is asked for.
pub fn requirements(
    component: Component,
    platform: &Platform,
    minor: u32,
    mode: Mode,
) -> Result<Vec<Requirement>, FlagsError> {
    if minor < OLDEST {
        return Err(FlagsError::TooOld { minor });
    }
    if mode == Mode::InTree {
        return inside(component, platform, minor);
    }
    if !has_manager(platform) {
        return Ok(without_manager(component, minor));
    }
    Ok(match component {
        Component::Kubelet => kubelet(minor, mode),
        Component::ControllerManager => controller_manager(platform, minor, mode),
        Component::ApiServer => api_server(minor),
    })
}

/// Whether there is a cloud-controller-manager for a platform. Who names somebody else's platform brings one.
fn has_manager(platform: &Platform) -> bool {
    let status = PlatformStatus { platform: platform.clone(), ..PlatformStatus::default() };
    *platform == Platform::External || is_external(Some(&status)).unwrap_or(false)
}

fn required(flag: &'static str, want: Want, why: &'static str) -> Requirement {
    Requirement { flag, want, level: Level::Required, why }
}

fn advised(flag: &'static str, want: Want, why: &'static str) -> Requirement {
    Requirement { flag, want, level: Level::Advised, why }
}

fn external() -> Want {
    Want::Value("external".to_owned())
}

fn kubelet(minor: u32, mode: Mode) -> Vec<Requirement> {
    let why = match mode {
        Mode::Fresh => {
            "a new node is tainted as uninitialised until the cloud-controller-manager has given it its addresses; it is a flag only, no field of KubeletConfiguration"
        }
        _ => {
            "the kubelet must stop writing addresses that the cloud-controller-manager writes; it is a flag only, no field of KubeletConfiguration. A node that is registered already is not tainted by it"
        }
    };
    let mut flags = vec![
        required(PROVIDER, external(), why),
        required(CONFIG, Want::Absent, "the kubelet talks to no cloud"),
    ];
    if (29..=31).contains(&minor) {
        let why = "1.29 to 1.31 report no address before the cloud-controller-manager runs, unless they are given one; pods on the host's network, the manager's too, may need it";
        flags.push(advised(NODE_IP, Want::Chosen("the node's own address, not 0.0.0.0 or ::"), why));
    }
    flags
}

fn controller_manager(platform: &Platform, minor: u32, mode: Mode) -> Vec<Requirement> {
    if minor >= 31 {
        let why = "from 1.31 on it has no controllers of the cloud inside; any value but external stops it";
        return vec![
            required(PROVIDER, Want::ValueOrAbsent("external".to_owned()), why),
            required(CONFIG, Want::Absent, "it talks to no cloud"),
            required(VOLUMES, Want::Absent, "it has no volume plug-ins of clouds inside"),
        ];
    }
    let why = "its service, route and node-lifecycle controllers must not run beside those of the cloud-controller-manager: two writers make two load balancers for one Service";
    let mut flags = vec![required(PROVIDER, external(), why)];
    // The in-tree volumes of AWS have been served by CSI alone since its migration.
    let has_volumes = in_tree(platform, minor) != InTree::Gone && *platform != Platform::Aws;
    match platform.in_tree_name().filter(|_| mode == Mode::External && has_volumes) {
        Some(name) => {
            let why = "volumes of the plug-in inside are still in use and CSI migration is off for them; remove both flags afterwards";
            let conditional = |flag, value: &str| Requirement {
                flag,
                want: Want::Value(value.to_owned()),
                level: Level::Conditional,
                why,
            };
            flags.extend([conditional(VOLUMES, name), conditional(CONFIG, CONFIG_PATH)]);
        }
        None => flags.extend([
            required(CONFIG, Want::Absent, "it talks to no cloud"),
            required(VOLUMES, Want::Absent, "there are no volumes of a plug-in inside"),
        ]),
    }
    flags
}

fn api_server(minor: u32) -> Vec<Requirement> {
    if minor >= 33 {
        let why = "the flag was deleted in 1.33: with it kube-apiserver does not start";
        return [PROVIDER, CONFIG].map(|flag| required(flag, Want::Absent, why)).into();
    }
    let why = "it has no effect, and 1.33 does not start with it: remove it before that upgrade";
    [PROVIDER, CONFIG].map(|flag| advised(flag, Want::Absent, why)).into()
}

fn without_manager(component: Component, minor: u32) -> Vec<Requirement> {
    match component {
        Component::ApiServer => api_server(minor),
        Component::Kubelet => {
            let why = "the platform has no cloud-controller-manager: new nodes would stay tainted as uninitialised for ever";
            vec![required(PROVIDER, Want::Absent, why), required(CONFIG, Want::Absent, "there is no cloud")]
        }
        Component::ControllerManager => {
            let why = "the platform has no cloud-controller-manager, and nothing for it to leave to one";
            vec![advised(PROVIDER, Want::Absent, why), required(CONFIG, Want::Absent, "there is no cloud")]
        }
    }
}

/// As it was of old: all three name the provider.
fn inside(component: Component, platform: &Platform, minor: u32) -> Result<Vec<Requirement>, FlagsError> {
    let gone = || FlagsError::NotInTree { platform: platform.clone(), minor };
    let name = platform.in_tree_name().ok_or_else(gone)?;
    let state = in_tree(platform, minor);
    if state == InTree::Gone {
        return Err(gone());
    }
    let why = match component {
        Component::Kubelet => "the kubelet asks the cloud for its node's addresses",
        Component::ControllerManager => "the service, route and node-lifecycle controllers run inside",
        Component::ApiServer => "volumes are labelled with their zones at admission",
    };
    let mut flags = vec![required(PROVIDER, Want::Value(name.to_owned()), why)];
    let config = Want::Value(CONFIG_PATH.to_owned());
    flags.push(match platform {
        // The instance's own metadata is enough there.
        Platform::Aws | Platform::Gcp => advised(CONFIG, config, "settings beyond the defaults are in it"),
        _ => required(CONFIG, config, "how to reach the cloud is in it"),
    });
    if state == InTree::SwitchedOff {
        let why = "1.29 and 1.30 have the providers inside switched off";
        flags.push(required(GATES, Want::Value(REENABLE.to_owned()), why));
    }
    Ok(flags)
}
