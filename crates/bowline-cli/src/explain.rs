//! `bowline explain svc/NAME | node/NAME`: what is wanted, what is there, what it waits for, and what to do. Nothing is written.

pub mod advice;
pub mod drawing;
pub mod node;
pub mod said;
pub mod service;

use serde::Serialize;

use self::said::Told;
use crate::ending::{Ending, FOUND};
use crate::output::{Output, Report};
use crate::session::{Access, Session};
use crate::status::leader::Leader;
use crate::target::Target;
use crate::terminal::line_of;

/// What `explain` says of its exit codes.
const CODES: &str = "Exit codes:\n  0  all is well, and there is nothing to do\n  1  something is to do or to wait for: there is advice\n  2  it could not be looked at, or the command line is wrong";

/// What was told of an object. For those who may not read it, that is a note.
async fn told(
    session: &Session,
    namespace: &str,
    kind: &str,
    name: &str,
    notes: &mut Vec<String>,
) -> Vec<Told> {
    match session.cluster.events(namespace, kind, name).await {
        Ok(events) => said::told(&events),
        Err(ending) => {
            notes.push(format!("what was told of it is not known: {ending}"));
            Vec::new()
        }
    }
}

/// The exit code: advice is something to do.
fn code(looked: u8, advice: &[String]) -> u8 {
    if advice.is_empty() { looked } else { looked.max(FOUND) }
}

/// How every explanation ends: what was told, by which requests, who works, what to do, and what is not known.
fn conclusion(
    events: &[Told],
    request_ids: &[String],
    leader: &Leader,
    advice: &[String],
    notes: &[String],
) -> String {
    let mut text = String::new();
    if !events.is_empty() {
        text.push_str("\nEvents\n");
    }
    for Told { at, reason, message, times, .. } in events {
        let at = at.as_deref().unwrap_or("-");
        text.push_str(&line_of(format!("  {at} {reason} x{times}: {message}")));
    }
    if !request_ids.is_empty() {
        text.push_str(&format!(
            "\n{}",
            line_of(format!("Request ids of the cloud: {}", request_ids.join(", ")))
        ));
    }
    text.push_str(&format!("\n{}", line_of(format!("Manager: {}", leader.words()))));
    if !advice.is_empty() {
        text.push_str("\nWhat to do\n");
    }
    advice.iter().for_each(|one| text.push_str(&line_of(format!("  - {one}"))));
    notes.iter().for_each(|note| text.push_str(&line_of(format!("Note: {note}"))));
    text
}

/// What to explain.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CODES)]
pub struct Arguments {
    /// svc/NAME or node/NAME
    #[arg(value_name = "svc/NAME|node/NAME")]
    pub target: Target,
    /// The namespace of the Service; without it that of the context
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What is to say of one thing.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Explained {
    /// Of a Service.
    Service(Box<service::ServiceExplained>),
    /// Of a Node.
    Node(Box<node::NodeExplained>),
}

/// Looks, and tells.
///
/// # Errors
///
/// [`Ending`] if it could not be looked at.
pub async fn run(arguments: &Arguments) -> Result<Explained, Ending> {
    let session = Session::open(&arguments.access).await?;
    match &arguments.target {
        Target::Service(name) => {
            let namespace = arguments.namespace.as_ref().unwrap_or(&session.cluster.namespace);
            let explained = service::explain(&session, namespace, name).await?;
            Ok(Explained::Service(Box::new(explained)))
        }
        Target::Node(name) => Ok(Explained::Node(Box::new(node::explain(&session, name).await?))),
    }
}

impl Report for Explained {
    fn text(&self) -> String {
        match self {
            Self::Service(service) => service.text(),
            Self::Node(node) => node.text(),
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Service(service) => service.code(),
            Self::Node(node) => node.code(),
        }
    }
}
