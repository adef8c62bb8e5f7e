//! `bowline explain svc/NAME | node/NAME`: what is wanted, what is there, what it waits for, and what to do. Nothing is written.

pub mod advice;
pub mod drawing;
pub mod node;
pub mod said;
pub mod service;

use serde::Serialize;

use crate::ending::{EXIT_CODES, Ending};
use crate::output::{Output, Report};
use crate::session::{Access, Session};
use crate::target::Target;

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
