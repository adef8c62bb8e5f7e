//! Faults: what an interceptor does to requests, answers and single events, and that a seed replays them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Error, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::json;
use sim_kube::{Config, Delivery, EventInfo, Interceptor, Reply, RequestInfo, SimKube, Verdict, WatchInfo};

use crate::cluster::{cluster, code, config_map, node};

#[tokio::test(start_paused = true)]
async fn a_request_hangs_breaks_is_answered_by_another_or_waits() {
    struct Faults;
    impl Interceptor for Faults {
        fn before(&self, request: &RequestInfo) -> Verdict {
            match request.name.as_str() {
                "hang" => Verdict::Hang,
                "break" => Verdict::Break,
                "proxy" => Verdict::Answer { code: 502, body: "<html>bad gateway</html>".into() },
                _ => Verdict::Pass,
            }
        }
        fn after(&self, request: &RequestInfo, _: u16) -> Reply {
            match request.name.as_str() {
                "late" => Reply::Delay(Duration::from_secs(9)),
                "never" => Reply::Hang,
                _ => Reply::Deliver,
            }
        }
    }
    let (server, client) = cluster();
    let api: Api<Node> = Api::all(client);
    for name in ["hang", "break", "proxy", "late", "never"] {
        api.create(&PostParams::default(), &node(name)).await.unwrap();
    }
    server.intercept(Faults);
    let delete = |name: &'static str| {
        let api = api.clone();
        async move {
            let parameters = DeleteParams::default();
            tokio::time::timeout(Duration::from_secs(100), api.delete(name, &parameters)).await
        }
    };
    assert!(delete("hang").await.is_err(), "no answer comes");
    assert!(!matches!(delete("break").await.unwrap().unwrap_err(), Error::Api(_)));
    assert_eq!(code(&delete("proxy").await.unwrap().unwrap_err()), 502);
    let begun = tokio::time::Instant::now();
    delete("late").await.unwrap().unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(9));
    assert!(delete("never").await.is_err(), "no answer comes");
    let left: Vec<String> =
        server.stored("", "nodes").iter().map(|node| node["metadata"]["name"].to_string()).collect();
    assert_eq!(left, ["\"break\"", "\"hang\"", "\"proxy\""], "the others took effect");
    assert_eq!(server.count(|entry| entry.code == 0), 2);
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_one_request_hits_the_first_that_it_chooses_and_is_used_up() {
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let create = async |name| api.create(&PostParams::default(), &config_map(name, json!({}))).await;
    let is_create = |request: &RequestInfo| request.verb == "create";
    let (behind, expected) = (server.clone(), "/api/v1/namespaces/default/configmaps");
    server.once(is_create, |_| Verdict::Refuse(sim_kube::ApiError::too_many_requests(1)));
    server.once(is_create, move |request| {
        assert_eq!((request.path.as_str(), &request.json()["metadata"]["name"]), (expected, &json!("b")));
        behind.seed(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}})).unwrap();
        Verdict::Pass
    });
    assert!(api.get_opt("a").await.unwrap().is_none(), "a read is not chosen");
    assert_eq!(code(&create("a").await.unwrap_err()), 429);
    assert_eq!(code(&create("b").await.unwrap_err()), 409, "another writer was faster");
    server.once_answered(is_create, Reply::Lose);
    assert!(!matches!(create("c").await.unwrap_err(), Error::Api(_)));
    create("d").await.unwrap();
    server.judge(|_| Verdict::Refuse(sim_kube::ApiError::custom(403, "Forbidden", "no")));
    assert_eq!(code(&create("e").await.unwrap_err()), 403);
    let path = |name: &str| format!("{expected}/{name}");
    assert!(server.remove(&path("c")) && !server.remove(&path("c")) && !server.remove("/version"));
}

/// Tells clients apart by their namespace, and objects by their name.
#[derive(Default)]
struct OneDeaf {
    released: AtomicBool,
}

impl Interceptor for &'static OneDeaf {
    fn event(&self, watch: &WatchInfo, event: &EventInfo) -> Delivery {
        match (watch.user.as_str(), event.name.as_str()) {
            ("deaf", "lost") => Delivery::Drop,
            ("deaf", "held") if !self.released.load(Ordering::SeqCst) => Delivery::Hold,
            ("deaf", "last") => Delivery::Break,
            _ => Delivery::Deliver,
        }
    }
}

async fn told(client: Client, start: &str, count: usize) -> Vec<String> {
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let stream = api.watch(&WatchParams::default().disable_bookmarks(), start).await.unwrap();
    let names = stream.take(count).map(|event| match event {
        Ok(WatchEvent::Added(one)) => one.name_any(),
        Ok(_) => "other".to_owned(),
        Err(_) => "broken".to_owned(),
    });
    names.collect().await
}

