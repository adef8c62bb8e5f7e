//! Performs the steps of a plan, in order, and keeps the inventory up with them.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_kube::write::{Attempt, Place, WriteError};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DynamicObject;
use tokio::time::{Instant, sleep};

use super::execute::{Settled, place, refusal, resource, wish};
use super::{
    Applied, Applier, ApplyError, ApplyStep, Done, Entry, Inventory, ObjectId, Target, Unfit, inventory_name,
    kind_of,
};
use crate::api::FIELD_MANAGER;

/// How long to wait for an object to be gone before it is made anew. Finalizers may take longer; then the next pass goes on.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// One execution of a plan.
pub(super) struct Run<'a> {
    pub(super) applier: &'a Applier,
    pub(super) target: Target<'a>,
    pub(super) wanted: BTreeMap<ObjectId, DynamicObject>,
    /// The inventory as it is stored.
    pub(super) written: Inventory,
    /// The inventory as it should be.
    pub(super) now: Inventory,
    pub(super) stored: Option<ConfigMap>,
    pub(super) applied: Applied,
}

impl Run<'_> {
    pub(super) async fn perform(mut self, steps: &[ApplyStep]) -> Result<Applied, ApplyError> {
        if let Some(refusal) = refusal(steps) {
            return Err(refusal);
        }
        let is_namespace =
            |step: &&ApplyStep| matches!(step, ApplyStep::Create(id) if id.kind == "Namespace");
        // The inventory may be in one of them. They are never removed, so nothing is lost if they are recorded later.
        for step in steps.iter().filter(is_namespace) {
            self.step(step).await?;
        }
        self.save().await?;
        let mut outcome = Ok(());
        for step in steps.iter().filter(|step| !is_namespace(step)) {
            outcome = self.step(step).await;
            if outcome.is_err() {
                break;
            }
        }
        // Also after a failure: what was made is recorded.
        let saved = self.save().await;
        outcome.and(saved).map(|()| self.applied)
    }

    async fn step(&mut self, step: &ApplyStep) -> Result<(), ApplyError> {
        match step {
            ApplyStep::Create(id) => self.create(id, "created").await,
            ApplyStep::Update { id, uid } => self.update(id, uid).await,
            ApplyStep::Recreate { id, uid } => self.recreate(id, uid).await,
            ApplyStep::Delete { id, uid } => self.delete(id, uid).await,
            // Looked for before the first step.
            ApplyStep::Refuse { .. } => Ok(()),
            ApplyStep::Await(id) => {
                self.applied.awaited.push(id.clone());
                Ok(())
            }
        }
    }

    async fn create(&mut self, id: &ObjectId, what: &'static str) -> Result<(), ApplyError> {
        let Some(object) = self.wanted.get(id) else { return Ok(()) };
        let made = self.applier.write(id, object, Attempt::Real).await?;
        // Somebody was faster: then it is not ours.
        let is_adopted = !is_made_by_us(&made);
        self.now.record(Entry { id: id.clone(), uid: made.metadata.uid.clone(), is_adopted });
        self.done(what, id, made);
        if is_adopted && !self.target.adopt {
            return Err(ApplyError::NotMadeByUs { id: id.clone() });
        }
        Ok(())
    }

    async fn update(&mut self, id: &ObjectId, uid: &str) -> Result<(), ApplyError> {
        let Some(object) = self.wanted.get(id) else { return Ok(()) };
        let mut object = object.clone();
        // The one that was looked at: another one, or none, is a conflict, and the next pass looks again.
        object.metadata.uid = Some(uid.to_owned());
        let now = self.applier.write(id, &object, Attempt::Real).await?;
        self.done("updated", id, now);
        Ok(())
    }

    async fn recreate(&mut self, id: &ObjectId, uid: &str) -> Result<(), ApplyError> {
        let Some(object) = self.wanted.get(id) else { return Ok(()) };
        let copy_id = ObjectId { name: format!("{}-dry-run", id.name), ..id.clone() };
        let mut copy = object.clone();
        copy.metadata.name = Some(copy_id.name.clone());
        let resource = resource(id);
        let tried = self
            .applier
            .writer
            .create(place(&copy_id, &resource), FIELD_MANAGER, &copy, Attempt::DryRun)
            .await;
        tried.map_err(|source| ApplyError::Refused { id: id.clone(), source })?;
        self.applier.writer.delete_at(place(id, &resource), uid).await?;
        self.gone(id, uid).await?;
        self.now.record(Entry { id: id.clone(), uid: None, is_adopted: false });
        self.save().await?;
        self.create(id, "recreated").await
    }

    async fn gone(&self, id: &ObjectId, uid: &str) -> Result<(), ApplyError> {
        let deadline = Instant::now() + GONE_WITHIN;
        loop {
            let live = self.applier.get(id).await?;
            if live.is_none_or(|live| live.metadata.uid.as_deref() != Some(uid)) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(ApplyError::Lingers { id: id.clone() });
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn delete(&mut self, id: &ObjectId, uid: &str) -> Result<(), ApplyError> {
        let resource = resource(id);
        match self.applier.writer.delete_at(place(id, &resource), uid).await {
            Ok(_) => {}
            // A namesake: not ours, and left alone.
            Err(WriteError::Replaced { .. }) => {
                self.now.forget(id);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        // It stays in the inventory until it is seen to be gone: finalizers may keep it.
        if self.applier.get(id).await?.is_none() {
            self.now.forget(id);
        } else {
            self.applied.awaited.push(id.clone());
        }
        self.applied.done.push(Done { what: "deleted", id: id.clone() });
        Ok(())
    }

    fn done(&mut self, what: &'static str, id: &ObjectId, object: DynamicObject) {
        if let Some(wanted) = self.wanted.get(id) {
            let version = object.metadata.resource_version.clone();
            self.applier.settle(id, Settled { wish: wish(wanted), version });
        }
        self.applied.done.push(Done { what, id: id.clone() });
        self.applied.objects.insert(id.clone(), object);
    }

    /// Writes the inventory down, if it is another than the one that is stored.
    async fn save(&mut self) -> Result<(), ApplyError> {
        if self.now == self.written {
            return Ok(());
        }
        let Target { owner, namespace, .. } = self.target;
        let mut wanted = self.now.config_map(owner, namespace)?;
        let kind = kind_of("v1", "ConfigMap").map_err(Unfit::from)?.resource();
        let name = inventory_name(owner);
        let place = Place { resource: &kind, namespace: Some(namespace), name: &name };
        let writer = &self.applier.writer;
        let stored = match &self.stored {
            None => writer.create(place, FIELD_MANAGER, &wanted, Attempt::Real).await?,
            Some(stored) => {
                wanted.metadata.resource_version = stored.metadata.resource_version.clone();
                writer.replace(place, "", FIELD_MANAGER, &wanted).await?
            }
        };
        wanted.metadata = stored.metadata;
        self.stored = Some(wanted);
        self.written = self.now.clone();
        Ok(())
    }
}

/// Whether nobody else has written an object that was just made.
fn is_made_by_us(object: &DynamicObject) -> bool {
    let mut writers = object.metadata.managed_fields.iter().flatten();
    writers.all(|field| field.manager.as_deref() == Some(FIELD_MANAGER))
}
