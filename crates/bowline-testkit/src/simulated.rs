//! The simulated API server (`sim-kube`) over HTTP on loopback: a cluster for tests that need a socket, and no real Kubernetes.

use std::net::SocketAddr;

use anyhow::{anyhow, ensure};
use http::Method;
use kube::Client;
use serde_json::Value;
use sim_kube::{Config, SimKube};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A simulated API server that is served until this is dropped.
pub struct SimulatedCluster {
    /// The server itself: to seed, and to intercept requests.
    pub kube: SimKube,
    /// Where it listens.
    pub address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for SimulatedCluster {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl SimulatedCluster {
    /// Serves a simulator.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        let kube = SimKube::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, served) = (listener.local_addr()?, kube.clone());
        // It ends when the listener breaks, which its clients notice.
        let serving = tokio::spawn(async move { drop(sim_kube::http::serve(served, listener).await) });
        Ok(Self { kube, address, serving })
    }

    /// A client of it, which does not retry: every answer counts.
    ///
    /// # Errors
    /// When the client cannot be made.
    pub fn client(&self) -> anyhow::Result<Client> {
        let mut config = kube::Config::new(format!("http://{}", self.address).parse()?);
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    /// The text of a kubeconfig for it.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        sim_kube::http::kubeconfig(self.address)
    }

    /// Puts an object there as it is, as if it had always been there.
    ///
    /// # Errors
    /// When it has no kind or name.
    pub fn seed(&self, object: Value) -> anyhow::Result<()> {
        self.kube.seed(object).map(drop).map_err(|error| anyhow!("{error:?}"))
    }

    /// What a request of a path answers.
    #[must_use]
    pub fn read(&self, path: &str) -> Value {
        self.kube.request(Method::GET, path, &Value::Null).1
    }

    /// Creates an object at the path of its kind.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn create(&self, path: &str, object: &Value) -> anyhow::Result<()> {
        let (code, body) = self.kube.request(Method::POST, path, object);
        ensure!(code == 201, "{path}: {code} {body}");
        Ok(())
    }

    /// Changes an object by a merge patch.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn patch(&self, path: &str, patch: &Value) -> anyhow::Result<()> {
        let (code, body) = self.kube.request_as(Method::PATCH, path, "application/merge-patch+json", patch);
        ensure!(code == 200, "{path}: {code} {body}");
        Ok(())
    }

    /// Deletes an object, if it is there.
    pub fn delete(&self, path: &str) {
        self.kube.request(Method::DELETE, path, &Value::Null);
    }
}
