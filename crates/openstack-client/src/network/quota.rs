//! How much a project may have, and has.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Network;
use crate::{Error, ProjectId};

/// The quota of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Quota {
    /// The most there may be; -1 is without limit.
    pub limit: i64,
    /// How many there are; none where the cloud does not tell.
    #[serde(default)]
    pub used: Option<i64>,
}

impl Network {
    /// The quota of a project, by resource: `port`, `floatingip`, `security_group`, ….
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

    /// The quota of a project together with what is used of it.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Unsupported` where the cloud lacks the extension `quota_details`.
    pub async fn quota_details(&self, project: &ProjectId) -> Result<BTreeMap<String, Quota>, Error> {
        let call = Self::get("quota_get", &["quotas", project.as_str(), "details.json"]);
        self.0.fetch(call, "quota").await
    }
}
