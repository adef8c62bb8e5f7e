//! Waits until the servers serve: bounded, and with the reason when they do not.
//!
//! Only observes; starting again with other ports is the caller's decision.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

use super::process::Process;
use crate::deadline;

const ATTEMPT_LIMIT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Why a cluster did not come up.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// Somebody else took a port between our choice and the server's start: worth another try.
    PortTaken,
    /// A server ended, or did not get ready in time. Holds the explanation with the ends of the logs.
    Failed(String),
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortTaken => f.write_str("the chosen ports were taken by another program"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for NotReady {}

/// Waits until kube-apiserver says it is ready and what it makes in the background at its first start is there.
pub(crate) async fn wait(
    client: &Client,
    etcd: &mut Process,
    apiserver: &mut Process,
) -> Result<(), NotReady> {
    let (began, limit) = (Instant::now(), deadline());
    loop {
        let state = match timeout(ATTEMPT_LIMIT, probe(client)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", ATTEMPT_LIMIT.as_secs()),
        };
        ended("etcd", etcd)?;
        ended("kube-apiserver", apiserver)?;
        if began.elapsed() >= limit {
            return Err(failed(&format!("not ready after {limit:?}: {state}"), &[etcd, apiserver]));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// `/readyz` covers the bootstrap roles, but neither the system namespaces nor what delegated authentication reads.
async fn probe(client: &Client) -> kube::Result<()> {
    let readyz = http::Request::get("/readyz").body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request_text(readyz).await?;
    let namespaces = Api::<Namespace>::all(client.clone());
    namespaces.get("default").await?;
    namespaces.get("kube-system").await?;
    let configuration = Api::<ConfigMap>::namespaced(client.clone(), "kube-system");
    configuration.get("extension-apiserver-authentication").await?;
    Ok(())
}

fn ended(name: &str, process: &mut Process) -> Result<(), NotReady> {
    match process.exit_status() {
        Ok(None) => Ok(()),
        Ok(Some(_)) if process.has_logged("address already in use") => Err(NotReady::PortTaken),
        Ok(Some(status)) => Err(failed(&format!("{name} ended with {status}"), &[process])),
        Err(error) => Err(failed(&format!("the state of {name} is unknown: {error}"), &[process])),
    }
}

fn failed(why: &str, processes: &[&Process]) -> NotReady {
    let logs: Vec<_> = processes.iter().map(|process| process.log_tail()).collect();
    NotReady::Failed(format!("{why}\n{}", logs.join("\n")))
}
