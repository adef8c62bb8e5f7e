//! `bowline plan`: what the manager would do for Services now. Nothing is written, neither to the cloud nor to the cluster.

use bowline_cloud::shadow::{Finding, PlannedStep, ServiceCounts, Verdict};
use bowline_controllers::service::desire::purpose;
use bowline_controllers::shadow::preview::Preview;
use serde::Serialize;

use crate::ending::{EXIT_CODES, Ending, FINE, FOUND, NOT_LOOKED};
use crate::output::{Output, Report};
use crate::session::{Access, CloudAccess, Session};
use crate::sight::Sight;
use crate::target::ServiceTarget;
use crate::terminal::line_of;

/// Which Services.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Arguments {
    /// A Service as svc/NAME; without one all of the namespace
    #[arg(value_name = "svc/NAME", conflicts_with = "all")]
    pub service: Option<ServiceTarget>,
    /// All Services of the cluster
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

/// What would be done.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plans {
    /// `--cluster-name`.
    pub cluster_name: String,
    /// Where the cloud's configuration is from.
    pub cloud_config: String,
    /// The Services, counted by what would be done.
    pub counts: ServiceCounts,
    /// Each Service, also those that are settled.
    pub services: Vec<Finding>,
    /// What a person should know of this answer.
    pub notes: Vec<String>,
}

/// Looks, and tells.
///
/// # Errors
///
/// [`Ending`] if it could not be looked at.
pub async fn run(arguments: &Arguments) -> Result<Plans, Ending> {
    let session = Session::open(&arguments.access).await?;
    let cloud = session.cloud().await?;
    let sight = Sight::read(&session).await?;
    let namespace = arguments.namespace.as_ref().unwrap_or(&session.cluster.namespace);
    let chosen: Vec<_> = sight
        .services
        .iter()
        .filter(|service| match &arguments.service {
            Some(target) => service.namespace == *namespace && service.name == *target.0,
            None => arguments.all || service.namespace == *namespace,
        })
        .cloned()
        .collect();
    if let Some(target) = &arguments.service {
        let name = &target.0;
        let Some(service) = chosen.first() else {
            return Err(Ending::not_looked(format!("there is no Service {namespace}/{name}")));
        };
        if purpose(service, false).is_none() {
            return Err(Ending::refused(format!(
                "Service {namespace}/{name} wants no load balancer of this manager: its type is {}, its class {}",
                service.kind.as_str(),
                service.load_balancer_class.as_deref().unwrap_or("none")
            )));
        }
    }
    let previews = sight.previews(&session, &cloud, &chosen).await?;
    Ok(of(&session, &cloud, previews))
}

/// The answer, of what would be done.
pub(crate) fn of(session: &Session, cloud: &CloudAccess, previews: Vec<Preview>) -> Plans {
    let mut counts = ServiceCounts::default();
    let services: Vec<Finding> = previews.into_iter().map(|preview| preview.finding).collect();
    services.iter().for_each(|finding| counts.add(finding.verdict, finding.held));
    let notes = [session.notes.clone(), cloud.notes.clone()].concat();
    let cluster_name = session.cluster_name.to_string();
    Plans { cluster_name, cloud_config: cloud.from.clone(), counts, services, notes }
}

/// The exit code of verdicts: what nobody can say counts most.
pub(crate) fn code(verdicts: impl Iterator<Item = Verdict>) -> u8 {
    verdicts.map(code_of).max().unwrap_or(FINE)
}

fn code_of(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Settled | Verdict::Paused => FINE,
        Verdict::Unknown => NOT_LOOKED,
        _ => FOUND,
    }
}

/// A verdict in a word or two.
pub(crate) const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Deletes => "deletes",
        Verdict::Readdresses => "changes the address",
        Verdict::Creates => "creates",
        Verdict::Waits => "waits",
        Verdict::Blocked => "blocked",
        Verdict::Refused => "refused",
        Verdict::Changes => "changes",
        Verdict::Paused => "paused",
        Verdict::Settled => "settled",
        Verdict::Unknown => "unknown",
    }
}

/// A step as a line of a diff.
pub(crate) fn step(step: &PlannedStep) -> String {
    let PlannedStep { verb, kind, target, reason } = step;
    let sign = match verb.as_str() {
        "create" => '+',
        "delete" => '-',
        _ => '~',
    };
    format!("  {sign} {verb} {kind} {target}: {reason}")
}

/// A finding with its steps.
pub(crate) fn lines(finding: &Finding) -> String {
    let address = finding.address.as_deref().map(|address| format!(" at {address}")).unwrap_or_default();
    let mut text = line_of(format!("{}{address}: {}", finding.service, word(finding.verdict)));
    let is_told_by_steps = !finding.planned.is_empty() && finding.verdict != Verdict::Blocked;
    if !is_told_by_steps && finding.verdict != Verdict::Settled {
        text.push_str(&line_of(format!("    {}", finding.message)));
    }
    for planned in &finding.planned {
        text.push_str(&step(planned));
        text.push('\n');
    }
    text
}

impl Report for Plans {
    fn text(&self) -> String {
        let mut text = String::new();
        for finding in self.services.iter().filter(|finding| finding.verdict != Verdict::Settled) {
            text.push_str(&lines(finding));
        }
        let settled = match (self.counts.settled, self.counts.total) {
            (_, 0) => "No Service wants a load balancer of this manager.".to_owned(),
            (settled, total) => format!("{settled} of {total} Services are settled."),
        };
        text.push_str(&line_of(format!("{settled} Nothing was written.")));
        for note in &self.notes {
            text.push_str(&line_of(format!("Note: {note}")));
        }
        text
    }

    fn code(&self) -> u8 {
        code(self.services.iter().map(|finding| finding.verdict))
    }
}
