//! `bowline resync`: makes the manager look again now. Writes one annotation on each Service, which the manager takes for an edit, and
//! takes off the note by which it would not read the load balancer again.

use std::sync::Arc;

use bowline_cloud::{RESYNC_AT, ServiceView};
use bowline_controllers::service::desire::{is_paused, purpose};
use serde::Serialize;

use crate::ending::{EXIT_CODES, Ending, FINE, FOUND};
use crate::output::{Output, Report};
use crate::session::{Access, Session};
use crate::status::leader;
use crate::target::ServiceTarget;
use crate::terminal::line_of;

/// Which Services.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Arguments {
    /// A Service as svc/NAME
    #[arg(value_name = "svc/NAME", required_unless_present = "all", conflicts_with = "all")]
    pub service: Option<ServiceTarget>,
    /// All Services that want a load balancer of the manager
    #[arg(long)]
    pub all: bool,
    /// Its namespace; without it that of the context
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What was asked for.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resynced {
    /// The Services that the manager looks at.
    pub asked: Vec<String>,
    /// Those that are paused: they are looked at, and nothing is changed for them.
    pub paused: Vec<String>,
    /// Why others could not be written to, with their names.
    pub failed: Vec<String>,
    /// Why nobody looks now.
    pub nobody_works: Option<String>,
}

/// Asks for it.
///
/// # Errors
///
/// [`Ending`] if the Service is not there, or wants no load balancer.
pub async fn run(arguments: &Arguments) -> Result<Resynced, Ending> {
    let session = Session::open(&arguments.access).await?;
    let namespace = arguments.namespace.as_ref().unwrap_or(&session.cluster.namespace);
    ask(&session, namespace, arguments.service.as_ref()).await
}

/// Asks for it in a cluster that was reached: for one Service of a namespace, or for all that there are.
///
/// # Errors
///
/// [`Ending`] if the Service is not there, or wants no load balancer.
pub async fn ask(
    session: &Session,
    namespace: &str,
    service: Option<&ServiceTarget>,
) -> Result<Resynced, Ending> {
    let chosen: Vec<Arc<ServiceView>> = match service {
        Some(target) => {
            let (view, _object) = session.cluster.service(namespace, &target.0).await?;
            if purpose(&view, false).is_none() {
                let key = view.key();
                return Err(Ending::refused(format!("Service {key} wants no load balancer of this manager")));
            }
            vec![view]
        }
        None => {
            let all = session.cluster.services().await?;
            all.into_iter().filter(|service| purpose(service, false).is_some()).collect()
        }
    };
    // Who may not read the Lease may ask all the same.
    let nobody_works = leader::read(session).await.ok().and_then(|leader| leader.problem);
    let mut done = Resynced { nobody_works, ..Resynced::default() };
    for service in chosen {
        let key = service.key().to_string();
        let annotations = [(RESYNC_AT, Some(session.now.to_string()))];
        match session.cluster.annotate_service(&service, &annotations).await {
            Ok(()) if is_paused(&service) => done.paused.push(key),
            Ok(()) => done.asked.push(key),
            Err(ending) => done.failed.push(ending.why),
        }
    }
    Ok(done)
}

impl Report for Resynced {
    fn text(&self) -> String {
        let mut text: String =
            self.asked.iter().map(|key| line_of(format!("{key}: the manager looks at it"))).collect();
        text.extend(
            self.paused.iter().map(|key| line_of(format!("{key}: paused, nothing is changed for it"))),
        );
        text.extend(self.failed.iter().map(|key| line_of(format!("failed: {key}"))));
        text.extend(self.nobody_works.iter().map(|why| line_of(format!("nobody works now: {why}"))));
        if text.is_empty() { "No Service wants a load balancer of this manager.\n".to_owned() } else { text }
    }

    fn code(&self) -> u8 {
        if self.failed.is_empty() && self.nobody_works.is_none() { FINE } else { FOUND }
    }
}
