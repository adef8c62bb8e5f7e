//! One pass over a resource, from the look to the status.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_kube::clock::Clock;
use bowline_kube::events::EventRecorder;
use bowline_kube::objects::{DaemonSet, Deployment};
use bowline_kube::queue::{Outcome, Picked};
use bowline_kube::write::{Change, Guard, Writer};
use jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use tokio::time::Instant;
use tracing::{info, warn};

use super::marks::mark;
use super::metrics::OperatorMetrics;
use super::naming::{candidates, naming};
use super::report::Reporter;
use super::steps::Steps;
use super::{Found, Problem, Workload, rival, status};
use crate::allowed::Allowed;
use crate::api::{CloudControllerManager, CloudControllerManagerStatus, FINALIZER};
use crate::apply::{Applied, Applier, ObjectId, Target};
use crate::migration::{Answer, Case, Decision, ManagerMode, Observed, Timings, decide};
use crate::observe::{
    ClusterLook, Gatherer, InputProblem, Inputs, Known, fetch, last_good, look_at_cluster, read_inputs,
    wishes,
};
use crate::openshift::OpenShift;
use crate::render::{
    ClusterFacts, Naming, Object, RenderedConfig, config_name, plain, shadow_name, shadow_report_name,
};
use crate::rollout::{FailureWindow, Pass, Rollout, Verdict, daemon_set_rollout, deployment_rollout};

/// What is worked on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A resource of ours.
    Resource(String),
    /// The ClusterOperator of OpenShift.
    OpenShift,
}

/// Works on resources. All it remembers is for how long something fails.
pub struct Operator {
    pub(super) client: Client,
    pub(super) writer: Writer,
    pub(super) applier: Applier,
    pub(super) gatherer: Gatherer,
    pub(super) recorder: EventRecorder,
    pub(super) clock: Clock,
    pub(super) metrics: OperatorMetrics,
    pub(super) version: String,
    pub(super) image: Option<String>,
    pub(super) allowed: Allowed,
    pub(super) resync: Duration,
    pub(super) timings: Timings,
    pub(super) assume_minor: Option<u32>,
    pub(super) openshift: Option<OpenShift>,
    pub(super) failures: Mutex<BTreeMap<String, FailureWindow>>,
}

/// What a pass came to.
#[derive(Default)]
pub(super) struct Work {
    pub(super) problem: Option<Problem>,
    pub(super) decision: Option<Decision>,
    pub(super) workload: Option<Workload>,
    pub(super) config_hash: Option<String>,
}

impl Operator {
    /// One pass.
    pub async fn pass(&self, picked: &Picked<Key>) -> Outcome {
        match &picked.key {
            Key::Resource(name) => self.resource(name).await,
            Key::OpenShift => match &self.openshift {
                Some(openshift) => openshift.pass().await,
                None => Outcome::Done,
            },
        }
    }

    async fn resource(&self, name: &str) -> Outcome {
        let resources: Api<CloudControllerManager> = Api::all(self.client.clone());
        let resource = match resources.get_opt(name).await {
            Ok(Some(resource)) => resource,
            Ok(None) => {
                self.failures().remove(name);
                return Outcome::Done;
            }
            Err(error) => {
                warn!(name, %error, "cannot read the resource");
                return Outcome::Failed;
            }
        };
        if resource.metadata.deletion_timestamp.is_some() {
            return self.remove(&resource).await;
        }
        // Nothing is made for it, so nothing would be left behind: without a finalizer it can be deleted at any time.
        if let Err(problem) = self.allowed.check(name, &resource.spec) {
            let work = Work { problem: Some(problem.into()), ..Work::default() };
            return self.tell(&resource, work).await;
        }
        let resource = match self.with_finalizer(&resources, resource).await {
            Ok(resource) => resource,
            Err(problem) => {
                warn!(name, "{problem}");
                return Outcome::Failed;
            }
        };
        let work = self.work(&resource).await;
        self.tell(&resource, work).await
    }

