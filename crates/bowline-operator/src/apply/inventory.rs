//! The list of what was made for a resource: what may be removed again. It is a ConfigMap, written before anything is created
//! and completed afterwards, so that a crash in between loses nothing.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::ObjectId;
use crate::api::OWNER_LABEL;

/// The key of the list in its ConfigMap.
pub const INVENTORY_KEY: &str = "inventory.json";

/// The name of the ConfigMap with the inventory of a resource.
#[must_use]
pub fn inventory_name(owner: &str) -> String {
    format!("bowline-inventory-{owner}")
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Which.
    #[serde(flatten)]
    pub id: ObjectId,
    /// Its UID; none as long as it is only going to be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Whether it was there before us. Then it is never removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_adopted: bool,
}

/// What was made, in the order in which it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    entries: Vec<Entry>,
    /// Whether it was never written: then objects with our label count as ours.
    is_lost: bool,
}

/// The list cannot be read. Nothing is removed then, and nothing is made: it would not be recorded.
#[derive(Debug, thiserror::Error)]
#[error(
    "ConfigMap {name}: {INVENTORY_KEY} is not the list that the operator writes ({why}); restore it, or delete the ConfigMap so that it is made anew from the labels"
)]
pub struct InventoryError {
    /// The ConfigMap.
    pub name: String,
    /// What is wrong.
    pub why: String,
}

impl Inventory {
    /// An inventory that was never written.
    #[must_use]
    pub fn lost() -> Self {
        Self { entries: Vec::new(), is_lost: true }
    }

    /// Reads the ConfigMap; none is an inventory that was never written.
    ///
    /// # Errors
    ///
    /// If it is there and not readable.
    pub fn read(name: &str, stored: Option<&ConfigMap>) -> Result<Self, InventoryError> {
        let Some(stored) = stored else { return Ok(Self::lost()) };
        let text = stored.data.as_ref().and_then(|data| data.get(INVENTORY_KEY));
        let problem = |why: String| InventoryError { name: name.to_owned(), why };
        let text = text.ok_or_else(|| problem("the key is missing".to_owned()))?;
        let entries = serde_json::from_str(text).map_err(|error| problem(error.to_string()))?;
        Ok(Self { entries, is_lost: false })
    }

    /// The ConfigMap that holds it.
    ///
    /// # Errors
    ///
    /// If it cannot be written as JSON.
    pub fn config_map(&self, owner: &str, namespace: &str) -> Result<ConfigMap, serde_json::Error> {
        let metadata = ObjectMeta {
            name: Some(inventory_name(owner)),
            namespace: Some(namespace.to_owned()),
            labels: Some([(OWNER_LABEL.to_owned(), owner.to_owned())].into()),
            ..ObjectMeta::default()
        };
        let text = serde_json::to_string_pretty(&self.entries)?;
        let data = BTreeMap::from([(INVENTORY_KEY.to_owned(), text)]);
        Ok(ConfigMap { metadata, data: Some(data), ..ConfigMap::default() })
    }

    /// What is in it, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of an object.
    #[must_use]
    pub fn get(&self, id: &ObjectId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == *id)
    }

    /// Whether it was never written.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Records an object, in its old place if it has one.
    pub fn record(&mut self, entry: Entry) {
        self.is_lost = false;
        match self.entries.iter_mut().find(|known| known.id == entry.id) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
    }

    /// Forgets an object.
    pub fn forget(&mut self, id: &ObjectId) {
        self.entries.retain(|entry| entry.id != *id);
    }
}
