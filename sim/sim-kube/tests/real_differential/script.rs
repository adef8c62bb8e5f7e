//! The requests, as scripts of [`bowline_testkit::script`]. A request line is `PATCH-MERGE /api/v1/nodes/a`, or any HTTP method.
//!
//! A body `<label> + {…}` is the kept answer with a merge patch laid over it.

use anyhow::Context;
use bowline_testkit::script::{self, Block, Kept, filled, kept_value};

/// One request of a script.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) title: String,
    pub(crate) label: Option<String>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// Reads a script.
pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<Step>> {
    script::parse(text, step)
}

fn step(block: Block<'_>) -> anyhow::Result<Step> {
    let (method, path) = block.request.split_once(' ').context("no path")?;
    let (method, content_type) = content_type_of(method);
    let mut headers = vec![("User-Agent", "differential/1.0 (test)")];
    headers.extend(block.headers);
    let has = |name: &str| headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    if let (Some(content_type), false) = (content_type, has("content-type") || block.body.is_empty()) {
        headers.push(("Content-Type", content_type));
    }
    Ok(Step {
        title: block.title.to_owned(),
        label: block.label.map(str::to_owned),
        method: method.to_owned(),
        path: path.to_owned(),
        headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        body: block.body,
    })
}

fn content_type_of(method: &str) -> (&str, Option<&'static str>) {
    match method {
        "PATCH-JSON" => ("PATCH", Some("application/json-patch+json")),
        "PATCH-MERGE" => ("PATCH", Some("application/merge-patch+json")),
        "PATCH-STRATEGIC" => ("PATCH", Some("application/strategic-merge-patch+json")),
        "APPLY" => ("PATCH", Some("application/apply-patch+yaml")),
        other => (other, Some("application/json")),
    }
}

impl Step {
    /// The step as one server is asked, with what that server answered before.
    pub(crate) fn for_server(&self, kept: &Kept) -> anyhow::Result<Self> {
        let mut step = self.clone();
        step.path = filled(&self.path, kept)?;
        step.body = match self.body.split_once("> + ") {
            Some((label, patch)) if label.starts_with('<') && !label.contains(':') => {
                let mut value = kept_value(kept, &label[1..])?.clone();
                json_patch::merge(&mut value, &serde_json::from_str(&filled(patch, kept)?)?);
                value.to_string()
            }
            _ => filled(&self.body, kept)?,
        };
        Ok(step)
    }
}
