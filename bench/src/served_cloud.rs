//! A simulated OpenStack on loopback, on a thread of its own. It counts the bytes of the bodies that it sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bowline_testkit::cloud::{Cloud, Options};
use bowline_testkit::http::Bound;
use http::Method;
use openstack_client::clouds_yaml::Documents;
use openstack_client::{Client, Settings, Transport, TransportOptions};
use sim_openstack::Service;
use zeroize::Zeroizing;

use crate::own_thread::OwnThread;

/// A cloud that is served until it is dropped.
pub(crate) struct ServedCloud {
    /// Where and as whom to log in: the cloud `sim` of this `clouds.yaml`.
    pub(crate) clouds_yaml: String,
    cloud: Cloud,
    bytes: Arc<AtomicU64>,
    _thread: OwnThread,
}

/// What the cloud saw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Requests for a page of servers.
    pub(crate) list_requests: u64,
    /// All requests: logging in and finding the service as well.
    pub(crate) requests: u64,
    /// The bytes of all bodies that were answered.
    pub(crate) bytes: u64,
}

/// A client of the cloud `sim` of this `clouds.yaml`.
pub(crate) fn client(clouds_yaml: &str) -> anyhow::Result<Client> {
    let documents = Documents { clouds: Zeroizing::new(clouds_yaml.to_owned()), ..Documents::default() };
    let settings = Settings::new(documents.entry(Some("sim"))?.auth.resolve()?);
    Ok(Client::new(Transport::https(&TransportOptions::default())?, settings))
}

impl ServedCloud {
    /// Makes a cloud with that many servers, and serves it.
    pub(crate) fn start(servers: usize) -> anyhow::Result<Self> {
        let thread = OwnThread::start()?;
        let bytes = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&bytes);
        let cloud = {
            let _there = thread.enter();
            Cloud::start_behind(Bound::new()?, Options::new(servers), move |sim, request| {
                let counter = Arc::clone(&counter);
                async move {
                    let answer = sim.answer(request).await?;
                    let length = u64::try_from(answer.body().len()).unwrap_or(u64::MAX);
                    counter.fetch_add(length, Ordering::Relaxed);
                    Ok(answer)
                }
            })?
        };
        Ok(Self { clouds_yaml: cloud.clouds_yaml(), cloud, bytes, _thread: thread })
    }

    /// What was seen so far.
    pub(crate) fn seen(&self) -> Seen {
        let (requests, _changes) = self.cloud.requests();
        let list_requests = self
            .cloud
            .sim
            .with(|cloud| cloud.log().count(Service::Compute, &Method::GET, "/v2.1/servers/detail"));
        Seen { list_requests, requests, bytes: self.bytes.load(Ordering::Relaxed) }
    }
}
