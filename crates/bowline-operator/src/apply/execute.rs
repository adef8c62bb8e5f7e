//! Looks at what is there, asks by dry runs what a write would change, and has the plan performed. Decides nothing by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use bowline_kube::client::describe;
use bowline_kube::write::{Attempt, Place, WriteClass, WriteError, Writer};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};
use parking_lot::Mutex;

use super::run::Run;
use super::{
    ApplyStep, Inventory, InventoryError, ObjectId, Plan, Preview, Seen, Unfit, differs, inventory_name,
    kind_of, plan, prepare,
};
use crate::api::FIELD_MANAGER;
use crate::render::Object;

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
    #[error("read {what}: {}", describe(source.as_ref()))]
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
    /// Somebody else made it.
    #[error(
        "{id} was there before this operator, or was made by somebody else, and is left alone (nothing was changed); remove it, give the resource another name, or, if it shall be taken over, set spec.adopt to true"
    )]
    NotMadeByUs {
        /// Which.
        id: ObjectId,
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
            Self::Unfit(_)
            | Self::Inventory(_)
            | Self::Json(_)
            | Self::NotOurs { .. }
            | Self::NotMadeByUs { .. } => true,
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
    /// Whether objects that the operator did not make are taken over.
    pub adopt: bool,
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
    pub(super) writer: Writer,
    settled: Mutex<BTreeMap<ObjectId, Settled>>,
}

/// What was found to be as wanted: this wish, this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) wish: u64,
    pub(super) version: Option<String>,
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
        let Plan { intent, steps } = plan(&ids, kept, &seen, &inventory, target.owner, target.adopt);
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

    /// Whether all of `objects` may be made for `target`; changes nothing.
    ///
    /// # Errors
    ///
    /// If one of them is there and not ours, or cannot be read.
    pub async fn check(&self, target: Target<'_>, objects: Vec<Object>) -> Result<(), ApplyError> {
        let prepared = objects.into_iter().map(|object| prepare(object, target.owner).map(|(id, _)| id));
        let ids: Vec<ObjectId> = prepared.collect::<Result<_, _>>()?;
        let inventory = self.inventory(target).await?;
        let mut seen = BTreeMap::new();
        for id in &ids {
            let live = self.get(id).await?;
            seen.insert(id.clone(), Seen { live, preview: None });
        }
        let Plan { steps, .. } = plan(&ids, &BTreeSet::new(), &seen, &inventory, target.owner, target.adopt);
        refusal(&steps).map_or(Ok(()), Err)
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
        // A Namespace is never removed, so it is not looked at either.
        for entry in inventory.entries().iter().filter(|entry| entry.id.kind != "Namespace") {
            if !seen.contains_key(&entry.id) {
                let live = self.get(&entry.id).await?;
                seen.insert(entry.id.clone(), Seen { live, preview: None });
            }
        }
        Ok(seen)
    }

    pub(crate) async fn get(&self, id: &ObjectId) -> Result<Option<DynamicObject>, ApplyError> {
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

    pub(super) async fn write(
        &self,
        id: &ObjectId,
        object: &DynamicObject,
        attempt: Attempt,
    ) -> Result<DynamicObject, WriteError> {
        let resource = resource(id);
        self.writer.apply(place(id, &resource), FIELD_MANAGER, object, attempt).await
    }

    fn is_settled(&self, id: &ObjectId, now: &Settled) -> bool {
        self.settled.lock().get(id) == Some(now)
    }

    pub(super) fn settle(&self, id: &ObjectId, now: Settled) {
        self.settled.lock().insert(id.clone(), now);
    }
}

/// Why a plan must not be performed at all.
pub(super) fn refusal(steps: &[ApplyStep]) -> Option<ApplyError> {
    steps.iter().find_map(|step| match step {
        ApplyStep::Refuse { id, owner: Some(owner) } => {
            Some(ApplyError::NotOurs { id: id.clone(), owner: owner.clone() })
        }
        ApplyStep::Refuse { id, owner: None } => Some(ApplyError::NotMadeByUs { id: id.clone() }),
        _ => None,
    })
}

pub(super) fn wish(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(object).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// The kind of an object whose kind was looked up before; the table has it.
pub(super) fn resource(id: &ObjectId) -> ApiResource {
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

pub(super) fn place<'a>(id: &'a ObjectId, resource: &'a ApiResource) -> Place<'a> {
    Place { resource, namespace: id.namespace.as_deref(), name: &id.name }
}
