//! Outages on demand: an API server that hangs, and one that is gone and comes back with its data.
//!
//! All of it needs `&mut Cluster`, so that no test can do it to the cluster that others share.

use std::time::Duration;

use anyhow::Context;

use super::arguments;
use super::cluster::{self, Cluster};
use super::process::{Process, Signal};
use crate::Wait;

/// A halt takes microseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Cluster {
    /// Makes the API server hang: connections stay open, new ones are accepted by the kernel, nothing answers.
    ///
    /// When this returns, the server has halted.
    ///
    /// # Errors
    /// When it is not running, or does not halt.
    pub async fn pause(&mut self) -> anyhow::Result<()> {
        let apiserver = self.running_apiserver()?;
        apiserver.signal(Signal::Stop).context("pause kube-apiserver")?;
        let halted = async || Ok(apiserver.is_stopped()?.then_some(()));
        Wait::default().every(POLL_INTERVAL).until("kube-apiserver has halted", halted).await
    }

    /// Ends a [`Self::pause`].
    ///
    /// # Errors
    /// When the API server is not running.
    pub fn resume(&mut self) -> anyhow::Result<()> {
        self.running_apiserver()?.signal(Signal::Continue).context("resume kube-apiserver")
    }

    /// Ends the API server at once, as a crash would: connections break and new ones are refused. etcd keeps running.
    pub fn stop_apiserver(&mut self) {
        self.apiserver = None;
    }

    /// Starts the API server again, on the same port and with the data it had, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not get ready, or somebody else has taken its port meanwhile.
    pub async fn start_apiserver(&mut self) -> anyhow::Result<()> {
        self.stop_apiserver();
        let mut arguments = arguments::kube_apiserver(&self.pki, self.port, self.etcd_port);
        arguments.extend_from_slice(&self.besides);
        let log = self.folder.join(self.unique_name("kube-apiserver.log"));
        let mut process = Process::spawn(&self.binaries.kube_apiserver, &arguments, &log, &self.janitor)?;
        cluster::wait_until_ready(&self.pki, self.port, &mut self.etcd, &mut process)
            .await
            .with_context(|| format!("start kube-apiserver again on port {}", self.port))?;
        self.apiserver = Some(process);
        Ok(())
    }

    fn running_apiserver(&mut self) -> anyhow::Result<&mut Process> {
        self.apiserver.as_mut().context("kube-apiserver is stopped; call start_apiserver first")
    }
}
