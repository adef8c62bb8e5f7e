//! The cloud-node-lifecycle controller: deletes Nodes whose machine is proven gone, and taints Nodes whose machine is shut down until it
//! runs again.
//!
//! A Ready Node is never deleted, and normally not looked up in the cloud. All others cost one request together, each period and shortly
//! after a Node became Ready or not Ready. Before a Node is deleted, the rails must pass (claimed by this cloud, old enough, within the
//! budget, breaker closed), and then a direct read in the cloud must prove that the machine is gone.

mod brake;
mod execute;
pub mod metrics;
mod observe;
mod options;
mod pass;
pub mod plan;
pub mod taints;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{Capability, Instances, NodeView};
use bowline_kube::informer::{Change, Subscription};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

pub use brake::DeletionBrake;
pub use options::{InvalidOptions, LifecycleOptions};

use crate::controller::{Controller, ControllerContext, Stopped};
use crate::registry::ControllerName;
use observe::Observer;
use pass::{Memory, Pass};

/// The delay of a pass after a Node became Ready or not Ready, so that a burst of changes costs one pass.
const SETTLE: Duration = Duration::from_secs(1);

/// The maximum `Retry-After` of the cloud that is respected.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The cloud-node-lifecycle controller.
#[derive(Debug)]
pub struct LifecycleController {
    name: ControllerName,
    options: LifecycleOptions,
    brake: DeletionBrake,
}

impl LifecycleController {
    /// A controller with this name and these options.
    ///
    /// # Errors
    ///
    /// [`InvalidOptions`] if an option is out of range.
    pub fn new(name: ControllerName, options: LifecycleOptions) -> Result<Self, InvalidOptions> {
        options.check()?;
        let brake = DeletionBrake::new(options.deletion);
        Ok(Self { name, options, brake })
    }

    /// A handle on the deletion budget, to read and to reset its breaker.
    #[must_use]
    pub fn brake(&self) -> DeletionBrake {
        self.brake.clone()
    }
}

#[async_trait]
impl Controller for LifecycleController {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped> {
        instances(&context)?;
        if cancel.run_until_cancelled(context.nodes.synced()).await != Some(true) {
            return Ok(());
        }
        let mut changes = context.nodes.subscribe();
        let mut memory = Memory::new(&self.options);
        while !cancel.is_cancelled() {
            // The next pass reads a snapshot, so changes up to here need no further pass.
            while changes.try_next().is_some() {}
            // Checked before each pass: the provider may become unavailable while the controller runs.
            let instances = instances(&context)?;
            let began = Instant::now();
            let pause = self.pass(&context, instances.as_ref(), &cancel, &mut memory).await;
            context.metrics.monitor_nodes_duration_seconds.observe(began.elapsed().as_secs_f64());
            cancel.run_until_cancelled(self.wait(&mut changes, pause)).await;
        }
        Ok(())
    }
}

impl LifecycleController {
    /// One pass over all Nodes. Returns the `Retry-After` of the cloud, if it sent one.
    async fn pass(
        &self,
        context: &ControllerContext,
        instances: &dyn Instances,
        cancel: &CancellationToken,
        memory: &mut Memory,
    ) -> Option<Duration> {
        let calls = &context.metrics.lifecycle_cloud_calls;
        let observer = Observer { instances, calls, cancel };
        Pass { context, options: &self.options, brake: &self.brake, observer, memory }.run().await
    }

    /// Waits for the next period or the next relevant change, but at least as long as the cloud asked for.
    async fn wait(&self, changes: &mut Subscription<Arc<NodeView>>, pause: Option<Duration>) {
        let now = Instant::now();
        sleep_until(now + pause.unwrap_or_default().min(LONGEST_PAUSE)).await;
        tokio::select! {
            biased;
            () = sleep_until(now + self.options.node_monitor_period) => {}
            () = readiness_changes(changes) => {}
        }
    }
}

fn instances(context: &ControllerContext) -> Result<Arc<dyn Instances>, Stopped> {
    match context.cloud.instances() {
        Capability::Supported(instances) => Ok(instances),
        Capability::Unsupported => {
            Err(Stopped::NotWanted(format!("the cloud {} has no instances", context.cloud.name())))
        }
        Capability::Unavailable(why) => Err(Stopped::Unavailable(why)),
    }
}

/// Returns [`SETTLE`] after a Node became Ready or not Ready.
async fn readiness_changes(changes: &mut Subscription<Arc<NodeView>>) {
    loop {
        match changes.next().await {
            Some(Change::Updated { old, new }) if old.ready != new.ready => return sleep(SETTLE).await,
            Some(_) => {}
            // The informer has stopped, so this process is about to end; until then only the period starts passes.
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests;
