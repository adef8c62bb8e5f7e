//! Upstream's cases for the node controller, under its names. Its two interfaces (v1 asks attribute by attribute, V2 once)
//! are one here, so that a case of v1 runs as the answer that v1 would have put together.
//!
//! Without counterpart: "InstanceID not implemented" (12, and two of getInstanceMetadata). A machine without provider ID is
//! here what it is for V2: an error, and the taint stays.

use AddressKind::{ExternalIP, Hostname, InternalIP};
use bowline_cloud::{AddressKind, Doubt, Evidence, Instance};
use serde_json::{Value, json};

use super::{FakeInstances, Run, Server, UNINITIALIZED, addresses, instance, node, tainted};
use crate::node::addresses::PROVIDED_NODE_IP;

struct Row {
    name: &'static str,
    node: Value,
    found: Evidence<Instance>,
    /// What is merged into the Node to get the one that is wanted; `None`: nothing changes, and that is a failure.
    wanted: Option<Value>,
}

fn row(name: &'static str, node: Value, found: Evidence<Instance>, wanted: impl Into<Option<Value>>) -> Row {
    Row { name, node, found, wanted: wanted.into() }
}

/// A Node with `change` merged into it, by hand.
fn with(mut node: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/");
    node.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(key, value);
    node
}

fn annotated(node: Value, ip: &str) -> Value {
    with(node, "/metadata/annotations", json!({PROVIDED_NODE_IP: ip}))
}

fn machine(addresses_of: &[(AddressKind, &str)]) -> Instance {
    Instance {
        provider_id: "fake://12345".to_owned(),
        addresses: addresses(addresses_of),
        ..Instance::default()
    }
}

const CLOUD: [(AddressKind, &str); 3] =
    [(Hostname, "node0.cloud.internal"), (InternalIP, "10.0.0.1"), (ExternalIP, "132.143.154.163")];

fn listed(list: &[(AddressKind, &str)]) -> Value {
    json!(addresses(list))
}

fn without_addresses(node: Value) -> Value {
    with(node, "/status", json!({}))
}

