//! Reads what hangs on load balancers: of a few one by one, of many in lists of the whole project.
//!
//! A load balancer names its listeners and pools, a pool its members and its monitor. A tree in which one of these is missing is
//! not whole, and is no tree.

use std::collections::{BTreeMap, HashMap, HashSet};

use bowline_cloud::Doubt;
use futures::future::{try_join, try_join3};
use openstack_client::load_balancer::{
    HealthMonitor, HealthMonitorQuery, Listener, ListenerQuery, LoadBalancer, Pool, PoolQuery,
};
use openstack_client::{HealthMonitorId, ListenerId, LoadBalancerId, MemberId, PoolId};
use tokio::time::Instant;

use super::find::PAGE_SIZE;
use super::{FEW, together};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::{FoundPool, Tree};
use crate::loadbalancer::members::{FoundMembers, Members};
use crate::loadbalancer::trouble::Trouble;

/// Listeners and pools of one load balancer, as they were listed.
#[derive(Default)]
struct Listed {
    listeners: Vec<Listener>,
    pools: Vec<Pool>,
    /// Monitors by id, where all of them were listed.
    monitors: BTreeMap<HealthMonitorId, HealthMonitor>,
}

impl Balancers {
    /// The trees of load balancers, one answer for each, in order.
    pub(super) async fn trees(&self, balancers: &[LoadBalancer]) -> Vec<Result<Tree, Trouble>> {
        let mut listed = if balancers.len() > FEW {
            match self.list_all(balancers).await {
                Ok(listed) => listed,
                Err(trouble) => return balancers.iter().map(|_one| Err(trouble.clone())).collect(),
            }
        } else {
            HashMap::new()
        };
        let tree = |balancer| self.tree(balancer, listed.remove(&balancer.id));
        together(balancers.iter().map(tree).collect()).await
    }

    /// What the lists of the project tell of each load balancer.
    async fn list_all(&self, balancers: &[LoadBalancer]) -> Result<HashMap<LoadBalancerId, Listed>, Trouble> {
        let octavia = self.client.load_balancer();
        let project_id = Some(self.project().await?);
        let listeners = ListenerQuery { project_id: project_id.clone(), ..ListenerQuery::default() };
        let pools = PoolQuery { project_id: project_id.clone(), ..PoolQuery::default() };
        let monitors = HealthMonitorQuery { project_id, ..HealthMonitorQuery::default() };
        let (listeners, pools, monitors) = try_join3(
            octavia.listeners(&listeners).of(PAGE_SIZE).all(),
            octavia.pools(&pools).of(PAGE_SIZE).all(),
            octavia.health_monitors(&monitors).of(PAGE_SIZE).all(),
        )
        .await?;
        let mut all: HashMap<_, _> =
            balancers.iter().map(|balancer| (balancer.id.clone(), Listed::default())).collect();
        let mut monitors: BTreeMap<_, _> =
            monitors.into_iter().map(|monitor| (monitor.id.clone(), monitor)).collect();
        for listener in listeners {
            if let Some(of) = listener.loadbalancers.first().and_then(|id| all.get_mut(id)) {
                of.listeners.push(listener);
            }
        }
        for pool in pools {
            if let Some(of) = pool.loadbalancers.first().and_then(|id| all.get_mut(id)) {
                of.monitors.extend(pool.healthmonitor_id.as_ref().and_then(|id| monitors.remove_entry(id)));
                of.pools.push(pool);
            }
        }
        Ok(all)
    }

    async fn tree(&self, balancer: &LoadBalancer, listed: Option<Listed>) -> Result<Tree, Trouble> {
        let listed = match listed.filter(|listed| listed.fits(balancer)) {
            Some(listed) => listed,
            None => self.list(balancer).await?,
        };
        if !listed.fits(balancer) {
            let why =
                format!("load balancer {} changed while it was read, or was not told whole", balancer.id);
            return Err(Trouble::Unknown(Doubt::new(why)));
        }
        let Listed { listeners, pools, mut monitors } = listed;
        let known = self.memory.members_of(balancer, Instant::now());
        let mut found = Vec::with_capacity(pools.len());
        for pool in pools {
            let monitor = pool.healthmonitor_id.as_ref().and_then(|id| monitors.remove(id));
            found.push(self.pool(pool, monitor, &known));
        }
        let pools = futures::future::try_join_all(found).await?;
        Ok(Tree { listeners, pools })
    }

    async fn list(&self, balancer: &LoadBalancer) -> Result<Listed, Trouble> {
        let octavia = self.client.load_balancer();
        let (listeners, pools) = try_join(
            octavia.listeners(&ListenerQuery::of(balancer.id.clone())).all(),
            octavia.pools(&PoolQuery::of(balancer.id.clone())).all(),
        )
        .await?;
        Ok(Listed { listeners, pools, monitors: BTreeMap::new() })
    }

    async fn pool(
        &self,
        pool: Pool,
        monitor: Option<HealthMonitor>,
        known: &HashMap<String, Members>,
    ) -> Result<FoundPool, Trouble> {
        let octavia = self.client.load_balancer();
        let sent = known.get(&pool.name).filter(|sent| sent.len() == pool.members.len());
        let members = match sent {
            Some(sent) => FoundMembers::Sent(sent.clone()),
            None => {
                let read = octavia.members(&pool.id).of(PAGE_SIZE).all().await?;
                let told: HashSet<&MemberId> = read.iter().map(|member| &member.id).collect();
                if !pool.members.iter().all(|id| told.contains(id)) {
                    let why = format!(
                        "the members of pool {} changed while they were read, or were not told whole",
                        pool.id
                    );
                    return Err(Trouble::Unknown(Doubt::new(why)));
                }
                FoundMembers::Read(read)
            }
        };
        let monitor = match (&pool.healthmonitor_id, monitor) {
            (Some(id), None) => Some(octavia.health_monitor(id).await?),
            (_, monitor) => monitor,
        };
        Ok(FoundPool { pool, members, monitor })
    }
}

impl Listed {
    /// Whether all that a load balancer names is there.
    fn fits(&self, balancer: &LoadBalancer) -> bool {
        let listener = |id: &ListenerId| self.listeners.iter().any(|listener| listener.id == *id);
        let pool = |id: &PoolId| self.pools.iter().any(|pool| pool.id == *id);
        balancer.listeners.iter().all(listener) && balancer.pools.iter().all(pool)
    }
}
