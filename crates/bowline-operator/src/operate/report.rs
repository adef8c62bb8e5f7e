//! Says what a pass has found: the status, if it is another one, and events for what changed.

use bowline_cloud::EventKind;
use bowline_kube::events::EventRecorder;
use bowline_kube::write::{Place, WriteError, Writer};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::ApiResource;
use kube::{Resource, ResourceExt};

use crate::api::{CloudControllerManager, CloudControllerManagerStatus, FIELD_MANAGER};
use crate::apply::Done;
use crate::migration::{Note, NoteType};
use crate::rollout::Condition;

/// Where things are said.
pub(super) struct Reporter<'a> {
    pub(super) writer: &'a Writer,
    pub(super) recorder: &'a EventRecorder,
    pub(super) resource: &'a CloudControllerManager,
}

impl Reporter<'_> {
    /// Writes the status over the version that was read, if it is another one; tells what changed as events.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The next pass comes to the same status.
    pub(super) async fn publish(&self, status: CloudControllerManagerStatus) -> Result<(), WriteError> {
        let old = self.resource.status.clone().unwrap_or_default();
        if old == status {
            return Ok(());
        }
        let mut new = self.resource.clone();
        new.metadata.managed_fields = None;
        new.status = Some(status.clone());
        let (kind, name) = (ApiResource::erase::<CloudControllerManager>(&()), self.resource.name_any());
        let place = Place { resource: &kind, namespace: None, name: &name };
        self.writer.replace(place, "status", FIELD_MANAGER, &new).await?;
        for condition in changed(&old.conditions, &status.conditions) {
            self.event(kind_of(condition), &condition.reason, &told(condition));
        }
        Ok(())
    }

    /// What was done to objects, as one event: of many about one object, most would be dropped.
    pub(super) fn done(&self, done: &[Done]) {
        if done.is_empty() {
            return;
        }
        let each = done.iter().map(|Done { what, id }| format!("{what} {id}"));
        self.event(EventKind::Normal, "Applied", &each.collect::<Vec<_>>().join(", "));
    }

    /// What a decision has to tell.
    pub(super) fn notes(&self, notes: &[Note]) {
        for note in notes {
            let kind = match note.type_ {
                NoteType::Normal => EventKind::Normal,
                NoteType::Warning => EventKind::Warning,
            };
            self.event(kind, &note.reason, &note.message);
        }
    }

    /// One event about the resource.
    pub(super) fn event(&self, kind: EventKind, reason: &str, message: &str) {
        self.recorder.event(&reference(self.resource), kind, reason, message);
    }
}

/// Conditions that are told as events. What the phases say is told by their notes.
const TOLD: [&str; 4] = ["Available", "Degraded", "Upgradeable", "ActionRequired"];

/// The conditions whose status or reason is another one.
fn changed<'a>(old: &[Condition], new: &'a [Condition]) -> Vec<&'a Condition> {
    let before = |type_: &str| old.iter().find(|condition| condition.type_ == type_);
    let is_new = |condition: &&Condition| {
        before(&condition.type_)
            .is_none_or(|old| (&old.status, &old.reason) != (&condition.status, &condition.reason))
    };
    // What is as it should be from the beginning is no news.
    let is_news = |condition: &&Condition| {
        before(&condition.type_).is_some() || !condition.message.is_empty() && condition.status == "True"
    };
    let is_told = |condition: &&Condition| TOLD.contains(&condition.type_.as_str());
    new.iter().filter(is_told).filter(is_new).filter(is_news).collect()
}

fn kind_of(condition: &Condition) -> EventKind {
    let is_bad = match condition.type_.as_str() {
        "Degraded" | "ActionRequired" => condition.status == "True",
        "Available" | "Upgradeable" => condition.status == "False",
        _ => false,
    };
    if is_bad { EventKind::Warning } else { EventKind::Normal }
}

fn told(condition: &Condition) -> String {
    let Condition { type_, status, message, .. } = condition;
    match message.as_str() {
        "" => format!("{type_} is {status}"),
        message => format!("{type_} is {status}: {message}"),
    }
}

/// The resource as the object of an event. Events about what has no namespace are in `default`.
fn reference(resource: &CloudControllerManager) -> ObjectReference {
    ObjectReference { namespace: None, ..resource.object_ref(&()) }
}
