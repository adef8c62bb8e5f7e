//! The cloud-node-lifecycle controller: nodes whose machine is proven gone are deleted, nodes whose machine is shut down
//! are tainted until it runs again.
//!
//! A Ready node is never deleted and costs no question to the cloud. All others cost one question together, each period
//! and soon after a node became Ready or ceased to be. Before a node is deleted, the rails are asked (only ours, old
//! enough, within the budget, breaker closed), and then the cloud directly: it must prove that the machine is gone.

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

/// How long after a node became Ready, or ceased to be, the nodes are looked at: a burst of them costs one look.
const SETTLE: Duration = Duration::from_secs(1);

/// The longest pause that the cloud may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The cloud-node-lifecycle controller.
#[derive(Debug)]
pub struct LifecycleController {
    name: ControllerName,
    options: LifecycleOptions,
    brake: DeletionBrake,
}

impl LifecycleController {
    /// A controller with these names and options.
    ///
    /// # Errors
    ///
    /// [`InvalidOptions`] if it could not work with them.
    pub fn new(name: ControllerName, options: LifecycleOptions) -> Result<Self, InvalidOptions> {
        options.check()?;
        let brake = DeletionBrake::new(options.deletion);
        Ok(Self { name, options, brake })
    }

    /// The brake of its deletions, to look at and to release.
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
            // What has changed until here is seen by this pass.
            while changes.try_next().is_some() {}
            // Asked for each time: a service of the cloud may fail while we run.
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
    /// One look at all nodes. Answers how long the cloud asked to be left alone.
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

    /// Waits for the next period or the next change that matters, but not shorter than the cloud asked for.
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

/// Returns a moment after a node became Ready, or ceased to be.
async fn readiness_changes(changes: &mut Subscription<Arc<NodeView>>) {
    loop {
        match changes.next().await {
            Some(Change::Updated { old, new }) if old.ready != new.ready => return sleep(SETTLE).await,
            Some(_) => {}
            // The informer has ended, and so will this process; the period goes on meanwhile.
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests;
