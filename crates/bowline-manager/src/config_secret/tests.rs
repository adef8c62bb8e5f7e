//! A Secret behind an API server in memory that may forbid watching.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use kube::client::Body;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;

#[derive(Default)]
struct Server {
    secret: Mutex<Option<Value>>,
    get_forbidden: Mutex<bool>,
    /// What a watch tells; without it, lists and watches are forbidden.
    watched: Mutex<Option<Value>>,
}

impl Server {
    fn put(&self, version: &str, text: &str) {
        let data = k8s_openapi::ByteString(text.as_bytes().to_vec());
        *self.secret.lock().unwrap() = Some(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "creds", "namespace": "kube-system", "uid": "u", "resourceVersion": version},
            "data": {"clouds.conf": data},
        }));
    }

    fn answer(&self, path: &str, query: &str) -> (u16, Value) {
        if let (true, Some(news)) = (path.ends_with("/secrets"), self.watched.lock().unwrap().clone()) {
            assert!(query.contains("fieldSelector=metadata.name%3Dcreds"), "{query}");
            return (200, if query.contains("watch=") { news } else { self.list() });
        }
        let by_name = path.ends_with("/namespaces/kube-system/secrets/creds");
        match self.secret.lock().unwrap().clone() {
            _ if !by_name || *self.get_forbidden.lock().unwrap() => (403, status(403, "Forbidden")),
            Some(secret) => (200, secret),
            None => (404, status(404, "NotFound")),
        }
    }
}

impl Server {
    fn list(&self) -> Value {
        let items: Vec<Value> = self.secret.lock().unwrap().clone().into_iter().collect();
        json!({"apiVersion": "v1", "kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": items})
    }
}

fn status(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "no"})
}

fn secrets(server: &Arc<Server>) -> ConfigSecrets {
    let server = server.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (code, body) = server.answer(request.uri().path(), request.uri().query().unwrap_or_default());
        let body = Body::from(format!("{body}\n").into_bytes());
        async move {
            Ok::<_, Infallible>(
                Response::builder()
                    .status(code)
                    .header("content-type", "application/json")
                    .body(body)
                    .unwrap(),
            )
        }
    });
    ConfigSecrets::new(Client::new(service, "default"))
}

fn creds() -> SecretReference {
    SecretReference { namespace: "kube-system".into(), name: "creds".into(), kubeconfig: String::new() }
}

#[tokio::test]
async fn a_secret_is_read_and_not_shown() {
    let server = Arc::new(Server::default());
    server.put("1", "[Global]\npassword=hunter2\n");
    let data = secrets(&server).read(&creds()).await.unwrap();
    assert_eq!(data["clouds.conf"].expose_secret(), b"[Global]\npassword=hunter2\n");
    assert!(!format!("{data:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_missing_secret_and_a_missing_right_are_told_apart() {
    let server = Arc::new(Server::default());
    let secrets = secrets(&server);
    assert_eq!(secrets.read(&creds()).await.unwrap_err(), SecretError::NotFound(creds()));
    *server.get_forbidden.lock().unwrap() = true;
    assert_eq!(secrets.read(&creds()).await.unwrap_err(), SecretError::Forbidden(creds()));
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named() {
    let server = Arc::new(Server::default());
    let reference = SecretReference { kubeconfig: "/no/such/kubeconfig".into(), ..creds() };
    let error = secrets(&server).read(&reference).await.unwrap_err().to_string();
    assert!(error.contains("/no/such/kubeconfig"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_watch_a_change_is_seen_by_reading() {
    let server = Arc::new(Server::default());
    server.put("1", "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    let quiet = tokio::time::timeout(POLL * 10, secrets.changed(&creds())).await;
    assert!(quiet.is_err(), "nothing changed");

    let begun = Instant::now();
    let change = async {
        tokio::time::sleep(POLL / 2).await;
        server.put("2", "b");
    };
    let reference = creds();
    tokio::join!(secrets.changed(&reference), change);
    assert!(begun.elapsed() <= POLL * 2, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_goes_is_a_change() {
    let server = Arc::new(Server::default());
    server.put("1", "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    *server.secret.lock().unwrap() = None;
    tokio::time::timeout(POLL * 2, secrets.changed(&creds())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_the_right_to_watch_a_change_is_seen_at_once() {
    let server = Arc::new(Server::default());
    server.put("1", "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    let mut newer = server.secret.lock().unwrap().clone().unwrap();
    newer["metadata"]["resourceVersion"] = json!("2");
    newer["data"]["clouds.conf"] = json!(k8s_openapi::ByteString(b"b".to_vec()));
    *server.watched.lock().unwrap() = Some(json!({"type": "MODIFIED", "object": newer}));
    let begun = Instant::now();
    secrets.changed(&creds()).await;
    assert!(begun.elapsed() < POLL / 10, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_new_version_with_the_same_content_is_no_change() {
    let server = Arc::new(Server::default());
    server.put("1", "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    server.put("2", "a");
    assert!(tokio::time::timeout(POLL * 5, secrets.changed(&creds())).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_change_that_may_be_watched_and_not_read_is_told_once() {
    let server = Arc::new(Server::default());
    server.put("1", "a");
    let secrets = secrets(&server);
    secrets.read(&creds()).await.unwrap();
    server.put("2", "b");
    let object = server.secret.lock().unwrap().clone();
    *server.watched.lock().unwrap() = Some(json!({"type": "MODIFIED", "object": object}));
    *server.get_forbidden.lock().unwrap() = true;
    secrets.changed(&creds()).await;
    secrets.read(&creds()).await.unwrap_err();

    *server.watched.lock().unwrap() = None;
    *server.get_forbidden.lock().unwrap() = false;
    let again = tokio::time::timeout(POLL * 5, secrets.changed(&creds())).await;
    assert!(again.is_err(), "it was told already");
    server.put("3", "c");
    tokio::time::timeout(POLL * 5, secrets.changed(&creds())).await.unwrap();
}
