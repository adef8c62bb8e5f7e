//! Bad input: each gets an event that says what was wanted and what was found, and what stands beside it is served.

use anyhow::Context;
use bowline_cloud::{AddressKind, NodeAddress};
use bowline_testkit::Wait;
use bowline_testkit::nodes::{Nodes, UNINITIALIZED, addresses, is_initialized, provider_id};
use bowline_testkit::process::Process;
use bowline_testkit::services::{self, Services, address, service};
use k8s_openapi::api::core::v1::{Event, Node};
use kube::Api;
use real_kubernetes_tests::framework::protocol::{IDLE_TIMEOUT, Machine};
use serde_json::json;

use crate::harness::Harness;
use crate::kubelet::{annotated, has_taint, join, machine, registration};

const PROVIDED_NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";
const NAMESPACE: &str = "default";

struct Scene {
    site: Harness,
    nodes: Nodes,
    services: Services,
    manager: Process,
}

impl Scene {
    async fn set() -> anyhow::Result<Self> {
        let site = Harness::new().await?;
        let manager =
            site.start(&["--leader-elect=false", "--node-monitor-period=1s", "--new-node-grace-period=1s"])?;
        let wait = Wait::default().with_log(manager.log_file());
        let nodes = Nodes::of(&site.client).waiting(wait.clone());
        let services = Services::of(&site.client, NAMESPACE).waiting(wait);
        Ok(Self { site, nodes, services, manager })
    }

    fn has(&self, machine: Machine) {
        self.site.cloud.with(|cloud| cloud.machines.insert(machine.id.clone(), machine));
    }

    async fn joins(&self, node: &Node) -> anyhow::Result<()> {
        join(&self.site.client, node).await?;
        Ok(())
    }

    /// Waits for an event about an object; answers with its message.
    async fn event(&self, about: &str, reason: &str) -> anyhow::Result<String> {
        let events = Api::<Event>::all(self.site.client.clone());
        let wait = Wait::default().with_log(self.manager.log_file());
        wait.until(format!("event {reason} about {about}"), async || {
            let mut all = services::events(&events, about).await?.into_iter();
            let found = all.find(|event| event.reason.as_deref() == Some(reason));
            Ok(found.and_then(|event| event.message))
        })
        .await
    }

    /// The event is there, and says all of this.
    async fn says(&self, about: &str, reason: &str, words: &[&str]) -> anyhow::Result<()> {
        let message = self.event(about, reason).await?;
        for word in words {
            assert!(message.contains(word), "{reason} about {about} does not say {word:?}: {message}");
        }
        println!("{about:.40} {reason}: {message:.300}");
        Ok(())
    }

    async fn initialised(&self, name: &str) -> anyhow::Result<Node> {
        self.nodes.until(name, "initialised", is_initialized).await
    }

    /// It is there and still waits.
    async fn waits(&self, name: &str) -> anyhow::Result<()> {
        let node = self.nodes.api.get_opt(name).await?.with_context(|| format!("{name} was deleted"))?;
        assert!(has_taint(&node, UNINITIALIZED), "{name} was initialised");
        Ok(())
    }

    async fn creates(&self, name: &str, ports: usize, annotations: serde_json::Value) -> anyhow::Result<()> {
        let ports: Vec<_> = (0..ports).map(|n| json!({"name": format!("p{n}"), "port": 1000 + n})).collect();
        let mut service = service(name, &[], &json!({"ports": ports, "selector": null}));
        service["metadata"]["annotations"] = annotations;
        self.services.create(&service).await.map(drop)
    }

    /// Has an address; answers how many listeners and which hosts its load balancer has.
    async fn served(&self, name: &str) -> anyhow::Result<(usize, Vec<String>)> {
        let service = self.services.until(name, "is served", |service| address(service).is_some()).await?;
        let uid = service["metadata"]["uid"].as_str().map(str::to_owned);
        let own = |cloud: &mut real_kubernetes_tests::framework::cloud::Cloud| {
            let own =
                cloud.balancers.values().find(|balancer| Some(&balancer.owner) == uid.as_ref()).cloned();
            own.map(|own| (own.listeners.len(), own.hosts.into_keys().collect()))
        };
        self.site.cloud.with(own).context("a load balancer")
    }

    fn nothing_wrong(&self) {
        let wrongs = self.site.cloud.with(|cloud| cloud.record.wrongs.clone());
        assert!(wrongs.is_empty(), "{wrongs:?}");
    }
}

