//! Nodes that share a provider ID: one machine registered under two names, or a copied kubelet configuration. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bowline_cloud::{Evidence, Instance, NodeView};

/// The provider ID that a Node has, or will get from the cloud.
pub(super) fn id_of<'a>(node: &'a NodeView, found: &'a Evidence<Instance>) -> Option<&'a str> {
    let from_cloud = match found {
        Evidence::Present(instance) => Some(instance.provider_id.as_str()),
        Evidence::Absent(_) | Evidence::Unknown(_) => None,
    };
    node.provider_id.as_deref().or(from_cloud).filter(|id| !id.is_empty())
}

/// Provider IDs that more than one Node has, with the names of these Nodes.
pub(super) fn shared_ids<'a>(
    nodes_and_ids: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut owners: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (node, id) in nodes_and_ids {
        owners.entry(id).or_default().insert(node);
    }
    owners.retain(|_id, nodes| nodes.len() > 1);
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_that_more_than_one_node_has_are_shared() {
        let shared = shared_ids([("a", "x://1"), ("b", "x://2"), ("c", "x://1"), ("b", "x://2")]);
        assert_eq!(shared, BTreeMap::from([("x://1", BTreeSet::from(["a", "c"]))]));
    }
}
