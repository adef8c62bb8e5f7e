//! The one binary. It knows which command belongs to which crate, and nothing else.

use clap::{Parser, Subcommand};

/// Ties a Kubernetes cluster to its cloud.
#[derive(Debug, Parser)]
#[command(name = "bowline", version)]
struct Bowline {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves a Kubernetes API or an OpenStack that exists in memory only.
    #[command(subcommand)]
    Sim(Sim),
}

#[derive(Debug, Subcommand)]
enum Sim {
    /// A Kubernetes API in memory, on which kubectl works.
    Kube(sim_kube::command::Arguments),
    /// An OpenStack in memory, on which the openstack client works.
    Openstack(sim_openstack::command::Arguments),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Bowline::parse().command {
        Command::Sim(Sim::Kube(arguments)) => sim_kube::command::run(arguments).await,
        Command::Sim(Sim::Openstack(arguments)) => sim_openstack::command::run(arguments).await,
    }
}
