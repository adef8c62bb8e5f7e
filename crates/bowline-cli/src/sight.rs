//! What cluster and cloud hold, read together: the Services with what would be done for them, and the Nodes with their servers.
//!
//! The service controller's own requests go to the provider's own `observe` and `plan`. What a manager keeps so as not to
//! read load balancers again is not believed here: a person who asks wants to know what is there now.

use std::sync::Arc;

use bowline_cloud::{AnyLoadBalancers, Doubt, LoadBalancerRequest, NodeView, ServiceView};
use bowline_controllers::service::nodes::select;
use bowline_controllers::shadow::preview::{self, Machine, Preview};
use bowline_openstack::config::LoadBalancer;
use bowline_openstack::loadbalancer::intent::node_selector;
use jiff::Timestamp;

use crate::ending::Ending;
use crate::session::{CloudAccess, Session};

/// So many load balancers are observed at once.
const BATCH: usize = 64;

/// What the cluster holds.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// Its Nodes.
    pub nodes: Vec<Arc<NodeView>>,
    /// All its Services.
    pub services: Vec<Arc<ServiceView>>,
}

impl Sight {
    /// Reads Nodes and Services.
    ///
    /// # Errors
    ///
    /// [`Ending`] if a list cannot be read whole.
    pub async fn read(session: &Session) -> Result<Self, Ending> {
        Ok(Self { nodes: session.cluster.nodes().await?, services: session.cluster.services().await? })
    }

    /// What would be done for each of these Services. Those that are none of the manager's business are left out.
    ///
    /// # Errors
    ///
    /// [`Ending`] if the cloud has no load balancers for us.
    pub async fn previews(
        &self,
        session: &Session,
        cloud: &CloudAccess,
        services: &[Arc<ServiceView>],
    ) -> Result<Vec<Preview>, Ending> {
        let balancers = cloud.load_balancers().map_err(|why| {
            Ending::not_looked(format!("the cloud ({}) has no load balancers for us: {why}", cloud.from))
        })?;
        Ok(look(balancers.as_ref(), &session.cluster_name, &self.nodes, services, session.now).await)
    }
}

/// What would be done for each of these Services.
pub(crate) async fn look(
    balancers: &dyn AnyLoadBalancers,
    cluster: &Arc<str>,
    nodes: &[Arc<NodeView>],
    services: &[Arc<ServiceView>],
    now: Timestamp,
) -> Vec<Preview> {
    let policy = balancers.policy();
    let requests: Vec<LoadBalancerRequest> = services
        .iter()
        .filter_map(|service| preview::request(policy.as_ref(), cluster, service, nodes, now))
        .collect();
    let mut previews = Vec::with_capacity(requests.len());
    for batch in requests.chunks(BATCH) {
        let mut answers = balancers.observe(batch).await.into_iter();
        for request in batch {
            let none = || Err(Doubt::new("the provider gave fewer answers than asked for"));
            let answer = answers.next().unwrap_or_else(none);
            previews.push(preview::preview(request, answer, now));
        }
    }
    previews
}

/// How many of these Nodes get the traffic of a Service: those that may get any, and that the Service chooses.
pub(crate) fn serving(service: &ServiceView, balancing: &LoadBalancer, nodes: &[Arc<NodeView>]) -> usize {
    let chosen = node_selector(service, balancing);
    select(nodes).values().filter(|node| chosen.fits(node)).count()
}

/// The servers of Nodes, sorted by the names of the Nodes; or why nobody can say. Nodes outside of the manager's `--node-filter` are
/// foreign: it neither changes nor deletes them.
pub(crate) async fn machines(
    session: &Session,
    cloud: &CloudAccess,
    nodes: &[Arc<NodeView>],
) -> Result<Vec<(Arc<NodeView>, Machine)>, String> {
    let instances = cloud.instances()?;
    let mut machines = preview::machines(&session.node_filter, instances.as_ref(), nodes.to_vec()).await;
    machines.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    Ok(machines)
}
