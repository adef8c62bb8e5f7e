//! Looks at what is there, asks by dry runs what a write would change, and performs the plan. Decides nothing by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bowline_kube::write::{Attempt, Place, WriteClass, WriteError, Writer};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};
use tokio::time::{Instant, sleep};

use super::{
    ApplyStep, Entry, Inventory, InventoryError, ObjectId, Plan, Preview, Seen, Unfit, differs,
    inventory_name, kind_of, plan, prepare,
};
use crate::api::FIELD_MANAGER;
use crate::render::Object;

/// How long to wait for an object to be gone before it is made anew. Finalizers may take longer; then the next pass goes on.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Why objects could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// An object cannot be applied at all.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The inventory cannot be read.
    #[error(transparent)]
    Inventory(#[from] InventoryError),
    /// The inventory cannot be written down.
    #[error("the inventory cannot be written: {0}")]
    Json(#[from] serde_json::Error),
    /// Looking failed.
    #[error("read {what}: {source}")]
    Read {
        /// What was looked at.
        what: String,
        /// What the client says.
        source: Box<kube::Error>,
    },
    /// A write failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A copy of what shall be made anew is refused. The old one stays.
    #[error("{id} can only be made anew, and the new one is refused: {source}; the old one is kept")]
    Refused {
        /// Which.
        id: ObjectId,
        /// The server's words.
        source: WriteError,
    },
    /// It belongs to another resource.
    #[error(
        "{id} belongs to CloudControllerManager {owner} (label bowline.dev/managed-by); delete that one first, or give this one another namespace"
    )]
    NotOurs {
        /// Which.
        id: ObjectId,
        /// Whose.
        owner: String,
    },
    /// It does not go away.
    #[error("{id} is being deleted and still there: remove what its finalizers wait for")]
    Lingers {
        /// Which.
        id: ObjectId,
    },
}

impl ApplyError {
    /// Whether only a change of the input, or a person, can mend it.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Unfit(_) | Self::Inventory(_) | Self::Json(_) | Self::NotOurs { .. } => true,
            Self::Write(error) | Self::Refused { source: error, .. } => {
                matches!(error.class(), WriteClass::Invalid)
            }
            Self::Read { .. } | Self::Lingers { .. } => false,
        }
    }
}

/// Whose objects.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The name of the resource.
    pub owner: &'a str,
    /// Where its inventory is.
    pub namespace: &'a str,
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// In one word: `created`, `updated`, `recreated`, `deleted`.
    pub what: &'static str,
    /// To what.
    pub id: ObjectId,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Applied {
    /// What was done, in order.
    pub done: Vec<Done>,
    /// What could not be done yet, because it is being deleted.
    pub awaited: Vec<ObjectId>,
    /// What is wanted, as it is now.
    pub objects: BTreeMap<ObjectId, DynamicObject>,
}

/// Applies objects. It remembers what it found to be as wanted, and does not ask again until that changes.
pub struct Applier {
    client: Client,
    writer: Writer,
    settled: Mutex<BTreeMap<ObjectId, Settled>>,
}

/// What was found to be as wanted: this wish, this version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Settled {
    wish: u64,
    version: Option<String>,
}

impl Applier {
    /// One that reads with `client` and writes with `writer`.
    #[must_use]
    pub fn new(client: Client, writer: Writer) -> Self {
        Self { client, writer, settled: Mutex::default() }
    }

    /// Makes `objects` exist, in this order, and removes what was made for `target` before and is no longer among them.
    /// What is in `kept` is not removed.
    ///
    /// # Errors
    ///
    /// With the first step that failed; those before it are done, and those after it are not.
    pub async fn apply(
        &self,
        target: Target<'_>,
        objects: Vec<Object>,
        kept: &BTreeSet<ObjectId>,
    ) -> Result<Applied, ApplyError> {
        let prepared = objects.into_iter().map(|object| prepare(object, target.owner));
        let wanted: Vec<(ObjectId, DynamicObject)> = prepared.collect::<Result<_, _>>()?;
        let stored = self.stored_inventory(target).await?;
        let inventory = Inventory::read(&inventory_name(target.owner), stored.as_ref())?;
        let seen = self.look(&wanted, &inventory).await?;
        let ids: Vec<ObjectId> = wanted.iter().map(|(id, _)| id.clone()).collect();
        let Plan { intent, steps } = plan(&ids, kept, &seen, &inventory, target.owner);
        let mut run = Run {
            applier: self,
            target,
            wanted: wanted.into_iter().collect(),
            written: inventory,
            now: intent,
            stored,
            applied: Applied::default(),
        };
        run.applied.objects = seen
            .into_iter()
            .filter_map(|(id, seen)| Some((id, seen.live?)))
            .filter(|(id, _)| ids.contains(id))
            .collect();
        run.perform(&steps).await
    }

