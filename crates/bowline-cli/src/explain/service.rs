//! What is to say of one Service.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::picture::BalancerPicture;
use bowline_cloud::shadow::{PlannedStep, Verdict};
use bowline_cloud::{Purpose, ServiceView};
use bowline_controllers::service::desire::purpose;
use bowline_controllers::shadow::preview::Preview;
use bowline_openstack::config::LoadBalancer;
use bowline_openstack::loadbalancer::annotations::ANNOTATIONS;
use serde::Serialize;

use super::advice::service::{Known, advice};
use super::drawing::draw;
use super::said::{self, Condition, Told};
use super::{code, conclusion, told};
use crate::ending::Ending;
use crate::plan::{self, word};
use crate::session::{CloudAccess, Session};
use crate::sight::{Sight, serving};
use crate::status::leader::{self, Leader};
use crate::terminal::line_of;

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
    /// How many Nodes would get its traffic; none if it is not known.
    pub nodes: Option<usize>,
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
    let mut notes = session.notes.clone();
    let told = told(session, namespace, "Service", name, &mut notes).await;
    let leader = leader::read_if_allowed(session, &mut notes).await;
    let condition = said::condition(&object);
    let texts =
        condition.iter().map(|one| one.message.as_str()).chain(told.iter().map(|one| one.message.as_str()));
    let mut request_ids = said::request_ids(texts);
    let (wanted, seen) = look(session, &view, &mut notes).await?;
    let Seen { verdict, message, planned, there, looked } = seen;
    request_ids.extend(said::request_ids(std::iter::once(message.as_str())));
    let advice = advice(&Known {
        service: &view,
        verdict,
        looked,
        nodes: wanted.nodes,
        picture: there.as_ref(),
        condition: condition.as_ref(),
        leader: &leader,
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

/// What would be done about a Service, and what is there.
struct Seen {
    verdict: Verdict,
    message: String,
    planned: Vec<PlannedStep>,
    there: Option<BalancerPicture>,
    /// Whether somebody asked the cloud.
    looked: bool,
}

impl Seen {
    fn nothing(verdict: Verdict, message: String, looked: bool) -> Self {
        Self { verdict, message, planned: Vec::new(), there: None, looked }
    }
}

/// Asks cluster and cloud. What we have no right to see is a note.
async fn look(
    session: &Session,
    view: &Arc<ServiceView>,
    notes: &mut Vec<String>,
) -> Result<(WantedService, Seen), Ending> {
    let nodes = session.cluster.nodes().await;
    if let Err(ending) = &nodes {
        notes.push(format!("which Nodes get its traffic is not known: {ending}"));
    }
    let wanting = |balancing: &LoadBalancer| {
        wanted(view, nodes.as_ref().ok().map(|nodes| serving(view, balancing, nodes)))
    };
    if purpose(view, false).is_none() {
        return Ok((
            wanting(&LoadBalancer::default()),
            Seen::nothing(Verdict::Settled, not_ours(view), true),
        ));
    }
    let cloud = match CloudAccess::prepare(session).await {
        Ok(cloud) => cloud,
        Err(ending) => {
            // What cloud.conf chooses is not known here; what the Service itself chooses is.
            let seen = Seen::nothing(Verdict::Unknown, ending.why, false);
            return Ok((wanting(&LoadBalancer::default()), seen));
        }
    };
    let wanted = wanting(&cloud.cloud.balancing());
    if let Some(why) = &cloud.problem {
        let why = format!("the cloud ({}): {why}", cloud.from);
        return Ok((wanted, Seen::nothing(Verdict::Unknown, why, true)));
    }
    notes.extend(cloud.notes.clone());
    let without_nodes = nodes.is_err();
    let sight = Sight { nodes: nodes.unwrap_or_default(), services: vec![view.clone()] };
    let mut previews = sight.previews(session, &cloud, &sight.services).await?;
    let seen = match previews.pop() {
        None => Seen::nothing(Verdict::Settled, not_ours(view), true),
        Some(Preview { picture, .. }) if without_nodes => {
            let why = "nobody can plan for it who may not list Nodes".to_owned();
            Seen { there: picture, ..Seen::nothing(Verdict::Unknown, why, false) }
        }
        Some(Preview { finding, picture, .. }) => Seen {
            verdict: finding.verdict,
            message: finding.message,
            planned: finding.planned,
            there: picture,
            looked: true,
        },
    };
    Ok((wanted, seen))
}

fn wanted(view: &ServiceView, nodes: Option<usize>) -> WantedService {
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
        code(plan::code(std::iter::once(self.verdict)), &self.advice)
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\nWanted\n", line_of(format!("Service {}", self.service)));
        let said = match self.wanted.load_balancer {
            Want::Wanted => "a load balancer".to_owned(),
            Want::Removed => "its load balancer shall go".to_owned(),
            Want::NotOurs => self.message.clone(),
        };
        text.push_str(&line_of(format!(
            "  {said}; reached at {}",
            self.wanted.address.as_deref().unwrap_or("no address yet")
        )));
        self.wanted.ports.iter().for_each(|port| text.push_str(&line_of(format!("  {port}"))));
        match self.wanted.nodes {
            Some(nodes) => text.push_str(&line_of(format!("  {nodes} Nodes get its traffic"))),
            None => text.push_str("  how many Nodes get its traffic is not known\n"),
        }
        for (key, value) in &self.wanted.annotations {
            text.push_str(&line_of(format!("  {key}: {value}")));
        }
        if self.wanted.load_balancer == Want::NotOurs {
            return text;
        }
        text.push_str("\nThere\n");
        match &self.there {
            Some(picture) => text.extend(draw(picture).lines().map(|drawn| format!("  {drawn}\n"))),
            None if self.verdict == Verdict::Unknown => text.push_str("  not known\n"),
            None => text.push_str("  no load balancer\n"),
        }
        text.push_str(&format!("\n{}", line_of(format!("Now: {} - {}", word(self.verdict), self.message))));
        self.planned.iter().for_each(|planned| text.push_str(&line_of(plan::step(planned))));
        if let Some(Condition { status, reason, message, since }) = &self.condition {
            let told = line_of(format!("  {reason} ({status}): {message}"));
            text.push_str(&format!("\nThe manager says since {since}\n{told}"));
        }
        let Self { events, request_ids, leader, advice, notes, .. } = self;
        text.push_str(&conclusion(events, request_ids, leader, advice, notes));
        text
    }
}
