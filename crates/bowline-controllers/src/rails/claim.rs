//! SR-4, claim before control: only Nodes of this cloud are ever tainted, labelled or deleted. Bare-metal and edge Nodes and Nodes of other
//! clouds are left alone, whatever the cloud reports about their machines.
//!
//! A cloud claims every Node without provider ID, because it may turn out to be its own. Such a Node counts as this cloud's only after the
//! cloud has returned a machine for it: that the cloud does not know the system UUID of a physical machine proves nothing.

use std::fmt;

use bowline_cloud::{Claim, Instances, NodeView};

use super::node_filter::NodeFilter;
use super::seen_machines::SeenMachines;

/// A Node without provider ID for which no machine was ever found: it is left alone although the cloud claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeverFound;

impl fmt::Display for NeverFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "no cloud ever found a machine for this Node, and it has no provider ID; if its machine is gone, delete the Node by \
             hand",
        )
    }
}

/// Checks that a Node that the cloud claims is known to be its own: by its provider ID, or because its machine was observed.
///
/// # Errors
///
/// [`NeverFound`] if it is not known: the Node must not be tainted, labelled or deleted.
pub fn judge(node: &NodeView, machines: &SeenMachines) -> Result<(), NeverFound> {
    let is_ours = node.provider_id.is_some() || machines.seen_for(node).is_some();
    if is_ours { Ok(()) } else { Err(NeverFound) }
}

/// Nodes, divided by whether this manager handles them.
#[derive(Debug)]
pub struct Claimed<N> {
    /// Nodes of this cloud: controllers may act on them.
    pub ours: Vec<N>,
    /// Other Nodes, each with the reason. Controllers must not act on them.
    pub foreign: Vec<(N, String)>,
}

/// Whether this manager handles a Node: `--node-filter` selects it, and the cloud claims it. All controllers that ask the cloud for claims
/// use this function, so they agree about each Node. The others (IPAM, and routes on a cloud without instances) use only the filter.
#[must_use]
pub fn whose(filter: &NodeFilter, instances: &dyn Instances, node: &NodeView) -> Claim {
    match filter.selects(node) {
        true => instances.claims(node),
        false => Claim::NotOurs(format!("--node-filter={filter} does not select its labels")),
    }
}

/// Divides nodes by [`whose`].
pub fn claimed<N>(
    filter: &NodeFilter,
    instances: &dyn Instances,
    nodes: impl IntoIterator<Item = N>,
    view: impl Fn(&N) -> &NodeView,
) -> Claimed<N> {
    let mut answer = Claimed { ours: Vec::new(), foreign: Vec::new() };
    for node in nodes {
        match whose(filter, instances, view(&node)) {
            Claim::Ours => answer.ours.push(node),
            Claim::NotOurs(why) => answer.foreign.push((node, why)),
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use bowline_cloud::Text;
    use bowline_testkit::provider::FakeInstances;

    use super::*;

    #[test]
    fn a_node_of_another_cloud_is_set_aside_with_the_reason_and_ours_pass() {
        let node = |id: &str| {
            let provider_id = Some(id.into()).filter(|id: &Text| !id.is_empty());
            NodeView { provider_id, ..NodeView::default() }
        };
        let nodes = [node("fake://1"), node("metal://2"), node("")];
        let Claimed { ours, foreign } =
            claimed(&NodeFilter::default(), &FakeInstances::default(), nodes, |node| node);
        assert_eq!(ours.len(), 2, "one with our scheme, one that has no provider ID yet");
        assert_eq!(foreign.len(), 1);
        assert_eq!(foreign[0].1, "its provider ID is metal://2");
    }

    #[test]
    fn a_node_outside_the_filter_is_set_aside_whatever_its_provider_id() {
        let labels = |pool: &str| [("pool".to_owned(), pool.to_owned())].into();
        let node = |pool| NodeView {
            provider_id: Some("fake://1".into()),
            labels: labels(pool),
            ..NodeView::default()
        };
        let filter = NodeFilter::parse("pool=a").unwrap();
        let Claimed { ours, foreign } =
            claimed(&filter, &FakeInstances::default(), [node("a"), node("b")], |node| node);
        assert_eq!((ours.len(), foreign.len()), (1, 1));
        assert_eq!(foreign[0].1, "--node-filter=pool=a does not select its labels");
    }

    #[test]
    fn a_node_without_provider_id_is_ours_only_under_the_uid_for_which_its_machine_was_seen() {
        let machines = SeenMachines::default();
        let node = NodeView { uid: "u-1".into(), ..NodeView::default() };
        assert_eq!(judge(&node, &machines), Err(NeverFound));
        let named = NodeView { provider_id: Some("fake://1".into()), ..node.clone() };
        assert_eq!(judge(&named, &machines), Ok(()));
        machines.saw(&node, "fake://1");
        assert_eq!(judge(&node, &machines), Ok(()));
        let namesake = NodeView { uid: "u-2".into(), ..node };
        assert_eq!(judge(&namesake, &machines), Err(NeverFound));
    }
}
