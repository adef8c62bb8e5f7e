//! `bowline adopt svc/NAME --load-balancer ID`: makes a Service use a load balancer that is there. Writes the annotation by which a Service
//! names its load balancer, after it has shown what the manager will do then, and only if the load balancer is not another cluster's.

use std::sync::Arc;

use bowline_cloud::ServiceView;
use bowline_cloud::picture::BalancerPicture;
use bowline_cloud::shadow::{PlannedStep, Verdict};
use bowline_controllers::service::desire::{purpose, wants};
use bowline_openstack::loadbalancer::annotations::LOAD_BALANCER_ID;
use serde::Serialize;

use crate::ending::{EXIT_CODES, Ending, FINE, FOUND, NOT_LOOKED};
use crate::explain::drawing::draw;
use crate::output::{Output, Report};
use crate::plan::{self, word};
use crate::session::{Access, Session};
use crate::sight::Sight;
use crate::target::ServiceTarget;
use crate::terminal::line_of;

/// What to adopt.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Arguments {
    /// The Service as svc/NAME
    #[arg(value_name = "svc/NAME")]
    pub service: ServiceTarget,
    /// The id of the load balancer
    #[arg(long, value_name = "ID")]
    pub load_balancer: String,
    /// Its namespace; without it that of the context
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Write it; without this it is only shown
    #[arg(long, short = 'y')]
    pub yes: bool,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What was found, and done.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Adopted {
    /// `namespace/name` of the Service.
    pub service: String,
    /// The load balancer.
    pub load_balancer: String,
    /// Why it is not done, if it is not.
    pub objections: Vec<String>,
    /// What the manager will do, in one word.
    pub verdict: Verdict,
    /// Why.
    pub message: String,
    /// What the manager will do.
    pub planned: Vec<PlannedStep>,
    /// The load balancer as it is.
    pub there: Option<BalancerPicture>,
    /// Whether the annotation was written.
    pub written: bool,
}

/// Looks, shows, and writes if that was asked for.
///
/// # Errors
///
/// [`Ending`] if it could not be looked at, or the Service wants no load balancer.
pub async fn run(arguments: &Arguments) -> Result<Adopted, Ending> {
    let session = Session::open(&arguments.access).await?;
    let namespace = arguments.namespace.as_ref().unwrap_or(&session.cluster.namespace);
    let (service, _object) = session.cluster.service(namespace, &arguments.service.0).await?;
    if !wants(&service) || service.deleted_at.is_some() {
        return Err(Ending::refused(format!(
            "Service {} wants no load balancer of this manager",
            service.key()
        )));
    }
    let cloud = session.cloud().await?;
    let sight = Sight::read(&session).await?;
    let naming = naming(&service, &arguments.load_balancer);
    let mut previews = sight.previews(&session, &cloud, std::slice::from_ref(&naming)).await?;
    let Some(preview) = previews.pop() else {
        return Err(Ending::not_looked("nobody answered what would be done"));
    };
    let finding = preview.finding;
    let others = users(&sight, &service, &arguments.load_balancer);
    let objections = objections(
        preview.picture.as_ref(),
        finding.verdict,
        session.cluster_uid.as_deref(),
        &finding.message,
    );
    let mut adopted = Adopted {
        service: service.key().to_string(),
        load_balancer: arguments.load_balancer.clone(),
        objections,
        verdict: finding.verdict,
        message: finding.message,
        planned: finding.planned,
        there: preview.picture,
        written: false,
    };
    if !others.is_empty() {
        adopted.message.push_str(&format!("; it is used by {} too, and shared", others.join(", ")));
    }
    if arguments.yes && adopted.objections.is_empty() {
        let annotation = [(LOAD_BALANCER_ID.key, Some(arguments.load_balancer.clone()))];
        session.cluster.annotate_service(&service, &annotation).await?;
        adopted.written = true;
    }
    Ok(adopted)
}

/// The Service as if it named the load balancer.
fn naming(service: &ServiceView, load_balancer: &str) -> Arc<ServiceView> {
    let mut naming = service.clone();
    naming.annotations.insert(LOAD_BALANCER_ID.key.to_owned(), load_balancer.to_owned());
    Arc::new(naming)
}

