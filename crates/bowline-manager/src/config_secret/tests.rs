//! A Secret in a cluster in memory that may forbid reading and watching.

use bowline_testkit::memory_cluster::{MemoryCluster, scripted};
use secrecy::ExposeSecret;
use serde_json::json;
use sim_kube::Verdict;
use tokio::time::Instant;

use super::*;

const PATH: &str = "/api/v1/namespaces/kube-system/secrets/creds";

/// A cluster where the Secret may be read and not be watched.
fn cluster() -> MemoryCluster {
    let cluster = MemoryCluster::default();
    allow(&cluster, &["get"]);
    cluster
}

/// Allows these verbs and no others.
fn allow(cluster: &MemoryCluster, verbs: &'static [&str]) {
    cluster.judge(move |request| match verbs.contains(&request.verb) {
        true => Verdict::Pass,
        false => scripted(403),
    });
}

fn put(cluster: &MemoryCluster, text: &str) {
    let data = k8s_openapi::ByteString(text.as_bytes().to_vec());
    cluster.put(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "creds", "namespace": "kube-system", "uid": "u"}, "data": {"clouds.conf": data}}));
}

fn secrets(cluster: &MemoryCluster) -> ConfigSecrets {
    ConfigSecrets::new(cluster.client())
}

fn creds() -> SecretReference {
    SecretReference { namespace: "kube-system".into(), name: "creds".into(), kubeconfig: String::new() }
}

#[tokio::test]
async fn a_secret_is_read_and_not_shown() {
    let server = cluster();
    put(&server, "[Global]\npassword=hunter2\n");
    let data = secrets(&server).read(&creds()).await.unwrap();
    assert_eq!(data["clouds.conf"].expose_secret(), b"[Global]\npassword=hunter2\n");
    assert!(!format!("{data:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_missing_secret_and_a_missing_right_are_told_apart() {
    let server = cluster();
    let secrets = secrets(&server);
    assert_eq!(secrets.read(&creds()).await.unwrap_err(), SecretError::NotFound(creds()));
    allow(&server, &[]);
    assert_eq!(secrets.read(&creds()).await.unwrap_err(), SecretError::Forbidden(creds()));
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named() {
    let server = cluster();
    let reference = SecretReference { kubeconfig: "/no/such/kubeconfig".into(), ..creds() };
    let error = secrets(&server).read(&reference).await.unwrap_err().to_string();
    assert!(error.contains("/no/such/kubeconfig"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_watch_a_change_is_seen_by_reading() {
    let server = cluster();
    put(&server, "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    let quiet = tokio::time::timeout(POLL * 10, secrets.changed(&creds())).await;
    assert!(quiet.is_err(), "nothing changed");

    let begun = Instant::now();
    let change = async {
        tokio::time::sleep(POLL / 2).await;
        put(&server, "b");
    };
    let reference = creds();
    tokio::join!(secrets.changed(&reference), change);
    assert!(begun.elapsed() <= POLL * 2, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_goes_is_a_change() {
    let server = cluster();
    put(&server, "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    server.delete(PATH);
    tokio::time::timeout(POLL * 2, secrets.changed(&creds())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_the_right_to_watch_a_change_is_seen_at_once() {
    let server = cluster();
    put(&server, "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    allow(&server, &["get", "list", "watch"]);
    let change = async {
        tokio::time::sleep(POLL / 20).await;
        put(&server, "b");
    };
    let (begun, reference) = (Instant::now(), creds());
    tokio::join!(secrets.changed(&reference), change);
    assert!(begun.elapsed() < POLL / 10, "{:?}", begun.elapsed());
    let of_one = |query: &str| query.contains("fieldSelector=metadata.name%3Dcreds");
    assert!(server.count(|entry| entry.request.verb == "watch") > 0, "it was watched");
    assert_eq!(server.count(|entry| entry.request.verb != "get" && !of_one(&entry.request.query)), 0);
}

#[tokio::test(start_paused = true)]
async fn a_new_version_with_the_same_content_is_no_change() {
    let server = cluster();
    put(&server, "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    put(&server, "a");
    assert!(tokio::time::timeout(POLL * 5, secrets.changed(&creds())).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_change_that_may_be_watched_and_not_read_is_told_once() {
    let server = cluster();
    put(&server, "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    put(&server, "b");
    allow(&server, &["list", "watch"]);
    secrets.changed(&creds()).await;
    secrets.read(&creds()).await.unwrap_err();

    allow(&server, &["get"]);
    let again = tokio::time::timeout(POLL * 5, secrets.changed(&creds())).await;
    assert!(again.is_err(), "it was told already");
    put(&server, "c");
    tokio::time::timeout(POLL * 5, secrets.changed(&creds())).await.unwrap();
}
