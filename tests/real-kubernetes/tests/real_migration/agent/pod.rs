//! One pod: the object, and the process that stands for its container.

use std::time::Duration;

use bowline_testkit::process::Process;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use real_kubernetes_tests::migration::request::{Side, Writer};
use serde_json::json;
use tokio::time::Instant;

use super::launch::{Launch, Launcher};
use super::{OLD, age};

/// A process is ready so long after it began.
const READY_AFTER: Duration = Duration::from_millis(300);
/// One that ended is started again so soon.
const RESTART_AFTER: Duration = Duration::from_millis(300);
/// One that was asked to end may take so long.
const GRACE: Duration = Duration::from_secs(10);
const GRACE_SECONDS: u32 = 30;

/// A pod.
pub(crate) struct AgentPod {
    name: String,
    owner: String,
    template: String,
    side: Side,
    launch: Launch,
    process: Option<Process>,
    ended: Option<Instant>,
    asked_to_end: Option<Instant>,
    starts: usize,
    ready: bool,
    gone: bool,
}

impl AgentPod {
    /// Makes the object and starts the process.
    pub(super) async fn create(
        launcher: &Launcher,
        deployment: &Deployment,
        template: String,
        number: usize,
    ) -> anyhow::Result<Self> {
        let spec = deployment.spec.clone().unwrap_or_default();
        let name = format!("{}-{number}", deployment.name_any());
        let mut pod = Pod {
            metadata: spec.template.metadata.clone().unwrap_or_default(),
            spec: spec.template.spec.clone(),
            status: None,
        };
        pod.metadata.name = Some(name.clone());
        pod.metadata.owner_references = deployment_reference(deployment);
        if let Some(spec) = &mut pod.spec {
            spec.node_name = Some(launcher.node.clone());
        }
        let launch = launcher.launch(&name, pod.spec.as_ref()).await?;
        launcher.pods.create(&PostParams::default(), &pod).await?;
        let side = if deployment.name_any() == OLD { Side::Old } else { Side::New };
        let mut made = Self {
            name,
            owner: deployment.uid().unwrap_or_default(),
            template,
            side,
            launch,
            process: None,
            ended: None,
            asked_to_end: None,
            starts: 0,
            ready: false,
            gone: false,
        };
        made.start(launcher)?;
        made.tell(launcher).await?;
        Ok(made)
    }

    /// The UID of its Deployment.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    pub(super) fn template(&self) -> &str {
        &self.template
    }

    pub(super) fn side(&self) -> Side {
        self.side
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    pub(super) fn is_ending(&self) -> bool {
        self.asked_to_end.is_some()
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether its process runs.
    pub(super) fn runs(&mut self) -> bool {
        self.process.as_mut().is_some_and(Process::is_running)
    }

    /// Ends its process behind its back.
    pub(super) fn end_process(&mut self, hard: bool) -> anyhow::Result<()> {
        let Some(process) = &mut self.process else { return Ok(()) };
        match (hard, process.is_running()) {
            (true, _) => process.kill(),
            (false, true) => process.signal("TERM"),
            (false, false) => Ok(()),
        }
    }

    fn start(&mut self, launcher: &Launcher) -> anyhow::Result<()> {
        self.starts += 1;
        let writer = Writer { side: self.side, process: format!("{}.{}", self.name, self.starts) };
        self.process = Some(launcher.start(&self.launch, &writer)?);
        self.ended = None;
        Ok(())
    }

    /// Looks after the process.
    pub(super) async fn look(&mut self, launcher: &Launcher) -> anyhow::Result<()> {
        let runs = self.runs();
        if let Some(asked) = self.asked_to_end {
            if !runs {
                return self.remove(launcher).await;
            }
            if age(asked) > GRACE {
                self.end_process(true)?;
            }
            return Ok(());
        }
        if !runs {
            let ended = *self.ended.get_or_insert_with(Instant::now);
            if age(ended) >= RESTART_AFTER {
                self.start(launcher)?;
            }
            return self.become_ready(launcher, false).await;
        }
        let since = self.process.as_ref().map(Process::started);
        let is_ready = since.is_some_and(|since| age(since) >= READY_AFTER);
        self.become_ready(launcher, is_ready).await
    }

    async fn become_ready(&mut self, launcher: &Launcher, ready: bool) -> anyhow::Result<()> {
        if self.ready == ready {
            return Ok(());
        }
        self.ready = ready;
        self.tell(launcher).await
    }

    async fn tell(&self, launcher: &Launcher) -> anyhow::Result<()> {
        let ready = if self.ready { "True" } else { "False" };
        let status = json!({ "status": {
            "phase": "Running", "startTime": Timestamp::now(), "conditions": [{ "type": "Ready", "status": ready }],
        } });
        forgiving(
            launcher.pods.patch_status(&self.name, &PatchParams::default(), &Patch::Merge(status)).await,
        )
    }

    /// Begins to end it.
    pub(super) async fn end(&mut self, launcher: &Launcher) -> anyhow::Result<()> {
        if self.is_ending() {
            return Ok(());
        }
        self.asked_to_end = Some(Instant::now());
        self.ready = false;
        forgiving(
            launcher.pods.delete(&self.name, &DeleteParams::default().grace_period(GRACE_SECONDS)).await,
        )?;
        self.tell(launcher).await?;
        self.end_process(false)
    }

    async fn remove(&mut self, launcher: &Launcher) -> anyhow::Result<()> {
        forgiving(launcher.pods.delete(&self.name, &DeleteParams::default().grace_period(0)).await)?;
        self.gone = true;
        Ok(())
    }
}

/// What is not there any more needs nothing.
fn forgiving<T>(done: Result<T, kube::Error>) -> anyhow::Result<()> {
    match done {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

fn deployment_reference(
    deployment: &Deployment,
) -> Option<Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference>> {
    use kube::Resource;
    deployment.controller_owner_ref(&()).map(|reference| vec![reference])
}
