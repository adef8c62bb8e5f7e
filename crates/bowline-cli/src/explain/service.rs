//! What is to say of one Service.

use std::collections::BTreeMap;

use bowline_cloud::picture::BalancerPicture;
use bowline_cloud::shadow::{PlannedStep, Verdict};
use bowline_cloud::{Purpose, ServiceView};
use bowline_controllers::service::desire::purpose;
use bowline_controllers::shadow::preview::node_set;
use bowline_openstack::loadbalancer::annotations::ANNOTATIONS;
use serde::Serialize;

use super::advice::{self, Known};
use super::conclusion;
use super::drawing::draw;
use super::said::{self, Condition, Told};
use crate::ending::{Ending, FOUND};
use crate::plan::{self, word};
use crate::session::Session;
use crate::sight::Sight;
use crate::status::leader::{self, Leader};

/// All that is to say of a Service.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceExplained {
    /// `namespace/name`.
    pub service: String,
    /// What it asks for.
    pub wanted: WantedService,
    /// The load balancer that is there.
    pub there: Option<BalancerPicture>,
    /// What the manager would do now, in one word.
    pub verdict: Verdict,
    /// Why, or what it waits for.
    pub message: String,
    /// What the manager would do now.
    pub planned: Vec<PlannedStep>,
    /// What the manager last said on it.
    pub condition: Option<Condition>,
    /// What was told of it.
    pub events: Vec<Told>,
    /// The ids of the cloud's requests that were told of.
    pub request_ids: Vec<String>,
    /// Who works on it.
    pub leader: Leader,
    /// What to do.
    pub advice: Vec<String>,
    /// What a person should know of this answer.
    pub notes: Vec<String>,
}

/// What a Service asks for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WantedService {
    /// Whether it asks this manager for a load balancer, or for its removal.
    pub load_balancer: Want,
    /// Where it is reached, as it shows.
    pub address: Option<String>,
    /// Its ports.
    pub ports: Vec<String>,
    /// Its annotations that mean something here.
    pub annotations: BTreeMap<String, String>,
    /// How many Nodes would get its traffic.
    pub nodes: usize,
}

/// Whether a Service asks for a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Want {
    /// It does.
    Wanted,
    /// It shall go.
    Removed,
    /// It does not, or somebody else makes it.
    NotOurs,
}

/// Looks at a Service.
///
/// # Errors
///
/// [`Ending`] if it could not be looked at.
pub async fn explain(session: &Session, namespace: &str, name: &str) -> Result<ServiceExplained, Ending> {
    let (view, object) = session.cluster.service(namespace, name).await?;
    let events = session.cluster.events(namespace, "Service", name).await?;
    let leader = leader::read(session).await?;
    let condition = said::condition(&object);
    let told = said::told(&events);
    let texts =
        condition.iter().map(|one| one.message.as_str()).chain(told.iter().map(|one| one.message.as_str()));
    let mut request_ids = said::request_ids(texts);
    let mut notes = session.notes.clone();
    let nodes = session.cluster.nodes().await?;
    let wanted = wanted(&view, node_set(&nodes, None, session.now).nodes.len());
    let (verdict, message, planned, there) = match wanted.load_balancer {
        Want::NotOurs => (Verdict::Settled, not_ours(&view), Vec::new(), None),
        Want::Wanted | Want::Removed => {
            let sight = Sight { nodes, services: vec![view.clone()] };
            match session.cloud().await {
                Ok(cloud) => {
                    notes.extend(cloud.notes.clone());
                    let mut previews = sight.previews(session, &cloud, &sight.services).await?;
                    match previews.pop() {
                        Some(preview) => {
                            let finding = preview.finding;
                            (finding.verdict, finding.message, finding.planned, preview.picture)
                        }
                        None => (Verdict::Settled, not_ours(&view), Vec::new(), None),
                    }
                }
                Err(ending) => (Verdict::Unknown, ending.why, Vec::new(), None),
            }
        }
    };
    request_ids.extend(said::request_ids(std::iter::once(message.as_str())));
    let advice = advice::for_service(&Known {
        service: &view,
        verdict,
        nodes: wanted.nodes,
        picture: there.as_ref(),
        condition: condition.as_ref().map(|condition| condition.reason.as_str()),
        nobody_works: leader.problem.as_deref(),
        cluster_paused: leader.paused.as_deref(),
        has_request_ids: !request_ids.is_empty(),
    });
    let advice = if wanted.load_balancer == Want::NotOurs { Vec::new() } else { advice };
    Ok(ServiceExplained {
        service: view.key().to_string(),
        wanted,
        there,
        verdict,
        message,
        planned,
        condition,
        events: told,
        request_ids,
        leader,
        advice,
        notes,
    })
}