#[tokio::test(start_paused = true)]
async fn events_of_one_client_are_dropped_held_and_cut_off() {
    let (server, client) = cluster();
    let faults: &'static OneDeaf = Box::leak(Box::default());
    server.intercept(faults);
    server.add_token("t", sim_kube::User { name: "deaf".into(), groups: Vec::new() });
    let deaf = Client::new(
        tower::util::MapRequest::new(server.clone(), |mut request: http::Request<kube::client::Body>| {
            request.headers_mut().insert("authorization", http::HeaderValue::from_static("Bearer t"));
            request
        }),
        "default",
    );
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let start = server.resource_version().to_string();
    for name in ["first", "lost", "held", "after", "last"] {
        api.create(&PostParams::default(), &config_map(name, json!({}))).await.unwrap();
    }
    assert_eq!(told(client, &start, 5).await, ["first", "lost", "held", "after", "last"]);
    let begun = tokio::time::Instant::now();
    let later = async {
        tokio::time::sleep(Duration::from_secs(40)).await;
        faults.released.store(true, Ordering::SeqCst);
        server.wake_watches();
    };
    let (seen, ()) = tokio::join!(told(deaf, &start, 4), later);
    assert_eq!(seen, ["first", "held", "after", "broken"]);
    assert!(begun.elapsed() >= Duration::from_secs(40));
}

#[tokio::test(start_paused = true)]
async fn a_read_may_show_the_past() {
    struct Stale(u64);
    impl Interceptor for Stale {
        fn before(&self, _: &RequestInfo) -> Verdict {
            Verdict::AtVersion(self.0)
        }
    }
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let made = api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap();
    let then = server.resource_version();
    let patch = Patch::Merge(json!({"data": {"k": "v"}}));
    api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    api.create(&PostParams::default(), &config_map("b", json!({}))).await.unwrap();
    server.intercept(Stale(then));
    assert_eq!(api.get("a").await.unwrap(), made);
    assert_eq!(code(&api.get("b").await.unwrap_err()), 404);
    let list = api.list(&ListParams::default()).await.unwrap();
    assert_eq!((list.items.len(), list.metadata.resource_version), (1, Some(then.to_string())));
    api.create(&PostParams::default(), &config_map("c", json!({}))).await.unwrap();
    server.compact();
    assert_eq!(code(&api.get("a").await.unwrap_err()), 410);
}

/// Disturbs every few requests and events, by its seed alone.
struct Seeded(Mutex<sim_kube::Numbers>);

impl Seeded {
    fn draw(&self) -> u64 {
        (self.0.lock())() % 7
    }
}

impl Interceptor for Seeded {
    fn before(&self, _: &RequestInfo) -> Verdict {
        match self.draw() {
            0 => Verdict::Refuse(sim_kube::ApiError::too_many_requests(1)),
            1 => Verdict::Delay(Duration::from_millis(30)),
            _ => Verdict::Pass,
        }
    }
    fn event(&self, _: &WatchInfo, _: &EventInfo) -> Delivery {
        if self.draw() == 0 { Delivery::Drop } else { Delivery::Deliver }
    }
}

/// Writes and watches under faults; answers a hash of everything that was seen.
async fn trace(seed: u64) -> u64 {
    let server = SimKube::new(Config::seeded(seed));
    server.intercept(Seeded(Mutex::new(sim_kube::seeded_numbers(seed))));
    let api: Api<ConfigMap> = Api::namespaced(Client::new(server.clone(), "default"), "default");
    let writing = async {
        for round in 0..40 {
            let mut one = config_map("", json!({}));
            (one.metadata.name, one.metadata.generate_name) = (None, Some(format!("g{}-", round % 3)));
            // What becomes of it is in the log.
            drop(api.create(&PostParams::default(), &one).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let watching = async {
        let mut seen = Vec::new();
        loop {
            match api.watch(&WatchParams::default().timeout(5), "0").await {
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                Ok(stream) => {
                    let lines = stream.map(|event| format!("{event:?}"));
                    seen.extend(lines.collect::<Vec<String>>().await);
                    return seen;
                }
            }
        }
    };
    let (seen, ()) = tokio::join!(watching, writing);
    assert!(seen.len() > 10, "the watch saw {} events", seen.len());
    let mut hash = DefaultHasher::new();
    (seen, format!("{:?}", server.log()), format!("{:?}", server.stored("", "configmaps"))).hash(&mut hash);
    hash.finish()
}

#[tokio::test(start_paused = true)]
async fn a_seed_replays_requests_events_and_faults() {
    let (one, again, other) = (trace(11).await, trace(11).await, trace(12).await);
    assert_eq!(one, again);
    assert_ne!(one, other);
}
