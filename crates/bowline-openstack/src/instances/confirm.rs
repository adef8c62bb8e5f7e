//! The direct read of one Node's server, past every cache: the only thing here that can say "gone".
//!
//! Proof of absence is Nova's own 404 for the server's id, said to a token of our project, said again when asked again, and
//! not contradicted by the list of servers of that name. Everything else is doubt: of a Node without provider ID nobody knows which
//! server it had, so that no answer can prove it gone. That Nova does not know the system UUID of a machine is no proof, since it may
//! never have known it. Who has just looked and was told 404 has
//! been told once; the last word is always read here and now, so that no denial is believed because it was kept.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Doubt, ErrorClass, Evidence, Instance, NodeView, Proof};
use openstack_client::ServerId;
use tokio::time::Instant;

use super::attention::Need;
use super::{Servers, Wanted, ambiguous, doubt, is_missing};
use crate::inventory::{InventoryError, SeenServer};

/// How long ago a look may have been told 404 to count as the first of two. The direct read follows the look that asks for it.
const JUST_TOLD: Duration = Duration::from_secs(10);

/// What a direct read found.
enum Found {
    Server(Box<SeenServer>),
    Gone(Proof),
}

impl Servers {
    pub(super) async fn read(&self, node: &NodeView) -> Evidence<Instance> {
        let found = match self.wanted(node) {
            Ok(Wanted::Id(id)) => self.read_by_id(node, &id).await,
            Ok(Wanted::Name) => match told_id(node) {
                Some(id) => self.read_by_name(node, &id).await,
                None => return self.read_without_id(node).await,
            },
            Err(doubt) => Err(doubt),
        };
        match found {
            Ok(Found::Server(server)) => match self.inventory.machine(*server).await {
                Ok(machine) => self.describe(node, &machine),
                Err(error) => Evidence::Unknown(error.doubt()),
            },
            Ok(Found::Gone(proof)) => Evidence::Absent(proof),
            Err(doubt) => Evidence::Unknown(doubt),
        }
    }

    /// There is no id to ask for, and so no proof to be had. That is asked every few seconds as long as the Node is there,
    /// so it must not cost more than any other look.
    async fn read_without_id(&self, node: &NodeView) -> Evidence<Instance> {
        let found = self.look(&[Arc::new(node.clone())], Need::Everything).await.pop();
        match found {
            Some(found) if !is_missing(&found) => found,
            _ => Evidence::Unknown(no_proof(node)),
        }
    }

    async fn read_by_id(&self, node: &NodeView, id: &ServerId) -> Result<Found, Doubt> {
        let now = Instant::now();
        let told = self.attention.denial(node, now.checked_sub(JUST_TOLD).unwrap_or(now));
        let gone = match told {
            Some(words) => words,
            None => match self.inventory.server(id).await {
                Ok(server) => return Ok(Found::Server(Box::new(server))),
                Err(error) => not_found(&error)?,
            },
        };
        let named = self.inventory.servers_named(&node.name).await.map_err(|error| error.doubt())?;
        if named.iter().any(|server| server.id == *id) {
            return Err(contradiction(id));
        }
        self.gone_for_good(id, &gone).await
    }

    /// A Node without provider ID. The server is also asked for by the id that its machine tells, to find one that was renamed.
    async fn read_by_name(&self, node: &NodeView, id: &ServerId) -> Result<Found, Doubt> {
        let named = self.inventory.servers_named(&node.name).await.map_err(|error| error.doubt())?;
        if let Some(server) = only(node, named)? {
            return Ok(Found::Server(Box::new(server)));
        }
        let all = self.inventory.servers().await.map_err(|error| error.doubt())?;
        if let Some(server) = only(node, all)? {
            return Ok(Found::Server(Box::new(server)));
        }
        match self.inventory.server(id).await {
            Ok(server) => Err(doubt(
                ErrorClass::Invalid,
                format!(
                    "server {id} has the system UUID of node {}, but is called {:?}",
                    node.name, server.name
                ),
            )),
            Err(error) => {
                not_found(&error)?;
                Err(no_proof(node))
            }
        }
    }

    /// Asks a second time: one wrong answer must not cost a Node.
    async fn gone_for_good(&self, id: &ServerId, first: &str) -> Result<Found, Doubt> {
        match self.inventory.server(id).await {
            Ok(_) => Err(contradiction(id)),
            Err(error) => {
                let second = not_found(&error)?;
                Ok(Found::Gone(Proof::new(format!(
                    "server {id} is gone; Nova said twice: {first}; {second}"
                ))))
            }
        }
    }
}

/// The id that the Node's machine tells: Nova gives it to its firmware.
pub(super) fn told_id(node: &NodeView) -> Option<ServerId> {
    node.system_uuid.as_deref().and_then(|uuid| ServerId::new(uuid.to_ascii_lowercase()).ok())
}

/// Nothing of this Node was found, and that proves nothing.
fn no_proof(node: &NodeView) -> Doubt {
    let why = format!(
        "no server is called {}, which proves nothing of a node without provider ID: it may never have had a server; delete the node \
         by hand if its machine is gone",
        node.name
    );
    doubt(ErrorClass::NotFound, why)
}

/// What Nova said, if it said that there is no such server; a doubt otherwise.
fn not_found(error: &InventoryError) -> Result<String, Doubt> {
    if error.is_not_found() { Ok(error.to_string()) } else { Err(error.doubt()) }
}

/// Temporary, and not of class "not found": nothing has been found out.
fn contradiction(id: &ServerId) -> Doubt {
    Doubt::new(format!("Nova contradicts itself about server {id}: it said 404 and also that it is there"))
}

/// The one server of the Node's name, by the same rule as in a snapshot; a doubt if there are several.
fn only(node: &NodeView, servers: Vec<SeenServer>) -> Result<Option<SeenServer>, Doubt> {
    let alike: Vec<SeenServer> =
        servers.into_iter().filter(|server| server.name.eq_ignore_ascii_case(&node.name)).collect();
    let exact = alike.iter().any(|server| *server.name == *node.name);
    let mut found: Vec<SeenServer> =
        alike.into_iter().filter(|server| !exact || *server.name == *node.name).collect();
    match (found.pop(), found.is_empty()) {
        (last, true) => Ok(last),
        (last, false) => Err(ambiguous(node, found.iter().chain(&last).map(|server| &server.id))),
    }
}
