//! No answer of the API server is in the log or in an error, whatever is wrong with it and however much is logged.

use std::convert::Infallible;
use std::error::Error;

use bowline_kube::client::{ClientFactory, describe};
use bowline_kube::clock::Clock;
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::Full;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenReview};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret, ServiceAccount};
use kube::api::{Api, ListParams, PostParams, WatchParams};
use kube::client::{Body, Client};
use kube::{Config, runtime::watcher};
use tracing::instrument::WithSubscriber;

use super::*;

const CANARY: &str = "c4nary-hunter2";

/// A logging set-up in which every module of every crate says all it can.
fn everything(format: LogFormat) -> LoggingOptions {
    let modules = [
        "*",
        "kube",
        "kube_client",
        "kube_client::client",
        "kube_runtime",
        "kube_runtime::watcher",
        "hyper",
        "tower",
    ];
    LoggingOptions {
        format,
        verbosity: u8::MAX,
        vmodule: modules.map(|module| (module.to_owned(), u8::MAX)).to_vec(),
    }
}

/// What a server in trouble, or something that is no API server, may answer.
fn answers() -> Vec<(u16, String)> {
    let canary = CANARY;
    vec![
        (
            200,
            format!(r#"{{"kind":"Secret","apiVersion":"v1","metadata":{{"name":"s"}},"data":"{canary}"}}"#),
        ),
        (
            200,
            format!(
                r#"{{"kind":"Secret","apiVersion":"v1","metadata":{{"name":"s"}},"data":{{"k":"{canary}"}}}}"#
            ),
        ),
        (
            200,
            format!(
                r#"{{"kind":"Secret","apiVersion":"v1","metadata":{{"name":5}},"data":{{"k":"{canary}"}}}}"#
            ),
        ),
        (
            200,
            format!(
                r#"{{"kind":"SecretList","apiVersion":"v1","metadata":{{}},"items":[{{"data":"{canary}"}}]}}"#
            ),
        ),
        (200, format!(r#"{{"kind":"SecretList","apiVersion":"v1","metadata":{{}},"items":"{canary}"}}"#)),
        (
            201,
            format!(
                r#"{{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{{"token":"{canary}"}},"status":"{canary}"}}"#
            ),
        ),
        (
            201,
            format!(r#"{{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":"{canary}"}}"#),
        ),
        (
            201,
            format!(
                r#"{{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{{}},"status":{{"token":["{canary}"]}}}}"#
            ),
        ),
        (
            201,
            format!(
                r#"{{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{{"audiences":"{canary}"}}}}"#
            ),
        ),
        (200, format!(r#"{{"kind":"Status","status":"{canary}","code":"{canary}"}}"#)),
        (200, format!(r#"{{"kind":"{canary}","apiVersion":"{canary}","metadata":"{canary}"}}"#)),
        (200, format!(r#"{{"kind":"Node","spec":"{canary}","status":"{canary}","data":"{canary}"}}"#)),
        (200, format!(r#"{{"kind":"Secret","data":{{"k":"{canary}"#)),
        (200, format!("\"{canary}\"")),
        (200, format!("<html>{canary}</html>")),
        (500, format!("<html>{canary}</html>")),
        (401, format!(r#"{{"token":"{canary}"}}"#)),
        (404, canary.to_owned()),
        (422, format!(r#"{{"kind":"Status","message":["{canary}"]}}"#)),
    ]
}

/// A server that always answers the same.
fn server(
    code: u16,
    body: Vec<u8>,
) -> impl tower::Service<Request<Body>, Response = Response<Full<bytes::Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ Sync
+ 'static {
    tower::service_fn(move |_request: Request<Body>| {
        let body = body.clone();
        async move {
            let answer = Response::builder().status(code).header("content-type", "application/json");
            Ok(answer.body(Full::from(body)).unwrap())
        }
    })
}

/// What is said of an outcome in any way.
fn shown(what: &str, error: impl Error + 'static, texts: &mut Vec<String>) {
    texts.push(format!("{what}: {}", describe(&error)));
}

/// Asks for everything that has secrets in it.
async fn ask(client: &Client, texts: &mut Vec<String>) {
    let secrets = Api::<Secret>::namespaced(client.clone(), "a");
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "a");
    let reviews = Api::<TokenReview>::all(client.clone());
    let mut raw = |what: &str, error: kube::Error| {
        texts.push(format!("{what}: {error} {error:?}"));
        shown(what, error, texts);
    };
    secrets.get("s").await.err().into_iter().for_each(|error| raw("get a Secret", error));
    secrets.list(&ListParams::default()).await.err().into_iter().for_each(|error| raw("list Secrets", error));
    let secret = Secret::default();
    let replaced = secrets.replace("s", &PostParams::default(), &secret).await;
    replaced.err().into_iter().for_each(|error| raw("replace a Secret", error));
    let deleted = secrets.delete("s", &Default::default()).await;
    deleted.err().into_iter().for_each(|error| raw("delete a Secret", error));
    let review = reviews.create(&PostParams::default(), &TokenReview::default()).await;
    review.err().into_iter().for_each(|error| raw("review a token", error));
    let token = accounts.create_token_request("t", &PostParams::default(), &TokenRequest::default()).await;
    token.err().into_iter().for_each(|error| raw("request a token", error));
    let config = Api::<ConfigMap>::namespaced(client.clone(), "a").get("c").await;
    config.err().into_iter().for_each(|error| raw("get a ConfigMap", error));
    // What has no secret in it, and what is watched, is described by our own code, which quotes nothing.
    let node = Api::<Node>::all(client.clone()).get("n").await;
    node.err().into_iter().for_each(|error| shown("get a Node", error, texts));
    if let Ok(events) = secrets.watch(&WatchParams::default(), "1").await {
        let events: Vec<_> = Box::pin(events).take(3).collect().await;
        events.into_iter().filter_map(Result::err).for_each(|error| shown("watch Secrets", error, texts));
    }
    let mut watched = Box::pin(watcher(secrets, watcher::Config::default()));
    for _ in 0..3 {
        if let Some(Err(error)) = watched.next().await {
            shown("the watcher of Secrets", error, texts);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_answer_of_the_api_server_is_in_the_log_or_in_an_error_at_any_verbosity() {
    for format in [LogFormat::Text, LogFormat::Json] {
        let sheet = Sheet::default();
        let (dispatch, _level) = subscriber(&everything(format), sheet.clone()).unwrap();
        let mut texts = Vec::new();
        async {
            debug!(target: "bowline_manager", "the log works");
            for (code, body) in answers() {
                let config = Config::new("https://api.example:6443".parse().unwrap());
                let factory = ClientFactory::new(config, "test", "v1", 0.0, 0);
                let client = factory.wrap("test", server(code, body.clone().into_bytes()));
                ask(&client, &mut texts).await;
                let not_text = [body.as_bytes(), b"\xff"].concat();
                ask(&factory.wrap("test", server(code, not_text)), &mut texts).await;
                let accounts = bowline_kube::client::ServiceAccountClients::new(
                    factory.clone(),
                    client,
                    Clock::system(),
                );
                let refused = accounts.wrap("a", server(code, body.into_bytes())).await.map(drop);
                texts.extend(refused.err().map(|error| format!("{error} {}", describe(&error))));
            }
        }
        .with_subscriber(dispatch)
        .await;
        assert!(texts.len() > 100, "errors were looked at: {}", texts.len());
        for text in &texts {
            assert!(!text.contains(CANARY), "{text}");
        }
        let lines = sheet.lines();
        assert!(lines.iter().any(|line| line.contains("the log works")));
        for line in &lines {
            assert!(!line.contains(CANARY), "{line}");
        }
    }
}

/// The filter of the log holds on its own: here kube has its way with the answers.
#[tokio::test(start_paused = true)]
async fn what_kube_itself_says_of_answers_is_not_logged() {
    let sheet = Sheet::default();
    let (dispatch, _level) = subscriber(&everything(LogFormat::Text), sheet.clone()).unwrap();
    async {
        for (code, body) in answers() {
            let client = Client::new(server(code, body.into_bytes()), "default");
            ask(&client, &mut Vec::new()).await;
        }
    }
    .with_subscriber(dispatch)
    .await;
    for line in sheet.lines() {
        assert!(!line.contains(CANARY), "{line}");
    }
}