    /// The resource with our finalizer, without which it could vanish and leave everything behind.
    async fn with_finalizer(
        &self,
        resources: &Api<CloudControllerManager>,
        resource: CloudControllerManager,
    ) -> Result<CloudControllerManager, Problem> {
        let mut finalizers = resource.metadata.finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|name| name == FINALIZER) {
            return Ok(resource);
        }
        finalizers.push(FINALIZER.to_owned());
        self.set_finalizers(&resource, &finalizers).await?;
        resources.get(&resource.name_any()).await.map_err(Problem::read("the resource"))
    }

    pub(super) fn failures(&self) -> MutexGuard<'_, BTreeMap<String, FailureWindow>> {
        self.failures.lock()
    }

    /// The time, in whole seconds, as Kubernetes writes times down.
    pub(super) fn now(&self) -> Timestamp {
        let now = self.clock.now();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    pub(super) fn reporter<'a>(&'a self, resource: &'a CloudControllerManager) -> Reporter<'a> {
        Reporter { writer: &self.writer, recorder: &self.recorder, resource }
    }

    /// Says how it went, and when to look again.
    pub(super) async fn tell(&self, resource: &CloudControllerManager, work: Work) -> Outcome {
        let name = resource.name_any();
        let verdict = self.judge(&name, work.problem.as_ref());
        self.metrics.pass(&name, work.problem.as_ref().map_or("ok", Problem::reason));
        if let Some(problem) = &work.problem {
            warn!(name, reason = problem.reason(), "{problem}");
        }
        let new = status(Found {
            resource,
            problem: work.problem.as_ref(),
            is_degraded: verdict.is_degraded,
            workload: work.workload.as_ref(),
            config_hash: work.config_hash.as_deref(),
            version: resource.spec.version.as_deref().unwrap_or(&self.version),
            decision: work.decision.as_ref(),
            now: self.now(),
        });
        if let Some(migration) = &new.migration {
            let before = resource.status.as_ref().and_then(|status| status.migration.as_ref());
            let before = before.map(|before| before.phase.to_string());
            self.metrics.phase(&name, &migration.phase.to_string(), before.as_deref());
        }
        let reporter = self.reporter(resource);
        if let Err(error) = reporter.publish(new).await {
            warn!(name, %error, "cannot write the status");
            return Outcome::Failed;
        }
        if let Some(decision) = &work.decision {
            reporter.notes(&decision.notes);
        }
        if work.problem.is_some() && verdict.is_retried {
            return Outcome::Failed;
        }
        let is_rolling = work.workload.is_some_and(|workload| workload.rollout != Rollout::Complete);
        let asked = work.decision.map_or(self.resync, |decision| decision.look_again);
        let soonest = if is_rolling { self.timings.look.max(Duration::from_secs(1)) } else { self.resync };
        Outcome::RetryAfter(asked.min(soonest).min(self.resync))
    }

    fn judge(&self, name: &str, problem: Option<&Problem>) -> Verdict {
        let mut failures = self.failures();
        let window = failures.entry(name.to_owned()).or_insert_with(FailureWindow::of_workloads);
        match problem {
            Some(problem) => window.failed(problem.failure(), Instant::now().into_std()),
            None => {
                window.succeeded(Pass::Full);
                Verdict { is_degraded: false, is_retried: false }
            }
        }
    }

    async fn work(&self, resource: &CloudControllerManager) -> Work {
        let mut work = Work::default();
        if let Err(problem) = self.try_work(resource, &mut work).await {
            work.problem.get_or_insert(problem);
        }
        work
    }

    async fn try_work(&self, resource: &CloudControllerManager, work: &mut Work) -> Result<(), Problem> {
        let name = resource.name_any();
        let resources: Api<CloudControllerManager> = Api::all(self.client.clone());
        let all =
            resources.list(&ListParams::default()).await.map_err(Problem::read("CloudControllerManagers"))?;
        if let Some(problem) = rival(resource, &all.items) {
            return Err(problem);
        }
        let cluster = self.look_at_cluster().await?;
        let naming = self.naming(resource).await?;
        let base = naming.base(&name);
        let (inputs, problem) = self.inputs(resource, &base).await?;
        let config = inputs.as_ref().and_then(|inputs| inputs.config.clone());
        let observed = self.observe(resource, &cluster, &base, config.as_ref(), problem.as_ref()).await;
        // What only looks is not the manager.
        let ours = observed.ours.as_ref().filter(|ours| [&base, &name].contains(&&ours.workload.name));
        work.workload = ours.map(|ours| Workload {
            ready: ready_pods(&observed),
            desired: ours.desired,
            rollout: ours.rollout.clone(),
        });
        work.problem = problem.map(Problem::Input);
        if !observed.unread.is_empty() {
            return Err(Problem::unread(&observed.unread));
        }
        if resource.spec.paused {
            return Ok(());
        }
        let Some(inputs) = inputs else { return Ok(()) };
        let facts = self.facts(&cluster, &observed, &inputs, naming);
        let decision = work.decision.insert(self.decide(resource, &observed));
        self.check_before_hand_over(resource, decision, &facts).await?;
        let steps = Steps { client: &self.client, writer: &self.writer, now: self.now() };
        steps.execute(&decision.steps).await?;
        for violation in &decision.violations {
            warn!(name, ?violation, "a step that would have broken a rule was left out; this is a bug");
        }
        if decision.hold {
            return Ok(());
        }
        let applied = self.apply(resource, decision, &facts).await?;
        work.config_hash = inputs.config.map(|config| config.hash);
        work.workload = workload_of(&applied, &base).or(work.workload.take());
        Ok(())
    }

    /// What the manager would be refused for in its last phase is found before the previous one is stopped.
    async fn check_before_hand_over(
        &self,
        resource: &CloudControllerManager,
        decision: &Decision,
        facts: &ClusterFacts,
    ) -> Result<(), Problem> {
        let (name, spec) = (resource.name_any(), &resource.spec);
        let is_before = decision.mode == ManagerMode::Shadow || !decision.steps.is_empty();
        if !is_before || spec.migration.rollback {
            return Ok(());
        }
        let mut objects = plain(spec, &name, ManagerMode::Full, facts)?;
        self.allowed.check_images(&objects, self.image.as_deref())?;
        objects.retain(is_ours_to_make);
        let target = Target { owner: &name, namespace: &spec.namespace, adopt: spec.adopt };
        Ok(self.applier.check(target, objects).await?)
    }

    /// How the objects of a resource are named.
    pub(super) async fn naming(&self, resource: &CloudControllerManager) -> Result<Naming, Problem> {
        let (name, spec) = (resource.name_any(), &resource.spec);
        let target = Target { owner: &name, namespace: &spec.namespace, adopt: spec.adopt };
        let inventory = self.applier.inventory(target).await?;
        let mut live = Vec::new();
        for id in candidates(&name, &spec.namespace, &inventory) {
            let found = self.applier.get(&id).await?;
            live.extend(found.map(|object| (id, object)));
        }
        Ok(naming(&name, spec.form, &inventory, &live))
    }

    /// The cluster as a whole.
    pub(super) async fn look_at_cluster(&self) -> Result<ClusterLook, Problem> {
        let look = look_at_cluster(&self.client).await;
        let mut cluster = look.map_err(Problem::read("the cluster's version"))?;
        cluster.facts.minor = self.assume_minor.unwrap_or(cluster.facts.minor);
        Ok(cluster)
    }

    /// What the manager is given. Where the configuration is wrong, the last good one, and what is wrong.
    async fn inputs(
        &self,
        resource: &CloudControllerManager,
        base: &str,
    ) -> Result<(Option<Inputs>, Option<InputProblem>), Problem> {
        let wishes = wishes(&resource.spec);
        let fetched =
            fetch(&self.client, &wishes).await.map_err(Problem::read("configuration and credentials"))?;
        let problem = match read_inputs(&resource.spec, &wishes, &fetched) {
            Ok(inputs) => return Ok((Some(inputs), None)),
            Err(problem) => problem,
        };
        let hash = resource.status.as_ref().and_then(|status| status.config_hash.as_deref());
        let (Some(hash), true) = (hash, problem.is_of_config()) else { return Ok((None, Some(problem))) };
        let known = RenderedConfig { text: String::new(), hash: hash.to_owned() };
        let name = config_name(base, &known);
        let good = last_good(&self.client, &resource.spec.namespace, &name).await;
        let good =
            good.map_err(Problem::read("the last good configuration"))?.filter(|good| good.hash == hash);
        // Credentials that are missing, too, stop everything.
        let hash = crate::observe::hash_of_inputs(&wishes, &fetched).map_err(Problem::Input)?;
        Ok((good.map(|config| Inputs { config: Some(config), hash }), Some(problem)))
    }

    pub(super) async fn observe(
        &self,
        resource: &CloudControllerManager,
        cluster: &ClusterLook,
        base: &str,
        config: Option<&RenderedConfig>,
        problem: Option<&InputProblem>,
    ) -> Observed {
        let config = config.map(|config| config_name(base, config));
        let known = Known {
            resource,
            cluster,
            version: resource.spec.version.as_deref().unwrap_or(&self.version),
            config: config.as_deref(),
            base,
            config_prefix: &format!("{base}-config-"),
            report: &shadow_report_name(base),
            shadow: &shadow_name(base),
        };
        let mut observed = self.gatherer.look(known).await;
        observed.preflight.config = match (problem, &config) {
            (Some(problem), _) if problem.is_of_config() => Answer::Fail(problem.to_string()),
            (_, Some(_)) => Answer::Pass("it can be read".to_owned()),
            (_, None) => Answer::Pass("none is named, so none is read".to_owned()),
        };
        observed
    }

    fn decide(&self, resource: &CloudControllerManager, observed: &Observed) -> Decision {
        let status = resource.status.clone().unwrap_or_default();
        decide(&self.case(resource, &status, observed))
    }

    pub(super) fn case<'a>(
        &'a self,
        resource: &'a CloudControllerManager,
        status: &'a CloudControllerManagerStatus,
        observed: &'a Observed,
    ) -> Case<'a> {
        let name = resource.metadata.name.as_deref().unwrap_or_default();
        Case { name, spec: &resource.spec, status, observed, now: self.now(), timings: &self.timings }
    }

    fn facts(
        &self,
        cluster: &ClusterLook,
        observed: &Observed,
        inputs: &Inputs,
        naming: Naming,
    ) -> ClusterFacts {
        ClusterFacts {
            control_plane_nodes: observed.nodes.iter().filter(|node| node.control_plane).count(),
            has_service_monitor: cluster.has_service_monitor,
            server_minor: Some(cluster.facts.minor),
            config: inputs.config.clone(),
            inputs_hash: inputs.hash.clone(),
            api_server: cluster.api_server.clone(),
            own_image: self.image.clone(),
            naming,
        }
    }

    async fn apply(
        &self,
        resource: &CloudControllerManager,
        decision: &Decision,
        facts: &ClusterFacts,
    ) -> Result<Applied, Problem> {
        let (name, spec) = (resource.name_any(), &resource.spec);
        let mut objects = plain(spec, &name, decision.mode, facts)?;
        self.allowed.check_images(&objects, self.image.as_deref())?;
        objects.retain(is_ours_to_make);
        let version = spec.version.as_deref().unwrap_or(&self.version);
        mark(&mut objects, decision.mode, decision.status.kind, version);
        let kept: BTreeSet<ObjectId> =
            decision.keep_configs.iter().flat_map(|config| config_ids(&spec.namespace, config)).collect();
        let target = Target { owner: &name, namespace: &spec.namespace, adopt: spec.adopt };
        let applied = self.applier.apply(target, objects, &kept).await?;
        self.note(resource, &applied);
        Ok(applied)
    }

    pub(super) fn note(&self, resource: &CloudControllerManager, applied: &Applied) {
        let name = resource.name_any();
        for done in &applied.done {
            info!(name, object = %done.id, "{}", done.what);
            self.metrics.written(&name, done.what);
        }
        self.reporter(resource).done(&applied.done);
    }

    pub(super) async fn set_finalizers(
        &self,
        resource: &CloudControllerManager,
        finalizers: &[String],
    ) -> Result<(), Problem> {
        // The status is written over the version that was read, so this one is guarded by the list itself.
        let guard = Guard::Uid(resource.metadata.uid.clone().unwrap_or_default());
        let before = resource.metadata.finalizers.clone().unwrap_or_default();
        let mut patch = vec![];
        if !before.is_empty() {
            patch.push(json!({ "op": "test", "path": "/metadata/finalizers", "value": before }));
        }
        patch.push(json!({ "op": "add", "path": "/metadata/finalizers", "value": finalizers }));
        let name = resource.name_any();
        let written =
            self.writer.patch::<CloudControllerManager>(None, &name, &guard, Change::Json(patch)).await;
        let problem = |error: bowline_kube::write::WriteError| Problem::Step {
            what: "set the finalizer".to_owned(),
            why: error.to_string(),
        };
        written.map(drop).map_err(problem)
    }
}