/// Other Services that name it.
fn users(sight: &Sight, service: &ServiceView, load_balancer: &str) -> Vec<String> {
    let names_it = |other: &&Arc<ServiceView>| {
        other.uid != service.uid
            && purpose(other, false).is_some()
            && other.annotations.get(LOAD_BALANCER_ID.key) == Some(load_balancer)
    };
    sight.services.iter().filter(names_it).map(|other| other.key().to_string()).collect()
}

/// What speaks against it. Pure.
fn objections(
    there: Option<&BalancerPicture>,
    verdict: Verdict,
    cluster: Option<&str>,
    message: &str,
) -> Vec<String> {
    let Some(there) = there else {
        return vec![format!("there is no such load balancer in the project: {message}")];
    };
    let mut objections = Vec::new();
    let clusters = &there.owner.clusters;
    match cluster {
        None if !clusters.is_empty() => {
            objections.push(
                "the UID of this cluster is not known, and the load balancer bears that of a cluster"
                    .to_owned(),
            );
        }
        Some(ours) if !clusters.is_empty() && !clusters.iter().any(|uid| uid == ours) => {
            objections.push(format!("it is another cluster's, by its tag: {}", clusters.join(", ")));
        }
        _ => {}
    }
    match verdict {
        Verdict::Refused => objections.push(format!("the manager would refuse it: {message}")),
        Verdict::Blocked => {
            objections.push(format!("the Service would not get what it asks for: {message}"));
        }
        _ => {}
    }
    objections
}

impl Report for Adopted {
    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(picture) = &self.there {
            text.push_str(&draw(picture));
        }
        if !self.objections.is_empty() {
            text.extend(self.objections.iter().map(|why| line_of(format!("Not done: {why}"))));
            return text;
        }
        text.push_str(&format!(
            "\n{}",
            line_of(format!("What the manager does then: {} - {}", word(self.verdict), self.message))
        ));
        self.planned.iter().for_each(|planned| text.push_str(&line_of(plan::step(planned))));
        let (service, id) = (&self.service, &self.load_balancer);
        text.push_str(&match self.written {
            true => line_of(format!("Service {service} names load balancer {id} now.")),
            false => {
                line_of(format!("Nothing was written; --yes lets Service {service} name load balancer {id}."))
            }
        });
        text
    }

    fn code(&self) -> u8 {
        match (self.objections.is_empty(), self.verdict) {
            (true, Verdict::Unknown) => NOT_LOOKED,
            (true, _) => FINE,
            (false, _) => FOUND,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn picture(clusters: &[&str]) -> BalancerPicture {
        serde_json::from_value(json!({
            "id": "lb", "name": "n", "status": {}, "addresses": [], "publicAddresses": [], "detail": "read", "frontends": [],
            "owner": {"own": false, "clusters": clusters},
        }))
        .unwrap()
    }

    #[test]
    fn only_what_is_there_and_is_not_another_clusters_and_is_not_refused_is_adopted() {
        let against =
            |there: Option<&BalancerPicture>, verdict, cluster| objections(there, verdict, cluster, "why");
        assert!(against(Some(&picture(&[])), Verdict::Changes, Some("c1")).is_empty());
        assert!(against(Some(&picture(&["c1"])), Verdict::Changes, Some("c1")).is_empty());
        assert!(
            against(Some(&picture(&["c2"])), Verdict::Changes, Some("c1"))[0].contains("another cluster's")
        );
        assert!(
            against(Some(&picture(&["c2", "c1"])), Verdict::Changes, Some("c1")).is_empty(),
            "shared already"
        );
        assert_eq!(against(Some(&picture(&["c1"])), Verdict::Changes, None).len(), 1);
        assert!(against(None, Verdict::Creates, Some("c1"))[0].contains("no such load balancer"));
        assert!(against(Some(&picture(&[])), Verdict::Refused, Some("c1"))[0].contains("would refuse"));
    }
}
