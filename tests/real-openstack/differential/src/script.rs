//! The requests, as scripts of [`bowline_testkit::script`]:
//!
//! ```text
//! # what it is about @label           the label keeps the answer for later blocks
//! POST network /v2.0/ports            a method, a service of the catalog, a path below its root
//! As: admin                           whose token is sent: that of the answer with this label; `nobody`: none
//! If-Match: revision_number=1         any other header
//! {"port": {}}                        the body, up to the empty line
//! ```
//!
//! The method `WAIT` is a GET that is repeated until the condition of its `Until` line holds: a status (`404`), `nothing
//! PENDING`, or `/pointer = value`. Only its last answer is compared. A block with `Only: amphora` is left out for other
//! providers of load balancers: what never comes to an end with them.

use anyhow::{Context, bail};
use bowline_testkit::script::{self, Block, Kept, filled};
use serde_json::Value;

use crate::answer::Answer;

/// Whose token is sent when a block does not say it.
const DEFAULT_CALLER: &str = "member";

/// One request of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) title: String,
    pub(crate) label: Option<String>,
    pub(crate) method: String,
    pub(crate) service: String,
    pub(crate) path: String,
    /// The label of the answer with the token; empty: no token is sent.
    pub(crate) caller: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) until: Option<Until>,
    /// The only provider of load balancers that can do it.
    pub(crate) only: Option<String>,
    pub(crate) body: String,
}

/// When a repeated request has come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// The answer has this status.
    Status(u16),
    /// Nothing in the answer is in a state that passes by itself.
    NothingPending,
    /// This part of the answer has this value.
    Value(String, String),
}

/// Reads a script.
pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<Step>> {
    script::parse(text, step)
}

fn step(block: Block<'_>) -> anyhow::Result<Step> {
    let mut request = block.request.splitn(3, ' ');
    let mut word = |what| request.next().map(str::to_owned).with_context(|| format!("no {what}"));
    let (method, service, path) = (word("method")?, word("service")?, word("path")?);
    let (mut caller, mut headers) = (DEFAULT_CALLER.to_owned(), Vec::new());
    let (mut until, mut only) = (None, None);
    for (name, value) in block.headers {
        match name {
            "As" if value == "nobody" => caller.clear(),
            "As" => value.clone_into(&mut caller),
            "Until" => until = Some(condition(value)?),
            "Only" => only = Some(value.to_owned()),
            _ => headers.push((name.to_owned(), value.to_owned())),
        }
    }
    if (method == "WAIT") != until.is_some() {
        bail!("WAIT needs an Until line, and only WAIT has one");
    }
    let (title, label) = (block.title.to_owned(), block.label.map(str::to_owned));
    Ok(Step { title, label, method, service, path, caller, headers, until, only, body: block.body })
}

fn condition(text: &str) -> anyhow::Result<Until> {
    if text == "nothing PENDING" {
        return Ok(Until::NothingPending);
    }
    if let Some((pointer, value)) = text.split_once(" = ") {
        return Ok(Until::Value(pointer.to_owned(), value.to_owned()));
    }
    let status = text.parse().with_context(|| format!("{text:?} is no condition"))?;
    Ok(Until::Status(status))
}

impl Until {
    /// Whether an answer fulfils it. A refusal or an ERROR where something else is waited for ends the waiting, too: it will
    /// not come.
    pub(crate) fn holds(&self, answer: &Answer) -> bool {
        match self {
            Self::Status(status) => answer.status == *status,
            _ if answer.status >= 400 => true,
            Self::NothingPending => !answer.body.to_string().contains("\"PENDING_"),
            Self::Value(pointer, value) => {
                let found = answer.body.pointer(pointer).and_then(Value::as_str);
                found == Some(value) || found == Some("ERROR")
            }
        }
    }
}

impl Step {
    /// The step as one cloud is asked, with what that cloud answered before.
    pub(crate) fn for_cloud(&self, kept: &Kept) -> anyhow::Result<Self> {
        let mut step = self.clone();
        step.path = filled(&self.path, kept)?;
        step.body = filled(&self.body, kept)?;
        for (_, value) in &mut step.headers {
            *value = filled(value, kept)?;
        }
        Ok(step)
    }
}

#[cfg(test)]
mod tests;