/// The operator has no rights on namespaces: those that it may use are listed, and are there before it.
fn is_ours_to_make(object: &Object) -> bool {
    object.kind != "Namespace"
}

fn ready_pods(observed: &Observed) -> i32 {
    let pods = observed.ours.iter().flat_map(|ours| &ours.pods);
    i32::try_from(pods.filter(|pod| pod.ready && !pod.deleting).count()).unwrap_or(i32::MAX)
}

/// The configuration may be a ConfigMap or a Secret.
fn config_ids(namespace: &str, name: &str) -> [ObjectId; 2] {
    ["ConfigMap", "Secret"].map(|kind| ObjectId {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    })
}

/// The manager's workload after it was applied, by what its controller says.
fn workload_of(applied: &Applied, name: &str) -> Option<Workload> {
    let found = |kind: &str| {
        let mut all = applied.objects.iter();
        all.find(|(id, _)| id.kind == kind && id.name == name).map(|(_, object)| object.clone())
    };
    if let Some(deployment) = found("Deployment").and_then(typed::<Deployment>) {
        let ready = deployment.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
        let desired = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        return Some(Workload { ready, desired, rollout: deployment_rollout(&deployment) });
    }
    let daemon_set = found("DaemonSet").and_then(typed::<DaemonSet>)?;
    let status = daemon_set.status.clone().unwrap_or_default();
    let (ready, desired) = (status.number_ready, status.desired_number_scheduled);
    Some(Workload { ready, desired, rollout: daemon_set_rollout(&daemon_set) })
}

fn typed<T: serde::de::DeserializeOwned>(object: DynamicObject) -> Option<T> {
    serde_json::to_value(object).and_then(serde_json::from_value).ok()
}
