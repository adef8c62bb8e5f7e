//! The simulated OpenStack as a command: `bowline sim openstack --listen 127.0.0.1:8080`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{Config, EstateSize, Latencies, SimService, clouds_yaml, seed, serve};

/// What it serves, and where.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The address to listen on; port 0 chooses one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where to write the clouds.yaml; without it, it is printed
    #[arg(long)]
    clouds_yaml: Option<PathBuf>,
    /// How many servers there are at the start
    #[arg(long, default_value_t = 3)]
    servers: usize,
    /// The seed of all identifiers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Everything is done at once, no load balancer stays PENDING
    #[arg(long)]
    instant: bool,
}

/// Serves until Ctrl-C.
///
/// # Errors
///
/// If the address cannot be listened on, or the clouds.yaml not be written.
pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let listener = TcpListener::bind(arguments.listen)
        .await
        .with_context(|| format!("listen on {}; choose another address with --listen", arguments.listen))?;
    let address = listener.local_addr()?;
    let mut config = Config { seed: arguments.seed, ..Config::at(&format!("http://{address}")) };
    if arguments.instant {
        config.latencies = Latencies::none();
    }
    let yaml = clouds_yaml(&config);
    let size = EstateSize { servers: arguments.servers, ..EstateSize::default() };
    let (cloud, _) = seed(config, jiff::Timestamp::now(), &size);
    match &arguments.clouds_yaml {
        Some(path) => {
            std::fs::write(path, &yaml).with_context(|| format!("write {}", path.display()))?;
            println!("listening on http://{address}, clouds `sim` and `sim-admin` are in {}", path.display());
        }
        None => println!("# listening on http://{address}\n{yaml}"),
    }
    let stop = CancellationToken::new();
    let stopper = stop.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopper.cancel();
        }
    });
    serve(listener, SimService::on_tokio_time(cloud), stop).await.context("serve")
}
