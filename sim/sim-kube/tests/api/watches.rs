//! Watches through kube's client and watcher.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sim_kube::SimKube;

use crate::cluster::{cluster, config_map};

async fn kinds<K>(
    api: &Api<K>,
    params: WatchParams,
    version: &str,
    count: usize,
) -> Vec<(&'static str, String)>
where
    K: kube::Resource + Clone + std::fmt::Debug + DeserializeOwned,
{
    let stream = api.watch(&params, version).await.unwrap();
    let events: Vec<WatchEvent<K>> = stream.take(count).try_collect().await.unwrap();
    events
        .into_iter()
        .map(|event| match event {
            WatchEvent::Added(one) => ("ADDED", one.name_any()),
            WatchEvent::Modified(one) => ("MODIFIED", one.name_any()),
            WatchEvent::Deleted(one) => ("DELETED", one.name_any()),
            WatchEvent::Bookmark(mark) => ("BOOKMARK", mark.metadata.resource_version),
            WatchEvent::Error(status) => ("ERROR", status.message),
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_the_past_from_its_version_and_the_future() {
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let start = server.resource_version().to_string();
    api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap();
    let watching = kinds(&api, WatchParams::default(), &start, 3);
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let patch = Patch::Merge(json!({"data": {"k": "v"}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
        api.delete("a", &DeleteParams::default()).await.unwrap();
    };
    let (seen, ()) = tokio::join!(watching, later);
    let told: Vec<&str> = seen.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(told, ["ADDED", "MODIFIED", "DELETED"]);
}

#[tokio::test(start_paused = true)]
async fn a_selective_watch_sees_objects_come_and_go_with_their_labels() {
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let start = server.resource_version().to_string();
    api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap();
    for value in [json!("web"), json!("web2"), json!("web"), Value::Null] {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"app": value}}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    }
    let seen = kinds(&api, WatchParams::default().labels("app=web"), &start, 4).await;
    let told: Vec<&str> = seen.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(told, ["ADDED", "DELETED", "ADDED", "DELETED"]);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_each_minute_and_before_the_end() {
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let start = server.resource_version().to_string();
    let seen = kinds(&api, WatchParams::default().timeout(100), &start, 10).await;
    assert_eq!(seen, [("BOOKMARK", start.clone()), ("BOOKMARK", start)]);
    assert_eq!(server.open_watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_is_told_as_expired_within_the_stream() {
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let start = server.resource_version();
    api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap();
    server.compact();
    let seen = kinds(&api, WatchParams::default(), &start.to_string(), 5).await;
    assert_eq!(seen, [("ERROR", format!("too old resource version: {start} ({})", start + 1))]);
    let now = server.resource_version().to_string();
    let watching = kinds(&api, WatchParams::default(), &now, 5);
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        server.expire_watches();
    };
    let (seen, ()) = tokio::join!(watching, later);
    assert_eq!(seen.first().map(|(kind, _)| *kind), Some("ERROR"));
}

#[tokio::test(start_paused = true)]
async fn kubes_watcher_recovers_from_every_disturbance() {
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let stream = watcher(api.clone(), watcher::Config::default()).default_backoff().applied_objects();
    futures::pin_mut!(stream);
    for (name, disturb) in [
        ("a", SimKube::end_watches as fn(&SimKube)),
        ("b", SimKube::break_watches),
        ("c", SimKube::expire_watches),
        ("d", SimKube::compact),
        ("e", |_| ()), // that the last disturbance passed shows here
    ] {
        api.create(&PostParams::default(), &config_map(name, json!({}))).await.unwrap();
        let found = tokio::time::timeout(Duration::from_secs(600), async {
            loop {
                match stream.next().await {
                    Some(Ok(one)) if one.name_any() == name => break,
                    Some(_) => {}
                    None => panic!("the watcher ended"),
                }
            }
        });
        found.await.unwrap();
        disturb(&server);
    }
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_ends_with_its_bookmark() {
    let (_, client) = cluster();
    let api: Api<Namespace> = Api::all(client);
    let config = watcher::Config::default().streaming_lists();
    let events = watcher(api, config).take(6).try_collect::<Vec<_>>();
    let told: Vec<&str> = tokio::time::timeout(Duration::from_secs(10), events)
        .await
        .unwrap()
        .unwrap()
        .iter()
        .map(|event| match event {
            watcher::Event::Init => "init",
            watcher::Event::InitApply(_) => "one",
            watcher::Event::InitDone => "done",
            _ => "other",
        })
        .collect();
    assert_eq!(told, ["init", "one", "one", "one", "one", "done"]);
}

#[tokio::test(start_paused = true)]
async fn held_watches_are_told_later() {
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let start = server.resource_version().to_string();
    server.hold_watches("configmaps");
    api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap();
    let begun = tokio::time::Instant::now();
    let watching = kinds(&api, WatchParams::default().disable_bookmarks(), &start, 1);
    let later = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        server.release_watches("configmaps");
    };
    let (seen, ()) = tokio::join!(watching, later);
    assert_eq!(seen, [("ADDED", "a".to_owned())]);
    assert!(begun.elapsed() >= Duration::from_secs(30));
}
