//! Which of the Services that wait are worth another look: one list tells of all of them.

use std::collections::{HashMap, HashSet};

use bowline_cloud::{CloudError, LoadBalancerRequest, ServiceKey};
use openstack_client::LoadBalancerId;
use openstack_client::load_balancer::LoadBalancer;
use tokio::time::Instant;

use crate::error::cloud_error;
use crate::loadbalancer::annotations;
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::names::Names;
use crate::loadbalancer::trouble::Trouble;

impl Balancers {
    /// Those whose load balancer is at rest, or not to be seen, or not known: each of these is looked at properly.
    pub(in crate::loadbalancer) async fn poll_all(
        &self,
        waiting: &[LoadBalancerRequest],
    ) -> Result<Vec<ServiceKey>, CloudError> {
        let wait: Vec<_> =
            waiting.iter().map(|request| (request.service.key(), self.balancer_of(request))).collect();
        let ids: Vec<LoadBalancerId> = wait.iter().filter_map(|(_key, id)| id.clone()).collect();
        let (began, now) = (self.memory.changes(), Instant::now());
        let seen = self.seen_of(&ids).await?;
        for id in &ids {
            if let Some(balancer) = seen.get(id).filter(|one| !one.provisioning_status.is_pending()) {
                self.memory.polled(balancer, began, now);
            }
        }
        let pending =
            |id: &LoadBalancerId| seen.get(id).is_some_and(|one| one.provisioning_status.is_pending());
        let ready = wait.into_iter().filter(|(_key, id)| !id.as_ref().is_some_and(pending));
        Ok(ready.map(|(key, _id)| key).collect())
    }

    /// The load balancer that a Service waits for, as far as that is known.
    fn balancer_of(&self, request: &LoadBalancerRequest) -> Option<LoadBalancerId> {
        let names = Names::of(&request.cluster, &request.service);
        let noted = request.service.annotations.get(annotations::LOAD_BALANCER_ID.key);
        let remembered = self.memory.named(&names.load_balancer()).filter(|_id| !names.is_cut());
        remembered.or_else(|| noted.and_then(|id| id.parse().ok()))
    }

    async fn seen_of(
        &self,
        ids: &[LoadBalancerId],
    ) -> Result<HashMap<LoadBalancerId, LoadBalancer>, CloudError> {
        let as_it_is = |balancer: LoadBalancer| {
            let balancer = self.memory.as_it_is(balancer, Instant::now());
            (balancer.id.clone(), balancer)
        };
        match ids {
            [] => Ok(HashMap::new()),
            [id] => match self.client.load_balancer().load_balancer(id).await {
                Ok(balancer) => Ok(HashMap::from([as_it_is(balancer)])),
                Err(error) if error.is_not_found() => Ok(HashMap::new()),
                Err(error) => Err(cloud_error(error)),
            },
            _ => {
                let project = self.project().await.map_err(failure)?;
                let all = self.every_balancer(&project).await.map_err(failure)?;
                let wanted: HashSet<&LoadBalancerId> = ids.iter().collect();
                let waited_for = all.iter().filter(|balancer| wanted.contains(&balancer.id));
                Ok(waited_for.cloned().map(as_it_is).collect())
            }
        }
    }
}

fn failure(trouble: Trouble) -> CloudError {
    match trouble {
        Trouble::Refused(refusal) => CloudError::invalid(refusal.to_string()),
        Trouble::Unknown(doubt) => {
            let error = CloudError::new(doubt.class, doubt.why);
            match doubt.retry_after {
                Some(after) => error.retry_after(after),
                None => error,
            }
        }
    }
}
