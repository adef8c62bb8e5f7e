//! One server under comparison: sends it requests and keeps what it answers.

use anyhow::Context;
use bowline_testkit::script::Kept;
use bowline_testkit::{deadline, eventually};
use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::script::Step;

/// An answer in a form that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// A document, a list of events, or a text.
    pub(crate) body: Value,
}

/// A server and what it has answered to labelled steps.
pub(crate) struct Server {
    client: Client,
    kept: Kept,
}

/// The headers that clients read.
const HEADERS: [&str; 3] = ["content-type", "warning", "retry-after"];

impl Server {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, kept: Kept::new() }
    }

    /// Runs one step. The method `WAIT` is a GET that is repeated until it succeeds; its answer is not compared.
    pub(crate) async fn run(&mut self, step: &Step) -> anyhow::Result<Answer> {
        if step.method != "WAIT" {
            return self.ask(step).await;
        }
        let step = Step { method: "GET".to_owned(), ..step.clone() };
        let served = async || Ok((self.ask(&step).await?.code == 200).then_some(()));
        eventually(format!("{} is served", step.path), served).await?;
        Ok(Answer { code: 200, headers: Vec::new(), body: Value::Null })
    }

    async fn ask(&mut self, step: &Step) -> anyhow::Result<Answer> {
        let step = step.for_server(&self.kept).with_context(|| format!("prepare {:?}", step.title))?;
        let mut request = Request::builder().method(step.method.as_str()).uri(step.path.as_str());
        for (name, value) in &step.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(step.body.clone().into_bytes()))?;
        let whole = async {
            let (head, body) = self.client.send(request).await?.into_parts();
            let bytes = body.collect().await?.to_bytes();
            anyhow::Ok((head, String::from_utf8_lossy(&bytes).into_owned()))
        };
        let answered = tokio::time::timeout(deadline(), whole).await;
        let (head, text) = answered
            .map_err(anyhow::Error::from)
            .flatten()
            .with_context(|| format!("ask {:?}", step.title))?;
        let header = |name: &str| {
            let values = head.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.map(|value| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
        };
        let headers = HEADERS.into_iter().flat_map(header).collect();
        let body = document(&text);
        if let Some(label) = &step.label {
            self.kept.insert(label.clone(), body.clone());
        }
        Ok(Answer { code: head.status.as_u16(), headers, body })
    }
}

/// JSON if it is JSON, a list of the lines if each is (a watch), else the text.
fn document(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        // A watch with one event looks like a document; it must not depend on how many there were.
        return if is_event(&value) { json!([value]) } else { value };
    }
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    match lines {
        Ok(lines) => Value::Array(lines),
        Err(_) => Value::String(text.to_owned()),
    }
}

fn is_event(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|map| map.len() == 2 && map.contains_key("type") && map.contains_key("object"))
}