fn wanted(view: &ServiceView, nodes: usize) -> WantedService {
    let port = |port: &bowline_cloud::ServicePort| {
        let node_port =
            port.node_port.map_or_else(|| "no node port".to_owned(), |port| format!("node port {port}"));
        format!("{}/{} -> {node_port}", port.protocol.as_str(), port.port)
    };
    let means = |key: &str| {
        key == bowline_cloud::PAUSED || ANNOTATIONS.iter().any(|annotation| annotation.key == key)
    };
    let annotations = view.annotations.iter().filter(|(key, _value)| means(key));
    let ingress = view.status.ingress.iter();
    let addresses: Vec<String> = ingress
        .filter_map(|ingress| match (&ingress.ip, &ingress.hostname) {
            (Some(ip), _) => Some(ip.to_string()),
            (None, Some(name)) => Some(name.to_string()),
            (None, None) => None,
        })
        .collect();
    WantedService {
        load_balancer: match purpose(view, false) {
            Some(Purpose::Ensure) => Want::Wanted,
            Some(Purpose::Remove) => Want::Removed,
            None => Want::NotOurs,
        },
        address: Some(addresses.join(", ")).filter(|text| !text.is_empty()),
        ports: view.ports.iter().map(port).collect(),
        annotations: annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        nodes,
    }
}

fn not_ours(view: &ServiceView) -> String {
    match &view.load_balancer_class {
        Some(class) => {
            format!("its loadBalancerClass is {class}: another controller makes its load balancer")
        }
        None => format!("its type is {}: it wants no load balancer", view.kind.as_str()),
    }
}

impl ServiceExplained {
    pub(super) fn code(&self) -> u8 {
        match self.leader.problem {
            Some(_) if self.wanted.load_balancer != Want::NotOurs => {
                plan::code(std::iter::once(self.verdict)).max(FOUND)
            }
            _ => plan::code(std::iter::once(self.verdict)),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("Service {}\n\nWanted\n", self.service);
        let said = match self.wanted.load_balancer {
            Want::Wanted => "a load balancer".to_owned(),
            Want::Removed => "its load balancer shall go".to_owned(),
            Want::NotOurs => self.message.clone(),
        };
        text.push_str(&format!(
            "  {said}; reached at {}\n",
            self.wanted.address.as_deref().unwrap_or("no address yet")
        ));
        self.wanted.ports.iter().for_each(|port| text.push_str(&format!("  {port}\n")));
        text.push_str(&format!("  {} Nodes get its traffic\n", self.wanted.nodes));
        for (key, value) in &self.wanted.annotations {
            text.push_str(&format!("  {key}: {value}\n"));
        }
        if self.wanted.load_balancer == Want::NotOurs {
            return text;
        }
        text.push_str("\nThere\n");
        match &self.there {
            Some(picture) => text.extend(draw(picture).lines().map(|line| format!("  {line}\n"))),
            None => text.push_str("  no load balancer\n"),
        }
        text.push_str(&format!("\nNow: {} - {}\n", word(self.verdict), self.message));
        self.planned.iter().for_each(|planned| text.push_str(&format!("{}\n", plan::step(planned))));
        if let Some(Condition { status, reason, message, since }) = &self.condition {
            text.push_str(&format!("\nThe manager says since {since}\n  {reason} ({status}): {message}\n"));
        }
        text.push_str(&conclusion(&self.events, &self.request_ids, &self.leader, &self.advice));
        self.notes.iter().for_each(|note| text.push_str(&format!("Note: {note}\n")));
        text
    }
}
