//! `sim-kube`: the API server in memory on a loopback port.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use sim_kube::{Config, SimKube, http};

/// A Kubernetes API server in memory, without TLS and without users: keep it on loopback.
#[derive(Debug, Parser)]
#[command(name = "sim-kube", version)]
struct Arguments {
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8001")]
    listen: SocketAddr,
    /// Write a kubeconfig for the server to this file.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Draw uids, names, addresses and ports from this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Leave garbage and terminating namespaces alone, as a cluster without kube-controller-manager.
    #[arg(long)]
    without_controllers: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut config = Config::real();
    if let Some(seed) = arguments.seed {
        config.numbers = sim_kube::seeded_numbers(seed);
    }
    config.collect_garbage = !arguments.without_controllers;
    config.finish_namespaces = !arguments.without_controllers;
    let listener = tokio::net::TcpListener::bind(arguments.listen)
        .await
        .with_context(|| format!("listen on {}; is the port in use?", arguments.listen))?;
    let address = listener.local_addr()?;
    if let Some(file) = &arguments.write_kubeconfig {
        tokio::fs::write(file, http::kubeconfig(address))
            .await
            .with_context(|| format!("write the kubeconfig to {}", file.display()))?;
    }
    println!("sim-kube serves on http://{address}");
    tokio::select! {
        served = http::serve(SimKube::new(config), listener) => served.context("serve"),
        stopped = tokio::signal::ctrl_c() => stopped.context("wait for Ctrl-C"),
    }
}