/// 253 characters, and a place at which cutting the name leaves something that no name may end with.
fn longest_name() -> String {
    let label = "n".repeat(58);
    let mut name = format!("{label}.{label}.{label}.{label}.");
    name.extend(std::iter::repeat_n('x', 253 - name.len()));
    name
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_nodes_get_a_clear_event_and_a_good_one_beside_them_is_initialised() -> anyhow::Result<()> {
    let scene = Scene::set().await?;
    let long = longest_name();
    for name in ["twice", "unreadable", "six", "six-wants-four", "stranger", "good"] {
        let ip = format!("192.0.2.{}", name.len());
        scene.has(machine(&format!("id-{name}"), name, &ip));
    }
    scene.has(machine("id-long", &long, "192.0.2.99"));
    for name in ["six", "six-wants-four"] {
        let mut six = machine(&format!("id-{name}"), name, "2001:db8::6");
        six.addresses.insert(0, NodeAddress::new(AddressKind::ExternalIP, "2001:db8::66"));
        scene.has(six);
    }

    let id = |name: &str| Some(format!("scripted://id-{name}"));
    let bad_longest = format!("{}y", &long[..252]);
    for node in [
        registration("unknown", None),
        registration("unknown-id", id("nobody")),
        registration("stranger", Some("metal://stranger".to_owned())),
        registration("no-id", Some("scripted://".to_owned())),
        registration("no-scheme", Some("id-good".to_owned())),
        registration("twice", id("twice")),
        registration("twice-again", id("twice")),
        annotated(registration("unreadable", None), PROVIDED_NODE_IP, "192.0.2.300"),
        annotated(registration("six-wants-four", None), PROVIDED_NODE_IP, "192.0.2.6"),
        registration("six", None),
        registration(&long, None),
        registration(&bad_longest, None),
        registration("good", None),
    ] {
        scene.joins(&node).await?;
    }

    let good = scene.initialised("good").await?;
    assert_eq!(provider_id(&good), "scripted://id-good");
    let six = scene.initialised("six").await?;
    let texts: Vec<_> = addresses(&six).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["2001:db8::66", "2001:db8::6", "six"]);
    let at_its_best = scene.initialised(&long).await?;
    assert_eq!(provider_id(&at_its_best), "scripted://id-long");
    for name in ["good", "six", &long] {
        scene.says(name, "Synced", &["synced successfully"]).await?;
    }

    let failed = "CloudNodeInitializationFailed";
    scene.says("unknown", failed, &["no provider ID", "no machine named unknown"]).await?;
    scene.says("unknown-id", failed, &["no machine with the id id-nobody"]).await?;
    scene.says("no-id", failed, &["the provider ID scripted:// has no id"]).await?;
    scene.says(&bad_longest, failed, &["no provider ID"]).await?;
    scene.says("unreadable", failed, &[PROVIDED_NODE_IP, "\"192.0.2.300\"", "must be one IP"]).await?;
    scene.says("six-wants-four", failed, &["asks for 192.0.2.6", "only [2001:db8::66, 2001:db8::6"]).await?;
    scene.says("stranger", "CloudNodeNotClaimed", &["metal://stranger", "begin with scripted://"]).await?;
    scene.says("no-scheme", "CloudNodeNotClaimed", &["its provider ID is id-good", "scripted://"]).await?;
    for (one, other) in [("twice", "twice-again"), ("twice-again", "twice")] {
        let words = ["scripted://id-twice", other, "one machine must be one node"];
        scene.says(one, "DuplicateProviderID", &words).await?;
    }
    for name in [
        "unknown",
        "unknown-id",
        "no-id",
        "unreadable",
        "six-wants-four",
        "stranger",
        "no-scheme",
        &bad_longest,
    ] {
        scene.waits(name).await?;
    }

    // One that joins after all of them is served at once.
    scene.has(machine("id-late", "late", "192.0.2.50"));
    scene.joins(&registration("late", None)).await?;
    scene.initialised("late").await?;
    scene.nothing_wrong();
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_services_get_a_clear_event_and_good_ones_beside_them_are_served() -> anyhow::Result<()> {
    let scene = Scene::set().await?;
    let mut six = machine("id-six", "six", "2001:db8::6");
    six.addresses.retain(|address| address.kind == AddressKind::InternalIP);
    scene.has(six);
    scene.has(machine("id-good", "good", "192.0.2.1"));
    for name in ["good", "six"] {
        scene.joins(&registration(name, None)).await?;
        scene.initialised(name).await?;
    }

    let longest = "s".repeat(63);
    scene.creates("soon", 1, json!({IDLE_TIMEOUT: "soon"})).await?;
    scene.creates("hundred", 100, json!({})).await?;
    scene.creates("too-many", 101, json!({IDLE_TIMEOUT: "-1"})).await?;
    scene.creates(&longest, 2, json!({"example.com/long": "x".repeat(100_000)})).await?;
    scene.creates("good", 1, json!({IDLE_TIMEOUT: "30"})).await?;

    let good = (1, vec!["good".to_owned()]);
    assert_eq!(scene.served("good").await?, good);
    assert_eq!(scene.served(&longest).await?.0, 2);
    assert_eq!(scene.served("hundred").await?.0, 100, "every port, no rail in the way");
    scene.says("good", "NodeWithoutAddressOfFamily", &["six", "IPv4"]).await?;

    let failed = "SyncLoadBalancerFailed";
    scene.says("soon", failed, &[IDLE_TIMEOUT, "\"soon\"", "must be a whole number of seconds"]).await?;
    scene.says("too-many", failed, &["101 ports", "at most 100", "\"-1\""]).await?;
    for name in ["soon", "too-many"] {
        let service = scene.services.get(name).await?;
        assert_eq!(address(&service), None, "{name} has an address");
    }

    // What is mended is served, what is refused can go, and one more is served as if nothing had been.
    scene.services.annotate("soon", IDLE_TIMEOUT, Some("7")).await?;
    assert_eq!(scene.served("soon").await?, good);
    scene.creates("late", 1, json!({})).await?;
    assert_eq!(scene.served("late").await?, good);
    for name in ["soon", "hundred", "too-many", &longest, "good", "late"] {
        scene.services.request_delete(name).await?;
    }
    for name in ["soon", "hundred", "too-many", &longest, "good", "late"] {
        scene.services.until_gone(name).await?;
    }
    let left = scene.site.cloud.with(|cloud| cloud.balancers.len());
    assert_eq!(left, 0, "nothing is left");
    scene.nothing_wrong();
    Ok(())
}
