//! What it takes to list all servers of a project page by page: requests, bytes, and the memory that the client holds at
//! most. The client runs on one thread and the cloud on another, because the counter counts by thread.

use std::time::{Duration, Instant};

use allocation_counter::measure;
use anyhow::Context;
use openstack_client::compute::ServerQuery;

use crate::served_cloud::{ServedCloud, client};

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub struct ServerList {
    /// The servers that were listed.
    pub servers: usize,
    /// The pages they came in.
    pub pages: u64,
    /// The requests for pages that the cloud saw.
    pub list_requests: u64,
    /// All requests that the cloud saw: logging in and finding the service as well.
    pub requests: u64,
    /// The bytes of the bodies that the cloud sent.
    pub received_bytes: u64,
    /// The most bytes that the client held at one time: connection, answer and decoded page together.
    pub peak_bytes: u64,
    /// From the first request to the last page.
    pub took: Duration,
}

/// Lists a cloud of `servers` servers.
///
/// # Errors
///
/// If the cloud cannot be served on loopback, or the list fails.
pub fn of(servers: usize) -> anyhow::Result<ServerList> {
    let cloud = ServedCloud::start(servers)?;
    let mut listed = None;
    let since = Instant::now();
    let counted = measure(|| listed = Some(list(&cloud.clouds_yaml)));
    let took = since.elapsed();
    let seen = cloud.seen();
    let (servers, pages) = listed.context("the list was not read")??;
    Ok(ServerList {
        servers,
        pages,
        list_requests: seen.list_requests,
        requests: seen.requests,
        received_bytes: seen.bytes,
        peak_bytes: counted.bytes_max,
        took,
    })
}

/// Reads page after page and keeps none; answers the numbers of servers and of pages.
fn list(clouds_yaml: &str) -> anyhow::Result<(usize, u64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = client(clouds_yaml)?;
        let mut list = client.compute().servers(&ServerQuery::default());
        let (mut servers, mut pages) = (0, 0);
        while let Some(page) = list.next_page().await? {
            servers += page.len();
            pages += 1;
        }
        Ok((servers, pages))
    })
}
