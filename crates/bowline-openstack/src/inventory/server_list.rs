//! A list of servers, read to its end or not at all.

use std::collections::BTreeSet;

use openstack_client::compute::{Server, ServerStatus};
use openstack_client::{Error, Pages, ServerId};
use tokio::time::Instant;

use super::cloud_clock::CloudClock;
use super::seen::SeenServer;

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
    pub(super) async fn read(mut pages: Pages<Server>, clock: &CloudClock) -> Result<Self, Error> {
        let mut list = Self::default();
        while let Some(page) = pages.next_page().await? {
            clock.saw(Instant::now(), &page);
            list.calls += 1;
            let gone = page.iter().filter(|server| is_deleted(server));
            list.gone.extend(gone.map(|server| server.id.clone()));
            list.servers.extend(page.into_iter().map(SeenServer::from));
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

/// Whether a plain list would leave it out.
fn is_deleted(server: &Server) -> bool {
    matches!(server.status, ServerStatus::Deleted | ServerStatus::SoftDeleted)
}
