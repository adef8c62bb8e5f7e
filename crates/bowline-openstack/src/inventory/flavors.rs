//! The names of flavors, where servers do not tell them: clouds before microversion 2.47, and names that are no labels.

use std::collections::BTreeSet;

use openstack_client::compute::Compute;
use openstack_client::{Error, FlavorId};

use super::SeenServer;
use crate::instances::metadata::{FlavorNames, told_type};

/// Reads the flavors that `servers` need: none as a rule, one by its id, or all.
pub(super) async fn read(nova: &Compute, servers: &[SeenServer]) -> Result<FlavorNames, Error> {
    let unknown = servers.iter().map(|server| &server.flavor).filter(|flavor| told_type(flavor).is_none());
    let (mut ids, mut by_name) = (BTreeSet::new(), false);
    for flavor in unknown {
        match &flavor.id {
            Some(id) => drop(ids.insert(id)),
            None => by_name |= flavor.original_name.is_some(),
        }
    }
    let mut names = FlavorNames::new();
    if by_name || ids.len() > 1 {
        let all = nova.flavors().all().await?;
        names.extend(all.into_iter().map(|flavor| (flavor.id, flavor.name)));
    }
    // Lists leave out the flavors that are not for everybody.
    let missing: Vec<&FlavorId> = ids.into_iter().filter(|id| !names.contains_key(id)).collect();
    for id in missing {
        match nova.flavor(id).await {
            Ok(flavor) => drop(names.insert(flavor.id, flavor.name)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(names)
}
