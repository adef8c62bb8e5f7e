//! `bowline explain svc/NAME | node/NAME`: what is wanted, what is there, what it waits for, and what to do. Nothing is written.

pub mod advice;
pub mod drawing;
pub mod node;
pub mod said;
pub mod service;

use serde::Serialize;

use self::said::Told;
use crate::ending::{EXIT_CODES, Ending};
use crate::output::{Output, Report};
use crate::session::{Access, Session};
use crate::status::leader::Leader;
use crate::target::Target;

/// How every explanation ends: what was told, by which requests, who works, and what to do.
fn conclusion(events: &[Told], request_ids: &[String], leader: &Leader, advice: &[String]) -> String {
    let mut text = String::new();
    if !events.is_empty() {
        text.push_str("\nEvents\n");
    }
    for Told { at, reason, message, times, .. } in events {
        let at = at.as_deref().unwrap_or("-");
        text.push_str(&format!("  {at} {reason} x{times}: {message}\n"));
    }
    if !request_ids.is_empty() {
        text.push_str(&format!("\nRequest ids of the cloud: {}\n", request_ids.join(", ")));
    }
    text.push_str(&format!("\nManager: {}\n", leader.words()));
    if !advice.is_empty() {
        text.push_str("\nWhat to do\n");
    }
    advice.iter().for_each(|line| text.push_str(&format!("  - {line}\n")));
    text
}

/// What to explain.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
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
