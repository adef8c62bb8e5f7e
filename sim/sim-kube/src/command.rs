//! The API server in memory as a command: `bowline sim kube --listen 127.0.0.1:8001`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::{Config, SimKube, http};

/// What it serves, and where. There is no TLS: keep it on loopback.
#[derive(Debug, clap::Args)]
pub struct Arguments {
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

/// Serves until Ctrl-C.
///
/// # Errors
///
/// If the address cannot be listened on, or the kubeconfig not be written.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut config = Config::real();
    if let Some(seed) = arguments.seed {
        config.numbers = crate::seeded_numbers(seed);
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
