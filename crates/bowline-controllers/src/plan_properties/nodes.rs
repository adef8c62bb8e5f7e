//! The taints of stopped machines, and the initialisation of Nodes: as patches of whole Nodes, read again.

use bowline_cloud::{AddressKind, Evidence, Instance, NodeAddress, NodeView};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::lifecycle::plan::{Machine, edits};
use crate::lifecycle::taints::{OUT_OF_SERVICE, SHUTDOWN};
use crate::node::plan::{UNINITIALIZED_TAINT, is_uninitialized, plan_initialization};
use crate::view::{SlimNode, node_view};

const KEYS: [&str; 5] = [SHUTDOWN, OUT_OF_SERVICE, UNINITIALIZED_TAINT, "example.com/spot", "dedicated"];
const LABELS: [&str; 5] = [
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "example.com/rack",
    "plain",
];

fn taint() -> impl Strategy<Value = Value> {
    let value = prop_oneof![Just(None), Just(Some("nodeshutdown")), Just(Some("other"))];
    let effect = prop_oneof![Just("NoSchedule"), Just("NoExecute")];
    let added = prop_oneof![Just(None), Just(Some("2026-01-01T00:00:00Z"))];
    (prop::sample::select(&KEYS), value, effect, added).prop_map(|(key, value, effect, added)| {
        let mut taint = json!({"key": key, "effect": effect});
        if let Some(value) = value {
            taint["value"] = json!(value);
        }
        if let Some(added) = added {
            taint["timeAdded"] = json!(added);
        }
        taint
    })
}

/// A Node as the API server has it: two taints of the same key and effect it would refuse.
fn node() -> impl Strategy<Value = Value> {
    let labels = prop::collection::btree_map(prop::sample::select(&LABELS), "[ab]", 0..4);
    let ready = prop_oneof![Just("True"), Just("False"), Just("Unknown")];
    let addresses = prop::collection::vec(address(), 0..3);
    let parts = (prop::collection::vec(taint(), 0..5), labels, ready, addresses, any::<bool>());
    parts.prop_map(|(mut taints, labels, ready, addresses, has_id)| {
        taints.sort_by_key(|taint| (taint["key"].to_string(), taint["effect"].to_string()));
        taints.dedup_by_key(|taint| (taint["key"].clone(), taint["effect"].clone()));
        let mut node = json!({
            "metadata": {"name": "n", "uid": "u"},
            "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": ready}], "addresses": addresses},
        });
        // What is empty is not on the wire.
        if !taints.is_empty() {
            node["spec"]["taints"] = json!(taints);
        }
        if !labels.is_empty() {
            node["metadata"]["labels"] = json!(labels);
        }
        if has_id {
            node["spec"]["providerID"] = json!("openstack:///s-1");
        }
        node
    })
}

fn address() -> impl Strategy<Value = NodeAddress> {
    let kinds = [AddressKind::Hostname, AddressKind::InternalIP, AddressKind::ExternalIP];
    let address = prop::sample::select(vec!["10.0.0.1", "10.0.0.2", "n"]);
    (prop::sample::select(kinds.to_vec()), address).prop_map(|(kind, text)| NodeAddress::new(kind, text))
}

fn instance() -> impl Strategy<Value = Instance> {
    let id = prop::sample::select(vec!["", "openstack:///s-1", "openstack:///s-2"]);
    let text = || prop::option::of("[ab]?");
    let labels =
        prop::collection::btree_map(prop::sample::select(&LABELS).prop_map(str::to_owned), "[ab]", 0..3);
    let parts = (id, text(), text(), text(), prop::collection::vec(address(), 0..3), labels);
    parts.prop_map(|(id, instance_type, zone, region, addresses, additional_labels)| Instance {
        provider_id: id.to_owned(),
        instance_type,
        zone,
        region,
        addresses,
        additional_labels,
        ..Instance::default()
    })
}

fn view(node: &Value) -> NodeView {
    let slim: SlimNode = serde_json::from_value(node.clone()).expect("a Node");
    node_view(slim)
}

fn patched(node: &Value, operations: Vec<Value>) -> Value {
    let mut new = node.clone();
    let patch: json_patch::Patch = serde_json::from_value(operations.into()).expect("a JSON patch");
    json_patch::patch(&mut new, &patch).expect("a patch that fits what was seen");
    new
}

/// The taints of others, with all that they say.
fn foreign(node: &Value, ours: &[&str]) -> Vec<Value> {
    let all = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|taint| !ours.iter().any(|key| taint["key"] == *key)).collect()
}

proptest! {
    #[test]
    fn taints_say_what_the_machine_is_after_one_patch_and_those_of_others_stay(
        node in node(), down in any::<bool>(), out_of_service in any::<bool>(),
    ) {
        let machine = if down { Machine::Down } else { Machine::Up };
        let after = patched(&node, edits(&view(&node), machine, out_of_service));
        prop_assert_eq!(edits(&view(&after), machine, out_of_service), Vec::<Value>::new());
        let ours = [SHUTDOWN, OUT_OF_SERVICE];
        prop_assert_eq!(foreign(&after, &ours), foreign(&node, &ours));
        let has = |node: &Value, key: &str| view(node).taints.iter().any(|taint| taint.key == *key);
        if view(&node).ready == Some(true) {
            prop_assert!(!has(&after, SHUTDOWN) || has(&node, SHUTDOWN), "a Ready node gets no taint of a stopped machine");
        }
        if !out_of_service {
            prop_assert_eq!(has(&after, OUT_OF_SERVICE), has(&node, OUT_OF_SERVICE), "what a person set stays");
        }
    }

    #[test]
    fn a_node_is_initialised_by_one_plan_and_then_needs_nothing(node in node(), instance in instance()) {
        let before = view(&node);
        let found = Evidence::Present(instance);
        let Ok(plan) = plan_initialization(&before, &found) else { return Ok(()) };
        let mut after = patched(&node, plan.operations(&before));
        if let Some(addresses) = &plan.addresses {
            after["status"]["addresses"] = json!(addresses);
        }
        let now = view(&after);
        prop_assert!(!is_uninitialized(&now));
        prop_assert!(now.provider_id.is_some());
        prop_assert!(before.provider_id.is_none() || now.provider_id == before.provider_id, "a provider ID is never changed");
        let again = plan_initialization(&now, &found).expect("what could be initialised can be again");
        prop_assert!(again.operations(&now).is_empty(), "{:?}", again);
        prop_assert_eq!(&again.addresses, &None);
        prop_assert_eq!(foreign(&after, &[UNINITIALIZED_TAINT]), foreign(&node, &[UNINITIALIZED_TAINT]));
    }
}
