//! `bowline drift`: what in the cloud differs from what the cluster wants. Nothing is written.
//!
//! Three kinds: a load balancer that is not as its Service asks, something with the tags of this cluster that no Service uses, and a
//! Node whose server is gone. What is new and not made yet is no drift; `bowline plan` tells it.

use bowline_cloud::shadow::{Finding, PlannedStep, Verdict};
use bowline_cloud::{Evidence, ServiceView};
use bowline_controllers::service::desire::purpose;
use bowline_controllers::shadow::preview::{Machine, Preview};
use bowline_openstack::cleanup::{self, CleanupPlan, Request, User};
use bowline_openstack::loadbalancer::annotations::LOAD_BALANCER_ID;
use serde::Serialize;

use crate::ending::{EXIT_CODES, Ending, FINE, FOUND, NOT_LOOKED};
use crate::output::{Output, Report};
use crate::plan::{self, word};
use crate::session::{Access, CloudAccess, Session};
use crate::sight::{self, Sight};
use crate::terminal::line_of;

/// What to look at.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What differs.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// How many Services have a load balancer.
    pub looked_at: usize,
    /// Load balancers that are not as their Services ask.
    pub services: Vec<Differs>,
    /// What has the tags of this cluster and is used by no Service.
    pub orphans: Vec<Orphan>,
    /// Nodes whose server is gone.
    pub nodes: Vec<LostNode>,
    /// What could not be looked at.
    pub not_looked_at: Vec<String>,
    /// What a person should know of this answer.
    pub notes: Vec<String>,
}

/// A load balancer that is not as its Service asks.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Differs {
    /// `namespace/name` of the Service.
    pub service: String,
    /// The load balancer.
    pub load_balancer: Option<String>,
    /// What would be done about it, in one word.
    pub verdict: Verdict,
    /// Why.
    pub message: String,
    /// What would be done about it.
    pub planned: Vec<PlannedStep>,
}

/// Something that no Service uses.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Orphan {
    /// What it is.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The Services that it was made for.
    pub services: Vec<String>,
}

/// A Node whose server is gone.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LostNode {
    /// Its name.
    pub node: String,
    /// Its provider ID.
    pub provider_id: Option<String>,
    /// Who says so.
    pub proof: String,
}

/// Looks, and tells.
///
/// # Errors
///
/// [`Ending`] if it could not be looked at.
pub async fn run(arguments: &Arguments) -> Result<Drift, Ending> {
    let session = Session::open(&arguments.access).await?;
    let cloud = session.cloud().await?;
    let sight = Sight::read(&session).await?;
    look(&session, &cloud, &sight).await
}

/// What differs, of all that there is.
pub(crate) async fn look(session: &Session, cloud: &CloudAccess, sight: &Sight) -> Result<Drift, Ending> {
    let previews = sight.previews(session, cloud, &sight.services).await?;
    let mut drift =
        Drift { notes: [session.notes.clone(), cloud.notes.clone()].concat(), ..Drift::default() };
    for preview in previews {
        sort_in(&mut drift, preview);
    }
    match orphans(session, cloud, sight).await {
        Ok(orphans) => drift.orphans = orphans,
        Err(why) => drift.not_looked_at.push(format!("what no Service uses: {why}")),
    }
    match sight::machines(session, cloud, &sight.nodes).await {
        Ok(machines) => {
            drift.nodes = machines.iter().filter_map(|(node, machine)| lost(node, machine)).collect();
        }
        Err(why) => drift.not_looked_at.push(format!("the servers of Nodes: {why}")),
    }
    Ok(drift)
}

fn lost(node: &bowline_cloud::NodeView, machine: &Machine) -> Option<LostNode> {
    let Machine::Ours(Evidence::Absent(proof)) = machine else { return None };
    let provider_id = node.provider_id.as_ref().map(ToString::to_string);
    Some(LostNode { node: node.name.to_string(), provider_id, proof: proof.to_string() })
}

