//! One pass over the ClusterOperator: read, bring configuration and certificates up to date, apply the managers, judge their
//! rollout, and say how it is.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use bowline_cloud::EventKind;
use bowline_kube::clock::Clock;
use bowline_kube::events::EventRecorder;
use bowline_kube::objects::{DaemonSet, Deployment};
use bowline_kube::queue::{KeyedQueue, Outcome, Priority};
use bowline_kube::write::{Attempt, Place, WriteError, Writer};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::DynamicObject;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::cluster_operator::{
    NAME, OperatorReport, Reported, empty, related_objects, report, status_of, with_status,
};
use super::config_hash;
use super::kinds::{API_VERSION, CLUSTER_OPERATOR, INFRASTRUCTURE};
use super::sync::Sync;
use super::{Inputs, Trouble, watches};
use crate::api::FIELD_MANAGER;
use crate::apply::{Applied, Applier, Target};
use crate::images::Images;
use crate::infrastructure::Infrastructure;
use crate::operate::{Base, Key};
use crate::platform::{Platform, is_external};
use crate::render::{OpenShiftInputs, openshift};
use crate::rollout::{
    FailureWindow, Pass, REASON_SYNC_FAILED, Rollout, Verdict, daemon_set_rollout, deployment_rollout,
};

/// Whose the objects are, by their label and in their inventory.
pub const OWNER: &str = "clusteroperator.cloud-controller-manager";
/// How soon a rollout is looked at again although nothing was heard of it.
const LOOK: Duration = Duration::from_secs(30);

/// What OpenShift's part is made of.
pub struct Parts {
    /// Reads.
    pub client: Client,
    /// Writes.
    pub writer: Writer,
    /// Tells.
    pub recorder: EventRecorder,
    /// The time.
    pub clock: Clock,
    /// The version of the release.
    pub version: String,
    /// Where the operator runs.
    pub namespace: String,
    /// Where the managers run.
    pub managed_namespace: String,
    /// The file with the images.
    pub images_file: PathBuf,
    /// The file with the certificates of the system.
    pub system_ca_file: PathBuf,
    /// When everything is looked at again.
    pub resync: Duration,
}

/// OpenShift's part of the operator.
pub struct OpenShift {
    parts: Parts,
    applier: Applier,
    windows: Mutex<Windows>,
}

/// For how long what fails.
struct Windows {
    config: FailureWindow,
    trust: FailureWindow,
    managers: FailureWindow,
}

/// What a pass came to.
enum Went {
    Available,
    Progressing,
}

impl OpenShift {
    /// OpenShift's part, with its watches, if this is OpenShift.
    ///
    /// # Errors
    ///
    /// If the API server does not say.
    pub(crate) async fn detect(
        base: Base,
        queue: &KeyedQueue<Key>,
        parts: Parts,
    ) -> Result<Option<Self>, kube::Error> {
        let known = watches::known(&parts.client).await?;
        if !known.iter().any(|name| name == INFRASTRUCTURE.plural) {
            return Ok(None);
        }
        info!("this is OpenShift");
        watches::start(&base, queue, &known, &parts.managed_namespace);
        queue.add(Key::OpenShift, Priority::User);
        Ok(Some(Self::new(parts)))
    }

