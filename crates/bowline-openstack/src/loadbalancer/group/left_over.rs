//! Groups that are left from a time when `manage-security-groups` was on.
//!
//! While it is off nobody makes such groups, so one list for the life of the process finds all there are. Whoever changes the
//! setting, or takes other credentials, begins with a new value of this type. Groups of Services that are deleted are looked for
//! in any case, and not here.

use std::collections::BTreeSet;

use openstack_client::ProjectId;
use openstack_client::network::Network;
use tokio::sync::Mutex;

use super::observe::all_groups;
use super::{Asked, FoundGroup, GroupError, Targets, observe};
use crate::loadbalancer::names::SECURITY_GROUP_PREFIX;

/// The names of groups that may still be there.
#[derive(Debug, Default)]
pub struct LeftOvers {
    /// None before the first look. Held during it: whoever comes meanwhile waits for that one.
    names: Mutex<Option<BTreeSet<String>>>,
}

impl LeftOvers {
    /// The group of this name that is left over. It is read now, so that it can be removed, and it is looked for until it is gone.
    /// All Services together cost one list, and those that have a group two calls more.
    ///
    /// # Errors
    ///
    /// [`GroupError`] as for [`observe`].
    pub async fn find(
        &self,
        network: &Network,
        project: &ProjectId,
        name: &str,
    ) -> Result<Option<FoundGroup>, GroupError> {
        if !self.may_be_there(network, project, name).await? {
            return Ok(None);
        }
        let asked =
            Asked { name, targets: &Targets::default(), made: None, untouched: None, list_is_proof: false };
        let observed = observe(network, project, asked).await?;
        if observed.found.is_none()
            && let Some(names) = self.names.lock().await.as_mut()
        {
            names.remove(name);
        }
        Ok(observed.found)
    }

    async fn may_be_there(
        &self,
        network: &Network,
        project: &ProjectId,
        name: &str,
    ) -> Result<bool, GroupError> {
        let mut names = self.names.lock().await;
        if let Some(names) = names.as_ref() {
            return Ok(names.contains(name));
        }
        let groups = all_groups(network, project).await?;
        let ours = groups.into_iter().map(|group| group.name);
        let ours: BTreeSet<String> = ours.filter(|name| name.starts_with(SECURITY_GROUP_PREFIX)).collect();
        let may_be_there = ours.contains(name);
        *names = Some(ours);
        Ok(may_be_there)
    }
}
