//! A list of servers, read to its end or not at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use openstack_client::compute::{Server, ServerFlavor, ServerStatus};
use openstack_client::{Error, Pages, ServerId};
use tokio::time::Instant;

use super::cloud_clock::CloudClock;
use super::seen::SeenServer;
use crate::instances::labels::LabelRules;

/// More flavors are not shared: each server is compared with all of them.
const MOST_SHARED_FLAVORS: usize = 64;

/// What a list of servers said.
#[derive(Debug, Default)]
pub(super) struct ServerList {
    /// All of them, those that are gone as well.
    pub(super) servers: Vec<SeenServer>,
    /// Those of which it said that they were deleted, as only a list of changes does.
    pub(super) gone: BTreeSet<ServerId>,
    /// How many calls it took.
    pub(super) calls: usize,
}

impl ServerList {
    /// All pages. Of each only what is kept of it is there when the next one comes.
    pub(super) async fn read(
        mut pages: Pages<Server>,
        clock: &CloudClock,
        labels: &LabelRules,
    ) -> Result<Self, Error> {
        let (mut list, mut flavors) = (Self::default(), Vec::new());
        while let Some(page) = pages.next_page().await? {
            clock.saw(Instant::now(), &page);
            list.calls += 1;
            let gone = page.iter().filter(|server| is_deleted(server));
            list.gone.extend(gone.map(|server| server.id.clone()));
            list.servers.extend(page.into_iter().map(|server| {
                let mut seen = SeenServer::new(server, labels);
                share(&mut seen.flavor, &mut flavors);
                seen
            }));
        }
        Ok(list)
    }

    /// Those that are there.
    pub(super) fn there(self) -> Vec<SeenServer> {
        let Self { mut servers, gone, .. } = self;
        servers.retain(|server| !gone.contains(&server.id));
        servers
    }
}

/// Thousands of servers have a few flavors, which are kept once each.
fn share(flavor: &mut Arc<ServerFlavor>, flavors: &mut Vec<Arc<ServerFlavor>>) {
    match flavors.iter().find(|known| *known == flavor) {
        Some(known) => *flavor = Arc::clone(known),
        None if flavors.len() < MOST_SHARED_FLAVORS => flavors.push(Arc::clone(flavor)),
        None => {}
    }
}

/// Whether a plain list would leave it out.
fn is_deleted(server: &Server) -> bool {
    matches!(server.status, ServerStatus::Deleted | ServerStatus::SoftDeleted)
}