    /// One that has failed at nothing yet.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let windows = Windows {
            config: FailureWindow::of_config(),
            trust: FailureWindow::of_trust(),
            managers: FailureWindow::of_workloads(),
        };
        let applier = Applier::new(parts.client.clone(), parts.writer.clone());
        Self { parts, applier, windows: Mutex::new(windows) }
    }

    /// One pass.
    pub async fn pass(&self) -> Outcome {
        let inputs = Inputs::read(&self.parts.client, &self.parts.version).await;
        let inputs = match inputs {
            Ok(inputs) => inputs,
            Err(error) => {
                warn!(%error, "cannot read OpenShift's configuration");
                let trouble = Trouble::read("OpenShift's configuration")(error);
                return self.tell(Ok(()), Ok(()), Err(trouble)).await;
            }
        };
        let Some(infrastructure) = &inputs.infrastructure else {
            return self.tell(Ok(()), Ok(()), Ok(Went::Available)).await;
        };
        let sync = Sync {
            client: &self.parts.client,
            writer: &self.parts.writer,
            namespace: &self.parts.managed_namespace,
            system_ca_file: &self.parts.system_ca_file,
        };
        let config = sync.config(infrastructure, &inputs).await;
        let trust = sync.trust(&inputs).await;
        let managers = match (&config, &trust) {
            (Ok(()), Ok(())) => self.managers(infrastructure, &inputs).await,
            // Nothing is applied: what runs keeps what it has.
            (Err(trouble), _) | (_, Err(trouble)) => Err(Trouble {
                message: format!("failed to apply resources because {}", trouble.message),
                ..trouble.clone()
            }),
        };
        self.tell(config, trust, managers).await
    }

    /// Applies the managers and judges their rollout.
    async fn managers(&self, infrastructure: &Infrastructure, inputs: &Inputs) -> Result<Went, Trouble> {
        let status = infrastructure.status.platform_status.as_ref();
        if status.is_some_and(|status| status.platform == Platform::External) {
            return Ok(Went::Available);
        }
        if !is_external(status).map_err(|error| Trouble::transient(REASON_SYNC_FAILED, error.to_string()))? {
            return Ok(Went::Available);
        }
        let (mut objects, tls_note) = self.objects(infrastructure, inputs).await?;
        if !tls_note.is_empty() {
            warn!(ignored = ?tls_note, "cipher suites of the cluster's profile that managers do not know");
        }
        let missing = self.annotate(&mut objects).await?;
        let target = Target {
            owner: OWNER,
            namespace: &self.parts.managed_namespace,
            // The names are fixed, and the release's own operator made them: no person chooses any of them.
            adopt: true,
        };
        let applied = self.applier.apply(target, objects, &BTreeSet::new()).await?;
        for done in &applied.done {
            info!(object = %done.id, "{}", done.what);
            self.event(EventKind::Normal, reason_of(done.what), &format!("{} {}", done.what, done.id));
        }
        if let Some(trouble) = missing {
            self.event(EventKind::Warning, "ConfigurationCheckFailed", &trouble.message);
            return Err(trouble);
        }
        converged(&applied)
    }

    async fn objects(
        &self,
        infrastructure: &Infrastructure,
        inputs: &Inputs,
    ) -> Result<(Vec<crate::render::Object>, Vec<String>), Trouble> {
        let invalid = |error: String| Trouble::terminal(REASON_SYNC_FAILED, error);
        infrastructure.platform_status().map_err(|error| invalid(error.to_string()))?;
        let file = &self.parts.images_file;
        let text = tokio::fs::read_to_string(file).await;
        let text = text.map_err(|error| invalid(format!("{}: {error}", file.display())))?;
        let images = Images::parse(&text).map_err(|error| invalid(error.to_string()))?;
        let tls = inputs.tls.as_ref().map_err(|error| invalid(error.to_string()))?;
        let objects = openshift(&OpenShiftInputs {
            infrastructure,
            proxy: &inputs.proxy.status,
            images: &images,
            gates: &inputs.gates.clone().unwrap_or_default(),
            tls,
            namespace: &self.parts.managed_namespace,
        });
        Ok((objects.map_err(|error| invalid(error.to_string()))?, tls.ignored.clone()))
    }

    /// Puts the hash of what pods mount into their templates; what is missing is told.
    async fn annotate(&self, objects: &mut [crate::render::Object]) -> Result<Option<Trouble>, Trouble> {
        let mounted = config_hash::read(&self.parts.client, &self.parts.managed_namespace, objects).await;
        let mounted = mounted.map_err(Trouble::read("what pods mount"))?;
        let mut missing = None;
        for object in
            objects.iter_mut().filter(|object| matches!(object.kind.as_str(), "Deployment" | "DaemonSet"))
        {
            let live = self.applier.live(object).await?.and_then(|live| serde_json::to_value(live).ok());
            missing = config_hash::annotate(object, &mounted, live.as_ref()).or(missing);
        }
        Ok(missing)
    }

    fn now(&self) -> Timestamp {
        let now = self.parts.clock.now();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    /// Says how it is, and when to look again.
    async fn tell(
        &self,
        config: Result<(), Trouble>,
        trust: Result<(), Trouble>,
        managers: Result<Went, Trouble>,
    ) -> Outcome {
        let verdicts = self.judge(&config, &trust, &managers);
        let told = |wrong: Option<&Trouble>, verdict: Verdict| wrong.filter(|_| verdict.is_degraded).cloned();
        let [config_verdict, trust_verdict, verdict] = verdicts;
        let (config, trust) =
            (told(config.as_ref().err(), config_verdict), told(trust.as_ref().err(), trust_verdict));
        let reported = match &managers {
            Ok(Went::Available) => Reported::Available,
            Ok(Went::Progressing) => Reported::Progressing,
            Err(trouble) if verdict.is_degraded => Reported::Degraded(trouble),
            Err(_) => Reported::Failing,
        };
        let said = OperatorReport {
            managers: reported,
            config: config.as_ref(),
            trust: trust.as_ref(),
            version: &self.parts.version,
            now: self.now(),
        };
        if let Err(error) = self.publish(&said).await {
            warn!(%error, "cannot write the status of the ClusterOperator");
            return Outcome::Failed;
        }
        match managers {
            Err(trouble) => {
                warn!(reason = trouble.reason, "{}", trouble.message);
                if verdict.is_retried { Outcome::Failed } else { Outcome::RetryAfter(self.parts.resync) }
            }
            Ok(Went::Progressing) => Outcome::RetryAfter(LOOK.min(self.parts.resync)),
            Ok(Went::Available) => Outcome::RetryAfter(self.parts.resync),
        }
    }

    fn judge(
        &self,
        config: &Result<(), Trouble>,
        trust: &Result<(), Trouble>,
        managers: &Result<Went, Trouble>,
    ) -> [Verdict; 3] {
        let now = Instant::now().into_std();
        let judge = |window: &mut FailureWindow, wrong: Option<&Trouble>| match wrong {
            Some(trouble) => window.failed(trouble.failure, now),
            None => {
                window.succeeded(Pass::Full);
                Verdict { is_degraded: false, is_retried: false }
            }
        };
        let mut windows = self.windows.lock();
        let Windows { config: of_config, trust: of_trust, managers: of_managers } = &mut *windows;
        [
            judge(of_config, config.as_ref().err()),
            judge(of_trust, trust.as_ref().err()),
            judge(of_managers, managers.as_ref().err()),
        ]
    }

    async fn publish(&self, said: &OperatorReport<'_>) -> Result<(), String> {
        let kind = CLUSTER_OPERATOR.resource();
        let place = Place { resource: &kind, namespace: None, name: NAME };
        let found = CLUSTER_OPERATOR.object(&self.parts.client).await.map_err(|error| error.to_string())?;
        let writing = |error: WriteError| error.to_string();
        let object = match found {
            Some(object) => object,
            None => self
                .parts
                .writer
                .create(place, FIELD_MANAGER, &empty(), Attempt::Real)
                .await
                .map_err(writing)?,
        };
        let old = status_of(&object);
        let new = report(&old, said);
        let related = related_objects(&self.parts.namespace, &self.parts.managed_namespace);
        let Some(changed) = with_status(&object, &new, &related) else { return Ok(()) };
        self.parts.writer.replace(place, "status", FIELD_MANAGER, &changed).await.map_err(writing)?;
        self.news(&old, &new);
        Ok(())
    }

    /// Events for what people look for.
    fn news(&self, old: &crate::rollout::OperatorStatus, new: &crate::rollout::OperatorStatus) {
        for (type_, kind, reason) in [
            ("Progressing", EventKind::Normal, "Status upgrade"),
            ("Degraded", EventKind::Warning, "Status degraded"),
        ] {
            let was = old.condition(type_).is_some_and(|condition| condition.status == "True");
            let Some(is) = new.condition(type_).filter(|condition| condition.status == "True") else {
                continue;
            };
            if !was && !is.message.is_empty() {
                self.event(kind, reason, &is.message);
            }
        }
    }

    fn event(&self, kind: EventKind, reason: &str, message: &str) {
        let object = ObjectReference {
            api_version: Some(API_VERSION.to_owned()),
            kind: Some(CLUSTER_OPERATOR.kind.to_owned()),
            name: Some(NAME.to_owned()),
            ..ObjectReference::default()
        };
        self.parts.recorder.event(&object, kind, reason, message);
    }
}

