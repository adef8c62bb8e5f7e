//! `bowline operator run`: the operator itself.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bowline_kube::terminal::escaped;
use bowline_manager::exit::Exit;
use bowline_manager::flags::GoDuration;
use bowline_manager::logging::{self, LogFormat, LoggingOptions};
use bowline_manager::signals::Signals;
use clap::Args;

use crate::allowed::Allowed;
use crate::migration::Timings;
use crate::operate::{self, Election, Options};

/// How long threads that block may take at the very end.
const RUNTIME_END: Duration = Duration::from_millis(200);

/// The flags of `bowline operator run`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The namespace of the operator's Lease; without it, that of the pod ($POD_NAMESPACE), or bowline-system
    #[arg(long)]
    pub namespace: Option<String>,
    /// How to reach the API server; without it, as the pod that this is
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// The address on which health and metrics are served
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    pub bind_address: IpAddr,
    /// The port on which health and metrics are served over HTTPS; 0 is none
    #[arg(long, default_value_t = 10268)]
    pub secure_port: u16,
    /// How long other replicas wait before they take over
    #[arg(long, default_value = "15s", value_parser = duration)]
    pub leader_elect_lease_duration: Duration,
    /// How long the leader tries to renew before it gives up
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub leader_elect_renew_deadline: Duration,
    /// The pause between two tries
    #[arg(long, default_value = "2s", value_parser = duration)]
    pub leader_elect_retry_period: Duration,
    /// The image of this operator, which Bowline's manager is in, too; without it, $OPERATOR_IMAGE
    #[arg(long)]
    pub image: Option<String>,
    /// The version that is told to be installed; without it, $RELEASE_VERSION, or this binary's own
    #[arg(long)]
    pub release_version: Option<String>,
    /// What a `CloudControllerManager` may ask for.
    #[command(flatten)]
    pub allowed: Allowed,
    /// OpenShift: the namespace of the managers
    #[arg(long, default_value = "openshift-cloud-controller-manager")]
    pub managed_namespace: String,
    /// OpenShift: the file with the images of the release
    #[arg(long, default_value = "/etc/cloud-controller-manager-config/images.json")]
    pub images_json: PathBuf,
    /// OpenShift: the file with the certificates of the system
    #[arg(long, default_value = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem")]
    pub trusted_ca_file: PathBuf,
    /// How much is logged
    #[arg(short, long, default_value_t = 0)]
    pub verbosity: u8,
    /// `text` or `json`
    #[arg(long, default_value = "text", value_parser = ["text", "json"])]
    pub logging_format: String,
    /// When everything is looked at again
    #[arg(long, default_value = "10m", value_parser = duration, hide = true)]
    pub resync_period: Duration,
    /// When something that is waited for is looked at again
    #[arg(long, default_value = "5s", value_parser = duration, hide = true)]
    pub look_period: Duration,
    /// How long a phase may take, for what the operator can do itself
    #[arg(long, default_value = "10m", value_parser = duration, hide = true)]
    pub phase_timeout: Duration,
    /// How long a node may stay uninitialised after the operator tainted it
    #[arg(long, default_value = "10m", value_parser = duration, hide = true)]
    pub node_timeout: Duration,
    /// The period in which addresses of nodes are refreshed by the manager
    #[arg(long, default_value = "5m", value_parser = duration, hide = true)]
    pub address_refresh: Duration,
    /// How old a report of the manager may be
    #[arg(long, default_value = "3m", value_parser = duration, hide = true)]
    pub report_age: Duration,
    /// When a migration that waits for nothing is looked at again
    #[arg(long, default_value = "1m", value_parser = duration, hide = true)]
    pub rest_period: Duration,
    /// The minor version that is taken for that of the cluster, in place of what the API server says
    #[arg(long, hide = true)]
    pub assume_minor: Option<u32>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    parsed.to_std().ok_or_else(|| format!("{text} is negative; wanted a duration such as 15s"))
}

/// What a pod is told by its environment.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Arguments {
    /// The same as typed values; `version` is that of the binary.
    #[must_use]
    pub fn options(self, version: &str) -> Options {
        let format = if self.logging_format == "json" { LogFormat::Json } else { LogFormat::Text };
        Options {
            namespace: self
                .namespace
                .or_else(|| variable("POD_NAMESPACE"))
                .unwrap_or_else(|| "bowline-system".to_owned()),
            kubeconfig: self.kubeconfig,
            election: Election {
                lease_duration: self.leader_elect_lease_duration,
                renew_deadline: self.leader_elect_renew_deadline,
                retry_period: self.leader_elect_retry_period,
            },
            bind_address: self.bind_address,
            port: self.secure_port,
            logging: LoggingOptions { format, verbosity: self.verbosity, ..LoggingOptions::default() },
            version: self
                .release_version
                .or_else(|| variable("RELEASE_VERSION"))
                .unwrap_or_else(|| version.to_owned()),
            image: self.image.or_else(|| variable("OPERATOR_IMAGE")),
            allowed: self.allowed,
            resync: self.resync_period,
            assume_minor: self.assume_minor,
            timings: Timings {
                phase: self.phase_timeout,
                node: self.node_timeout,
                address_refresh: self.address_refresh,
                report_age: self.report_age,
                look: self.look_period,
                rest: self.rest_period,
            },
            managed_namespace: self.managed_namespace,
            images_file: self.images_json,
            system_ca_file: self.trusted_ca_file,
        }
    }
}

/// Runs the operator until its end.
#[must_use]
pub fn run(arguments: Arguments, version: &str) -> ExitCode {
    let options = arguments.options(version);
    if let Err(error) = logging::init(&options.logging) {
        return complain(&error);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error),
    };
    let ended = runtime.block_on(async {
        let signals = Signals::listen().map_err(|error| format!("cannot listen for signals: {error}"))?;
        operate::run(options, signals).await.map_err(|error| error.to_string())
    });
    runtime.shutdown_timeout(RUNTIME_END);
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => complain(&error),
    }
}

/// The person at the terminal is told directly.
fn complain(error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("error: {}", escaped(&error.to_string()));
    Exit::Failed.into()
}
