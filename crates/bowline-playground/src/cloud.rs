//! An OpenStack in memory, served on loopback.

mod operator;

use std::net::SocketAddr;

use sim_openstack::{
    Account, Asked, Config, Estate, EstateSize, Latencies, MEMBER, SimService, cloud_conf, clouds_yaml, seed,
    serve,
};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::manager::AGENT;

/// A cloud.
pub(crate) struct Cloud {
    /// The cloud itself.
    pub(crate) service: SimService,
    /// What is in it from the start.
    pub(crate) estate: Estate,
    /// Where it is served.
    pub(crate) address: SocketAddr,
    config: Config,
    _stop: DropGuard,
}

impl Cloud {
    /// A cloud with so many servers, called `node-1` and so on, served until this is dropped.
    pub(crate) fn start(listener: TcpListener, servers: usize) -> anyhow::Result<Self> {
        let address = listener.local_addr()?;
        let config = Config { latencies: Latencies::none(), ..Config::at(&format!("http://{address}")) };
        let size = EstateSize { servers, ..EstateSize::default() };
        let (cloud, estate) = seed(config.clone(), jiff::Timestamp::now(), &size);
        let service = SimService::on_tokio_time(cloud);
        let stop = CancellationToken::new();
        let (served, stopped) = (service.clone(), stop.clone());
        tokio::spawn(async move {
            // A listener that fails is seen by everybody who asks.
            serve(listener, served, stopped).await.ok();
        });
        Ok(Self { service, estate, address, config, _stop: stop.drop_guard() })
    }

    /// The configuration of a manager that works for the project.
    pub(crate) fn conf(&self, password: &str) -> String {
        cloud_conf(&self.config, Account { password, ..MEMBER }, &self.estate)
    }

    /// A clouds.yaml with the clouds `sim` and `sim-admin`.
    pub(crate) fn clouds_yaml(&self) -> String {
        clouds_yaml(&self.config)
    }

    /// How often the manager asked.
    pub(crate) fn asked(&self) -> Asked {
        self.service.with(|cloud| cloud.log().asked_by(AGENT))
    }

    /// From now on things take this long.
    pub(crate) fn take_time(&self, latencies: Latencies) {
        self.service.with(|cloud| cloud.world().config.latencies = latencies);
    }
}
