//! How many bytes the inventory keeps for each server with its port, and how many it takes at most to read them all, counted by the
//! allocator. The client runs on one thread and the cloud on another, because the counter counts by thread.

use allocation_counter::measure;
use anyhow::Context;
use bowline_openstack::inventory::{AGE_LIMIT, Inventory};

use crate::served_cloud::{ServedCloud, client};

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub struct KeptServers {
    /// Bytes held for each server when all are read.
    pub kept_bytes: f64,
    /// The most bytes at one time on the way there: connection, answers and what is kept.
    pub peak_bytes: u64,
}

/// Reads a project of `servers` servers with a port each.
///
/// # Errors
///
/// If the cloud cannot be served on loopback, or the reading fails.
pub fn of(servers: usize) -> anyhow::Result<KeptServers> {
    // The first run fills what is allocated once in a process; the second, of no server, is the ground to stand on.
    read(1)?;
    let (ground, _) = read(0)?;
    let (kept, peak_bytes) = read(servers)?;
    Ok(KeptServers { kept_bytes: (kept - ground) as f64 / servers as f64, peak_bytes })
}

/// Reads everything, and answers the bytes held then, and at most.
fn read(servers: usize) -> anyhow::Result<(i64, u64)> {
    let cloud = ServedCloud::start(servers)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut kept = None;
    let counted = measure(|| {
        kept = Some(runtime.block_on(async {
            let inventory = Inventory::new(client(&cloud.clouds_yaml)?, AGE_LIMIT);
            inventory.snapshot().await?;
            anyhow::Ok(inventory)
        }));
    });
    drop(kept.context("nothing was read")??);
    drop(runtime);
    Ok((counted.bytes_current, counted.bytes_max))
}
