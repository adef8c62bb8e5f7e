//! Quotas of a project, and their usage.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Network;
use crate::{Error, ProjectId};

/// The quota of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Quota {
    /// The limit; -1 means unlimited.
    pub limit: i64,
    /// The number of objects; `None` if the answer does not contain usage.
    #[serde(default)]
    pub used: Option<i64>,
}

impl Network {
    /// The limits of a project by resource: `port`, `floatingip`, `security_group`, …. Without usage.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn quota(&self, project: &ProjectId) -> Result<BTreeMap<String, Quota>, Error> {
        let call = Self::get("quota_get", &["quotas", project.as_str()]);
        let raw: BTreeMap<String, Value> = self.0.fetch(call, "quota").await?;
        let limit = |value: Value| value.as_i64().map(|limit| Quota { limit, used: None });
        Ok(raw.into_iter().filter_map(|(resource, value)| Some((resource, limit(value)?))).collect())
    }

    /// The limits of a project with their usage, by resource.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Unsupported` if the cloud lacks the extension `quota_details`.
    pub async fn quota_details(&self, project: &ProjectId) -> Result<BTreeMap<String, Quota>, Error> {
        let call = Self::get("quota_get", &["quotas", project.as_str(), "details.json"]);
        self.0.fetch(call, "quota").await
    }
}
