//! The playground and the simulators. What is shipped in the image is built without them: nobody plays in production, and they are a
//! fifth of the program.

use std::process::ExitCode;

use clap::Subcommand;

use crate::ccm;

/// What can be simulated.
#[derive(Debug, Subcommand)]
pub(crate) enum Sim {
    /// A Kubernetes API in memory, on which kubectl works.
    Kube(sim_kube::command::Arguments),
    /// An OpenStack in memory, on which the openstack client works.
    Openstack(sim_openstack::command::Arguments),
}

#[tokio::main]
pub(crate) async fn play(arguments: bowline_playground::Arguments) -> ExitCode {
    bowline_playground::run(arguments, ccm::manager).await
}

#[tokio::main]
pub(crate) async fn simulate(sim: Sim) -> ExitCode {
    let ended = match sim {
        Sim::Kube(arguments) => sim_kube::command::run(arguments).await,
        Sim::Openstack(arguments) => sim_openstack::command::run(arguments).await,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:?}");
            ExitCode::FAILURE
        }
    }
}
