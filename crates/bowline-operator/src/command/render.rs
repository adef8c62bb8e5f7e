//! `bowline operator render`: the manifests of a manager, for a cluster that has no operator (yet). Works without a cluster, and
//! writes the same files for the same input.

mod files;
mod input;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub use self::files::WriteError;
pub use self::input::InputError;
use crate::api::{Form, Manager};
use crate::platform::{Platform, UnknownPlatform};
use crate::render::{ManagerMode, RenderError, plain, static_pod};

/// The flags of `bowline operator render`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The cloud; with --config, as there
    #[arg(long, value_parser = platform, required_unless_present = "config")]
    pub platform: Option<Platform>,
    /// A file with a CloudControllerManager; the other flags overrule it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The name of the objects; with --config, as there
    #[arg(long)]
    pub name: Option<String>,
    /// Whose manager: bowline (for OpenStack only) or upstream; without it, Bowline's where there is one
    #[arg(long)]
    pub manager: Option<ManagerName>,
    /// The image to run
    #[arg(long)]
    pub image: Option<String>,
    /// The version to run, which decides the image where none is named
    #[arg(long)]
    pub version: Option<String>,
    /// The file with the cloud configuration (cloud.conf)
    #[arg(long, value_name = "FILE")]
    pub cloud_config: Option<PathBuf>,
    /// The Secret with the credentials, in the manager's namespace
    #[arg(long, value_name = "NAME")]
    pub credentials: Option<String>,
    /// The name of the cluster in the cloud; it can never change
    #[arg(long, required_unless_present = "config")]
    pub cluster_name: Option<String>,
    /// Where the manager runs
    #[arg(long)]
    pub namespace: Option<String>,
    /// What it runs as
    #[arg(long)]
    pub form: Option<FormName>,
    /// How many control-plane nodes the cluster has; two pods run where there are two or more
    #[arg(long, default_value_t = 1)]
    pub control_plane_nodes: usize,
    /// host:port of the API server, for pods that start before the network does
    #[arg(long, value_name = "HOST:PORT")]
    pub api_server: Option<String>,
    /// The version of Kubernetes, such as 1.33, which decides the version of OpenStack's own manager
    #[arg(long, value_parser = super::flags::version)]
    pub kubernetes_version: Option<super::flags::Version>,
    /// Whether to write a ServiceMonitor
    #[arg(long)]
    pub service_monitor: bool,
    /// The folder to write to. Files of others in it stay as they are
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Whose manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ManagerName {
    /// Ours.
    Bowline,
    /// The cloud's own.
    Upstream,
}

impl From<ManagerName> for Manager {
    fn from(name: ManagerName) -> Self {
        match name {
            ManagerName::Bowline => Self::Bowline,
            ManagerName::Upstream => Self::Upstream,
        }
    }
}

/// What the manager runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormName {
    /// A Deployment on control-plane nodes.
    Deployment,
    /// A DaemonSet on control-plane nodes.
    DaemonSet,
    /// Static pods on control-plane nodes.
    StaticPod,
}

impl From<FormName> for Form {
    fn from(name: FormName) -> Self {
        match name {
            FormName::Deployment => Self::Deployment,
            FormName::DaemonSet => Self::DaemonSet,
            FormName::StaticPod => Self::StaticPod,
        }
    }
}

/// Why nothing was written, or not all.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// What is asked for cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// What is asked for cannot be made.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

fn platform(text: &str) -> Result<Platform, UnknownPlatform> {
    Platform::from_name(text)
}

/// Writes the files, and says which.
///
/// # Errors
///
/// If the input cannot be read or used, or a file cannot be written. Nothing is written unless everything can be made.
pub fn run(arguments: &Arguments) -> Result<String, CommandError> {
    let input::Input { name, spec, facts } = input::read(arguments)?;
    let objects = plain(&spec, &name, ManagerMode::Full, &facts)?;
    let pod = match spec.form {
        Form::StaticPod => Some(static_pod(&spec, &name, ManagerMode::Full, &facts)?),
        Form::Deployment | Form::DaemonSet => None,
    };
    let files = files::of(&objects, pod.as_ref())?;
    let removed = files::write(&arguments.out, &files)?;
    Ok(files::summary(&arguments.out, &files, &removed, pod.as_ref()))
}