fn reason_of(what: &str) -> &'static str {
    match what {
        "created" => "ResourceCreateSuccess",
        "updated" => "ResourceUpdateSuccess",
        "recreated" => "ResourceRecreateSuccess",
        _ => "ResourceDeleteSuccess",
    }
}

/// Whether all workloads are rolled out.
fn converged(applied: &Applied) -> Result<Went, Trouble> {
    let mut went = if applied.done.is_empty() && applied.awaited.is_empty() {
        Went::Available
    } else {
        Went::Progressing
    };
    for (id, object) in &applied.objects {
        match rollout(&id.kind, object) {
            Some(Rollout::Stalled { message }) => {
                return Err(Trouble::transient("RolloutStalled", format!("{id} does not go on: {message}")));
            }
            Some(Rollout::Progressing) => went = Went::Progressing,
            Some(Rollout::Complete) | None => {}
        }
    }
    Ok(went)
}

fn rollout(kind: &str, object: &DynamicObject) -> Option<Rollout> {
    let value = serde_json::to_value(object).ok()?;
    match kind {
        "Deployment" => {
            serde_json::from_value::<Deployment>(value).ok().map(|each| deployment_rollout(&each))
        }
        "DaemonSet" => serde_json::from_value::<DaemonSet>(value).ok().map(|each| daemon_set_rollout(&each)),
        _ => None,
    }
}
