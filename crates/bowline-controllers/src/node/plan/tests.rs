//! Golden plans. Upstream's rows run on the whole controller, in its tests.

use bowline_cloud::{Doubt, Proof, Taint};

use super::*;

fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: None, effect: "NoSchedule".into() }
}

fn labels(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn waiting() -> NodeView {
    NodeView {
        labels: [("topology.kubernetes.io/zone", "kubelet's"), ("node.kubernetes.io/instance-type", "m1")]
            .into(),
        taints: vec![taint("a"), taint(UNINITIALIZED_TAINT), taint("b"), taint(UNINITIALIZED_TAINT)],
        ..NodeView::default()
    }
}

fn machine() -> Instance {
    Instance {
        provider_id: "x://1".to_owned(),
        instance_type: Some("m1".to_owned()),
        zone: Some("z".to_owned()),
        region: Some(String::new()),
        addresses: vec![NodeAddress::new(AddressKind::InternalIP, "fd00::1")],
        additional_labels: labels(&[("x~y/z", "1")]),
        ..Instance::default()
    }
}

#[test]
fn a_plan_sets_what_differs_and_removes_the_taints_from_the_end() {
    let plan = plan_initialization(&waiting(), &Evidence::Present(machine())).unwrap();
    assert_eq!(plan.addresses, Some(machine().addresses), "an IPv6-only node is a node");
    assert_eq!(
        Value::Array(plan.operations(&waiting())),
        json!([
            {"op": "add", "path": "/spec/providerID", "value": "x://1"},
            {"op": "add", "path": "/metadata/labels/beta.kubernetes.io~1instance-type", "value": "m1"},
            {"op": "add", "path": "/metadata/labels/failure-domain.beta.kubernetes.io~1zone", "value": "z"},
            {"op": "add", "path": "/metadata/labels/topology.kubernetes.io~1zone", "value": "z"},
            {"op": "add", "path": "/metadata/labels/x~0y~1z", "value": "1"},
            {"op": "test", "path": "/spec/taints/3/key", "value": UNINITIALIZED_TAINT},
            {"op": "remove", "path": "/spec/taints/3"},
            {"op": "test", "path": "/spec/taints/1/key", "value": UNINITIALIZED_TAINT},
            {"op": "remove", "path": "/spec/taints/1"},
        ])
    );
}

#[test]
fn what_is_not_known_is_never_a_plan() {
    let unknown = Evidence::Unknown(Doubt::new("500"));
    assert!(matches!(plan_initialization(&waiting(), &unknown), Err(NotYet::Unknown(_))));
    let gone = Evidence::Absent(Proof::new("404"));
    assert!(matches!(plan_initialization(&waiting(), &gone), Err(NotYet::NoMachine(_))));
    let bare = Evidence::Present(Instance { addresses: vec![], ..machine() });
    assert_eq!(plan_initialization(&waiting(), &bare), Err(NotYet::NoAddresses));
}

#[test]
fn kubelets_ip_will_do_until_the_cloud_knows_one_unless_it_has_to_be_confirmed() {
    let bare = Evidence::Present(Instance { addresses: vec![], ..machine() });
    let mut node = NodeView { addresses: machine().addresses, ..waiting() };
    assert_eq!(plan_initialization(&node, &bare).map(|plan| plan.addresses), Ok(None));
    node.annotations.insert(PROVIDED_NODE_IP.to_owned(), "fd00::1".to_owned());
    assert_eq!(plan_initialization(&node, &bare), Err(NotYet::NoAddresses));
}

#[test]
fn labels_in_domains_of_kubernetes_are_reserved_and_look_alikes_are_not() {
    for key in ["kubernetes.io/a", "k8s.io/a", "x.kubernetes.io/a", "x.y.k8s.io/a"] {
        assert!(is_reserved(key), "{key}");
    }
    for key in [
        "a",
        "kubernetes.io",
        "k8snio/a",
        "app.k8snio/a",
        "mykubernetes.io/a",
        "k8s.io.example/a",
        "x/k8s.io",
    ] {
        assert!(!is_reserved(key), "{key}");
    }
}

#[test]
fn what_is_left_out_is_said() {
    let node = NodeView { provider_id: Some("x://other".into()), labels: [("own", "1")].into(), ..waiting() };
    let instance = Instance { additional_labels: labels(&[("own", "2"), ("k8s.io/a", "3")]), ..machine() };
    let plan = plan_initialization(&node, &Evidence::Present(instance)).unwrap();
    assert_eq!(plan.provider_id, None);
    let wanted = ["label k8s.io/a", "label own of the cloud (2)", "provider ID x://other stays"];
    assert_eq!(plan.remarks.len(), wanted.len());
    for (remark, wanted) in plan.remarks.iter().zip(wanted) {
        assert!(remark.contains(wanted), "{remark}");
    }
}