/// Only what was there once can have drifted.
fn sort_in(drift: &mut Drift, preview: Preview) {
    let Preview { service, finding, picture } = preview;
    let was_there = picture.is_some() || !service.status.ingress.is_empty();
    drift.looked_at += usize::from(was_there);
    let Finding { service, verdict, planned, message, .. } = finding;
    match verdict {
        Verdict::Unknown => drift.not_looked_at.push(format!("{service}: {message}")),
        Verdict::Settled | Verdict::Waits => {}
        Verdict::Paused if planned.is_empty() => {}
        _ if was_there => {
            let load_balancer = picture.map(|picture| picture.id);
            drift.services.push(Differs { service, load_balancer, verdict, message, planned });
        }
        _ => {}
    }
}

/// What a removal of the cluster would take although the Services that live keep theirs: nobody uses it.
async fn orphans(session: &Session, cloud: &CloudAccess, sight: &Sight) -> Result<Vec<Orphan>, String> {
    let found = cleanup::observe(&cloud.client).await.map_err(|error| error.to_string())?;
    let request = Request {
        cluster: session.cluster_name.to_string(),
        cluster_uid: session.cluster_uid.clone(),
        users: sight
            .services
            .iter()
            .filter(|service| purpose(service, false).is_some())
            .map(|one| user(one))
            .collect(),
        occm_tags: false,
    };
    let plan = CleanupPlan::of(&request, &found).map_err(|several| several.to_string())?;
    let orphan = |removal: &cleanup::Removal| Orphan {
        kind: removal.thing.kind.to_string(),
        id: removal.thing.id.clone(),
        name: removal.thing.name.clone(),
        services: removal.thing.services.clone(),
    };
    Ok(plan.remove.iter().map(orphan).collect())
}

fn user(service: &ServiceView) -> User {
    User {
        service: service.key().to_string(),
        uid: service.uid.to_string(),
        load_balancer: service.annotations.get(LOAD_BALANCER_ID.key).map(ToOwned::to_owned),
        addresses: service.status.ingress.iter().filter_map(|ingress| ingress.ip).collect(),
    }
}

impl Report for Drift {
    fn text(&self) -> String {
        let mut text = String::new();
        for Differs { service, load_balancer, verdict, message, planned } in &self.services {
            let id = load_balancer.as_deref().unwrap_or("no load balancer");
            text.push_str(&line_of(format!("{service} ({id}): {}", word(*verdict))));
            if planned.is_empty() {
                text.push_str(&line_of(format!("    {message}")));
            }
            for planned in planned {
                text.push_str(&line_of(plan::step(planned)));
            }
        }
        for Orphan { kind, id, name, services } in &self.orphans {
            text.push_str(&line_of(format!(
                "no Service uses {kind} {name} ({id}), made for {}",
                services.join(", ")
            )));
        }
        for LostNode { node, proof, .. } in &self.nodes {
            text.push_str(&line_of(format!("the server of Node {node} is gone: {proof}")));
        }
        for what in &self.not_looked_at {
            text.push_str(&line_of(format!("not looked at: {what}")));
        }
        let sum = self.services.len() + self.orphans.len() + self.nodes.len();
        let said = match sum {
            0 => format!("{} load balancers are as their Services ask.", self.looked_at),
            _ => format!("{sum} things differ, of {} load balancers looked at.", self.looked_at),
        };
        text.push_str(&line_of(format!("{said} Nothing was written.")));
        for note in &self.notes {
            text.push_str(&line_of(format!("Note: {note}")));
        }
        text
    }

    fn code(&self) -> u8 {
        let differs = !(self.services.is_empty() && self.orphans.is_empty() && self.nodes.is_empty());
        match (self.not_looked_at.is_empty(), differs) {
            (false, _) => NOT_LOOKED,
            (true, true) => FOUND,
            (true, false) => FINE,
        }
    }
}