fn sync_node_rows() -> Vec<Row> {
    let present = Evidence::Present;
    let synced = |more: Value, list: Value| {
        let mut wanted =
            json!({"spec": {"providerID": "fake://12345", "taints": []}, "status": {"addresses": list}});
        for (key, value) in more.as_object().unwrap() {
            wanted[key] = value.clone();
        }
        wanted
    };
    let zoned =
        Instance { zone: Some("us-west-1a".into()), region: Some("us-west".into()), ..machine(&CLOUD) };
    let zones = json!({"labels": {
        "failure-domain.beta.kubernetes.io/zone": "us-west-1a", "topology.kubernetes.io/zone": "us-west-1a",
        "failure-domain.beta.kubernetes.io/region": "us-west", "topology.kubernetes.io/region": "us-west",
    }});
    let foreign = json!({"key": "ImproveCoverageTaint", "value": "true", "effect": "NoSchedule", "timeAdded": "2026-11-02T07:59:30Z"});
    let mine = json!({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"});
    let doubly = with(tainted("n"), "/spec/taints", json!([foreign, mine]));
    let mut coverage = synced(json!({}), listed(&CLOUD));
    coverage["spec"]["taints"] = json!([foreign]);
    let preset = with(tainted("n"), "/spec/providerID", json!("fake://preset"));
    let mut kept = synced(json!({}), listed(&CLOUD));
    kept["spec"]["providerID"] = json!("fake://preset");
    let provided = machine(&[(InternalIP, "10.0.0.1"), (ExternalIP, "132.143.154.163")]);
    let provided_list = [(InternalIP, "10.0.0.1"), (ExternalIP, "132.143.154.163"), (Hostname, "n")];
    let type_labels = json!({"labels": {"beta.kubernetes.io/instance-type": "t1.micro", "node.kubernetes.io/instance-type": "t1.micro"}});
    let more = Instance {
        additional_labels: [("topology.k8s.cp/zone", "z1"), ("my.domain/x", "1")]
            .map(|(k, v)| (k.into(), v.into()))
            .into(),
        ..machine(&CLOUD)
    };
    let picky = Instance {
        additional_labels: [
            ("topology.kubernetes.io/foo", "no"),
            ("topology.k8s.io/foo", "no"),
            ("kubernetes.io/foo", "no"),
            ("k8s.io/foo", "no"),
            ("app.k8snio/bar", "yes"),
            ("k8snio/bar", "yes"),
            ("same", "1"),
            ("other", "cloud"),
        ]
        .map(|(k, v)| (k.into(), v.into()))
        .into(),
        ..machine(&CLOUD)
    };
    let labelled = with(tainted("n"), "/metadata/labels", json!({"same": "1", "other": "node"}));
    vec![
        row(
            "1 a host name of the cloud replaces kubelet's",
            tainted("n"),
            present(machine(&CLOUD)),
            synced(json!({}), listed(&CLOUD)),
        ),
        row(
            "2 without host name in the cloud, kubelet's stays, last",
            tainted("n"),
            present(provided.clone()),
            synced(json!({}), listed(&provided_list)),
        ),
        row(
            "3 provider ID on a node without addresses",
            without_addresses(tainted("n")),
            present(machine(&CLOUD)),
            synced(json!({}), listed(&CLOUD)),
        ),
        row(
            "4 an untainted node is not initialised",
            node("n"),
            present(Instance { addresses: vec![], ..machine(&[]) }),
            json!({}),
        ),
        row(
            "5 zone and region are four labels, any provider",
            tainted("n"),
            present(Instance { provider_id: "aws://12345".into(), ..zoned.clone() }),
            {
                let mut wanted = synced(json!({"metadata": zones}), listed(&CLOUD));
                wanted["spec"]["providerID"] = json!("aws://12345");
                wanted
            },
        ),
        row(
            "6 a foreign taint stays, with all it says",
            doubly.clone(),
            present(machine(&CLOUD)),
            coverage.clone(),
        ),
        row(
            "8 the provided node IP comes first",
            annotated(tainted("n"), "10.0.0.1"),
            present(provided.clone()),
            synced(json!({}), listed(&provided_list)),
        ),
        row(
            "9 an annotation that cannot be read",
            annotated(tainted("n"), "10.0.0"),
            present(provided.clone()),
            None,
        ),
        row("an annotation that is empty", annotated(tainted("n"), ""), present(provided.clone()), None),
        row(
            "10 an annotation with an IP that the cloud does not know",
            annotated(tainted("n"), "10.0.0.9"),
            present(provided.clone()),
            None,
        ),
        row("11 and 20 a provider ID that is set stays", preset, present(machine(&CLOUD)), kept),
        row(
            "13 initialised with provider ID and type",
            tainted("n"),
            present(Instance { instance_type: Some("t1.micro".into()), ..machine(&CLOUD) }),
            synced(json!({"metadata": type_labels}), listed(&CLOUD)),
        ),
        row(
            "15 zone labels",
            tainted("n"),
            present(zoned),
            synced(json!({"metadata": zones}), listed(&CLOUD)),
        ),
        row(
            "18 additional labels",
            tainted("n"),
            present(more),
            synced(
                json!({"metadata": {"labels": {"topology.k8s.cp/zone": "z1", "my.domain/x": "1"}}}),
                listed(&CLOUD),
            ),
        ),
        row(
            "19 additional labels that are skipped",
            labelled,
            present(picky),
            synced(
                json!({"metadata": {"labels": {"app.k8snio/bar": "yes", "k8snio/bar": "yes"}}}),
                listed(&CLOUD),
            ),
        ),
        row(
            "21 no provider ID anywhere",
            tainted("n"),
            present(Instance { provider_id: String::new(), ..machine(&CLOUD) }),
            None,
        ),
        row("22 the cloud fails", tainted("n"), Evidence::Unknown(Doubt::new("metadata error")), None),
        row(
            "23 no provider ID in the cloud, but on the node",
            with(tainted("n"), "/spec/providerID", json!("fake://12345")),
            present(Instance { provider_id: String::new(), ..machine(&CLOUD) }),
            synced(json!({}), listed(&CLOUD)),
        ),
    ]
}

/// Upstream: `Test_syncNode` (22) and `getInstanceMetadata`'s rows with and without an ID.
#[tokio::test(start_paused = true)]
async fn sync_node() {
    for Row { name, node, found, wanted } in sync_node_rows() {
        let server = Server::with([node]);
        let before = server.node("n");
        Run::on(&server, &FakeInstances::with([("n", found)])).for_seconds(3).await;
        let after = server.node("n");
        let reference = Server::with([before]);
        reference.merge("n", wanted.as_ref().unwrap_or(&json!({})));
        let mut reference = reference.node("n");
        reference["metadata"]["resourceVersion"] = after["metadata"]["resourceVersion"].clone();
        assert_eq!(after, reference, "{name}");
        assert!(server.patches().len() <= 2, "{name}: {:#?}", server.patches());
        let reasons: Vec<_> = server.events().into_iter().map(|(reason, _)| reason).collect();
        let expected: &[&str] = match &wanted {
            None => &["CloudNodeInitializationFailed"],
            Some(change) if change == &json!({}) => &[],
            Some(_) => &["Synced"],
        };
        assert_eq!(reasons, expected, "{name}");
    }
}

/// Upstream: (7) a cloud that answers nothing at all for a Node ("not ours") changes nothing and is no error. Here that
/// is a Node which is not claimed (SR-4): it is not even looked up.
#[tokio::test(start_paused = true)]
async fn sync_node_of_another_cloud_is_left_alone() {
    let mut beta = node("m");
    beta["spec"]["providerID"] = json!("vsphere://2");
    beta["metadata"]["labels"]["failure-domain.beta.kubernetes.io/zone"] = json!("z");
    let server = Server::with([with(tainted("n"), "/spec/providerID", json!("vsphere://1")), beta]);
    let script = FakeInstances::with([
        ("n", Evidence::Present(instance("n"))),
        ("m", Evidence::Present(instance("m"))),
    ]);
    let metrics = Run::on(&server, &script).for_seconds(1_000).await;
    assert!(server.patches().is_empty());
    assert_eq!(script.observed().len(), 0);
    assert_eq!(metrics.node.failing.get(), 0);
    assert_eq!(
        server.events(),
        [(
            "CloudNodeNotClaimed".to_owned(),
            "Node is left alone, it is not one of this cloud: its provider ID is vsphere://1".to_owned()
        )],
        "the one that waits is told about, the other is not"
    );
}

/// Upstream: `reconcileNodeLabels` (3), and beta labels that are not there.
#[tokio::test(start_paused = true)]
async fn reconcile_node_labels() {
    let beta = [
        ("failure-domain.beta.kubernetes.io/zone", "foo"),
        ("failure-domain.beta.kubernetes.io/region", "bar"),
        ("beta.kubernetes.io/instance-type", "the-best-type"),
    ];
    let stable = [
        ("topology.kubernetes.io/zone", "foo"),
        ("topology.kubernetes.io/region", "bar"),
        ("node.kubernetes.io/instance-type", "the-best-type"),
    ];
    let wrong = stable.map(|(key, _)| (key, "wrong"));
    let wanted = [beta, stable].concat();
    for (name, has, wants, patches) in [
        ("stable ones are missing", beta.to_vec(), wanted.clone(), 1),
        ("all are there", wanted.clone(), wanted.clone(), 0),
        ("stable ones are wrong", [beta, wrong].concat(), wanted, 1),
        ("only stable ones", wrong.to_vec(), wrong.to_vec(), 0),
    ] {
        let map = |labels: &[(&str, &str)]| -> Value {
            labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let ours = with(node("n"), "/spec/providerID", json!("fake://n"));
        let server = Server::with([with(ours, "/metadata/labels", map(&has))]);
        let script = FakeInstances::with([]);
        Run::on(&server, &script).for_seconds(3).await;
        assert_eq!(server.node("n")["metadata"]["labels"], map(&wants), "{name}");
        assert_eq!(server.patches().len(), patches, "{name}");
        assert_eq!(script.observed().len(), 1, "{name}: the refresh alone asks the cloud");
    }
}

/// Upstream: "address not updated for tainted node" (2): the refresh leaves Nodes that wait alone.
#[tokio::test(start_paused = true)]
async fn addresses_of_tainted_nodes_are_not_refreshed() {
    let server = Server::with([tainted("n")]);
    let nameless = Instance { provider_id: String::new(), ..instance("n") };
    Run::on(&server, &FakeInstances::with([("n", Evidence::Present(nameless))])).for_seconds(1_000).await;
    assert!(server.patches().is_empty());
}

/// Upstream: UpdateNodeStatus with 100 nodes and 1, 5, 10 or 30 workers makes exactly 100 calls. Here it makes one, also
/// with zero workers, with which upstream does nothing at all.
#[tokio::test(start_paused = true)]
async fn update_node_status_concurrency() {
    for workers in [0, 1, 5, 10, 30] {
        let names: Vec<String> = (0..100).map(|at| format!("n{at}")).collect();
        let server = Server::with(names.iter().map(|name| node(name)));
        let script = FakeInstances::with([]);
        names.iter().for_each(|name| script.say(name, Evidence::Present(instance(name))));
        let mut run = Run::on(&server, &script);
        run.options.concurrent_status_updates = workers;
        run.for_seconds(250).await;
        assert_eq!(script.observed().len(), 1, "{workers} workers");
        assert_eq!(server.patches().len(), 100, "{workers} workers");
    }
}
