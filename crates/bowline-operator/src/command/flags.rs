//! `bowline operator flags`: what a component must be started with, with reasons, and how a distribution is told to.

#[cfg(test)]
mod tests;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::feature_gates::FeatureGates;
use crate::flags::{
    Action, Change, Component, Distribution, FlagsError, Level, Mode, Requirement, Step, Want,
    openshift_cloud_provider, render, requirements, steps,
};
use crate::infrastructure::PlatformStatus;
use crate::platform::{ExternalError, Platform, UnknownPlatform};

/// The version that is meant where none is named.
const NEWEST: u32 = 36;

/// The flags of `bowline operator flags`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// kubelet, kube-controller-manager or kube-apiserver
    #[arg(long)]
    pub component: Component,
    /// The cloud
    #[arg(long, default_value = "openstack", value_parser = platform)]
    pub platform: Platform,
    /// The version of the component, such as 1.33; with --distribution openshift that of OpenShift, such as 4.19
    #[arg(long, value_parser = version)]
    pub kubernetes_version: Option<Version>,
    /// How the cluster was made; with it, the steps that lead there are printed
    #[arg(long)]
    pub distribution: Option<DistributionName>,
    /// Whether the cluster exists already, with its controllers of the cloud elsewhere
    #[arg(long)]
    pub existing: bool,
    /// How it is printed
    #[arg(short, long, default_value = "text")]
    pub output: Output,
}

/// A version, of which two numbers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// 1 for Kubernetes, 4 for OpenShift.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

/// How a cluster was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DistributionName {
    /// kubeadm.
    Kubeadm,
    /// k3s.
    K3s,
    /// RKE2.
    Rke2,
    /// Talos Linux.
    Talos,
    /// Cluster API.
    Capi,
    /// OpenShift, whose own operators set the flags.
    Openshift,
}

/// How something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There are no such flags.
    #[error(transparent)]
    Flags(#[from] FlagsError),
    /// OpenShift's rules have no answer.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// A version of something else.
    #[error("{found} is no version of {what}; wanted one such as {example}")]
    Version {
        /// What was given.
        found: String,
        /// Whose version was wanted.
        what: &'static str,
        /// One.
        example: &'static str,
    },
    /// The answer has no JSON.
    #[error("cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

fn platform(text: &str) -> Result<Platform, UnknownPlatform> {
    Platform::from_name(text)
}

/// A version of a person's writing.
pub(super) fn version(text: &str) -> Result<Version, String> {
    let wrong = || format!("{text:?} is no version; wanted two numbers or more, such as 1.33 or v1.33.4");
    let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok(Version { major, minor }),
        _ => Err(wrong()),
    }
}

/// The text that is printed.
///
/// # Errors
///
/// If the version or the platform has no such flags.
pub fn run(arguments: &Arguments) -> Result<String, CommandError> {
    if arguments.distribution == Some(DistributionName::Openshift) {
        return of_openshift(arguments);
    }
    let minor = minor(arguments.kubernetes_version, 1, NEWEST, "Kubernetes", "1.33")?;
    let mode = if arguments.existing { Mode::External } else { Mode::Fresh };
    let wanted = requirements(arguments.component, &arguments.platform, minor, mode)?;
    let steps = arguments.distribution.and_then(distribution).map_or_else(Vec::new, |distribution| {
        steps(distribution, arguments.component, &change(&wanted), minor)
    });
    Ok(match arguments.output {
        Output::Text => text(arguments, minor, &wanted, &steps),
        Output::Json => format!("{:#}\n", json(arguments, minor, &wanted, &steps)),
    })
}

fn minor(
    found: Option<Version>,
    major: u32,
    newest: u32,
    what: &'static str,
    example: &'static str,
) -> Result<u32, CommandError> {
    match found {
        None => Ok(newest),
        Some(version) if version.major == major => Ok(version.minor),
        Some(Version { major, minor }) => {
            Err(CommandError::Version { found: format!("{major}.{minor}"), what, example })
        }
    }
}

fn distribution(name: DistributionName) -> Option<Distribution> {
    match name {
        DistributionName::Kubeadm => Some(Distribution::Kubeadm),
        DistributionName::K3s => Some(Distribution::K3s),
        DistributionName::Rke2 => Some(Distribution::Rke2),
        DistributionName::Talos => Some(Distribution::Talos),
        DistributionName::Capi => Some(Distribution::ClusterApi),
        DistributionName::Openshift => None,
    }
}

/// What becomes of `--cloud-provider`.
fn change(wanted: &[Requirement]) -> Change {
    let is_gone = wanted.iter().any(|one| one.flag == "cloud-provider" && one.want == Want::Absent);
    if is_gone { Change::Remove } else { Change::to_external() }
}

fn text(arguments: &Arguments, minor: u32, wanted: &[Requirement], steps: &[Step]) -> String {
    let mut text = format!("# {} of Kubernetes 1.{minor} on {}\n", arguments.component, arguments.platform);
    text.extend(wanted.iter().map(|one| format!("{one}\n")));
    if !steps.is_empty() {
        text.push_str(&format!("\n# To get there\n{}", render(steps)));
    }
    text
}

fn json(arguments: &Arguments, minor: u32, wanted: &[Requirement], steps: &[Step]) -> Value {
    json!({
        "component": arguments.component.name(),
        "platform": arguments.platform.openshift_name(),
        "kubernetesVersion": format!("1.{minor}"),
        "flags": wanted.iter().map(flag_json).collect::<Vec<_>>(),
        "steps": steps.iter().map(step_json).collect::<Vec<_>>(),
    })
}

fn flag_json(one: &Requirement) -> Value {
    let (want, value) = match &one.want {
        Want::Value(value) => ("value", Some(value.as_str())),
        Want::ValueOrAbsent(value) => ("valueOrAbsent", Some(value.as_str())),
        Want::Chosen(what) => ("chosen", Some(*what)),
        Want::Absent => ("absent", None),
    };
    let level = match one.level {
        Level::Required => "required",
        Level::Advised => "advised",
        Level::Conditional => "conditional",
    };
    json!({ "flag": one.flag, "want": want, "value": value, "level": level, "why": one.why })
}

fn step_json(step: &Step) -> Value {
    match &step.action {
        Action::Command(command) => json!({ "place": step.place, "run": command, "why": step.why }),
        Action::Edit { target, change } => {
            json!({ "place": step.place, "edit": target, "change": change, "why": step.why })
        }
    }
}

/// OpenShift's own operators set the flags; this is what they set.
fn of_openshift(arguments: &Arguments) -> Result<String, CommandError> {
    let minor = minor(arguments.kubernetes_version, 4, 23, "OpenShift", "4.19")?;
    let status = PlatformStatus { platform: arguments.platform.clone(), ..PlatformStatus::default() };
    let found =
        openshift_cloud_provider(arguments.component, Some(&status), minor, Some(&FeatureGates::default()))?;
    let component = arguments.component;
    Ok(match (arguments.output, found) {
        (Output::Json, found) => format!(
            "{:#}\n",
            json!({
                "component": component.name(),
                "platform": arguments.platform.openshift_name(),
                "openshiftVersion": format!("4.{minor}"),
                "cloudProvider": found,
                "setBy": "OpenShift",
            })
        ),
        (Output::Text, Some(value)) => {
            format!("# OpenShift 4.{minor} sets this itself\n{component}: --cloud-provider={value}\n")
        }
        (Output::Text, None) => {
            format!("# OpenShift 4.{minor} sets this itself\n{component}: no --cloud-provider\n")
        }
    })
}