    /// What the inventory has, for an answer to "what is there to remove?".
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn inventory(&self, target: Target<'_>) -> Result<Inventory, ApplyError> {
        let stored = self.stored_inventory(target).await?;
        Ok(Inventory::read(&inventory_name(target.owner), stored.as_ref())?)
    }

    /// An object as it is, if it is there.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn live(&self, object: &Object) -> Result<Option<DynamicObject>, ApplyError> {
        let Object { api_version, kind, namespace, name, .. } = object.clone();
        self.get(&ObjectId { api_version, kind, namespace, name }).await
    }

    async fn stored_inventory(&self, target: Target<'_>) -> Result<Option<ConfigMap>, ApplyError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), target.namespace);
        let name = inventory_name(target.owner);
        let read = api.get_opt(&name).await;
        read.map_err(|source| ApplyError::Read {
            what: format!("ConfigMap {}/{name}", target.namespace),
            source: Box::new(source),
        })
    }

    async fn look(
        &self,
        wanted: &[(ObjectId, DynamicObject)],
        inventory: &Inventory,
    ) -> Result<BTreeMap<ObjectId, Seen>, ApplyError> {
        let mut seen = BTreeMap::new();
        for (id, object) in wanted {
            let live = self.get(id).await?;
            let preview = match &live {
                Some(live) if live.metadata.deletion_timestamp.is_none() => {
                    Some(self.preview(id, object, live).await?)
                }
                _ => None,
            };
            seen.insert(id.clone(), Seen { live, preview });
        }
        for entry in inventory.entries() {
            if !seen.contains_key(&entry.id) {
                let live = self.get(&entry.id).await?;
                seen.insert(entry.id.clone(), Seen { live, preview: None });
            }
        }
        Ok(seen)
    }

    async fn get(&self, id: &ObjectId) -> Result<Option<DynamicObject>, ApplyError> {
        let kind = kind_of(&id.api_version, &id.kind).map_err(Unfit::from)?;
        let resource = kind.resource();
        let api: Api<DynamicObject> = match &id.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        api.get_opt(&id.name)
            .await
            .map_err(|source| ApplyError::Read { what: id.to_string(), source: Box::new(source) })
    }

    async fn preview(
        &self,
        id: &ObjectId,
        object: &DynamicObject,
        live: &DynamicObject,
    ) -> Result<Preview, ApplyError> {
        let settled = Settled { wish: wish(object), version: live.metadata.resource_version.clone() };
        if self.is_settled(id, &settled) {
            return Ok(Preview::Same);
        }
        match self.write(id, object, Attempt::DryRun).await {
            Ok(preview) if differs(live, &preview) => Ok(Preview::Changes),
            Ok(_same) => {
                self.settle(id, settled);
                Ok(Preview::Same)
            }
            Err(WriteError::Invalid { .. }) => Ok(Preview::Refused),
            Err(error) => Err(error.into()),
        }
    }

    async fn write(
        &self,
        id: &ObjectId,
        object: &DynamicObject,
        attempt: Attempt,
    ) -> Result<DynamicObject, WriteError> {
        let resource = resource(id);
        self.writer.apply(place(id, &resource), FIELD_MANAGER, object, attempt).await
    }

    fn is_settled(&self, id: &ObjectId, now: &Settled) -> bool {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).get(id) == Some(now)
    }

    fn settle(&self, id: &ObjectId, now: Settled) {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), now);
    }
}

/// One execution of a plan.
struct Run<'a> {
    applier: &'a Applier,
    target: Target<'a>,
    wanted: BTreeMap<ObjectId, DynamicObject>,
    /// The inventory as it is stored.
    written: Inventory,
    /// The inventory as it should be.
    now: Inventory,
    stored: Option<ConfigMap>,
    applied: Applied,
}

impl Run<'_> {
    async fn perform(mut self, steps: &[ApplyStep]) -> Result<Applied, ApplyError> {
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
            ApplyStep::Refuse { id, owner } => {
                Err(ApplyError::NotOurs { id: id.clone(), owner: owner.clone() })
            }
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
        let Target { owner, namespace } = self.target;
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

fn wish(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(object).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// The kind of an object whose kind was looked up before; the table has it.
fn resource(id: &ObjectId) -> ApiResource {
    kind_of(&id.api_version, &id.kind).map_or_else(
        |_unknown| ApiResource {
            group: String::new(),
            version: String::new(),
            api_version: id.api_version.clone(),
            kind: id.kind.clone(),
            plural: String::new(),
        },
        super::Kind::resource,
    )
}

fn place<'a>(id: &'a ObjectId, resource: &'a ApiResource) -> Place<'a> {
    Place { resource, namespace: id.namespace.as_deref(), name: &id.name }
}
