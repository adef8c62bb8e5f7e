//! Which of the Services that wait are worth another look: one list tells of all of them.

use std::collections::HashMap;

use bowline_cloud::{CloudError, LoadBalancerRequest, Purpose, ServiceKey};
use openstack_client::LoadBalancerId;
use tokio::time::Instant;

use super::find::Index;
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
        let index = self.seen_of(&ids).await?;
        let as_it_is = |id: &LoadBalancerId| {
            let listed = index.by_id(id)?.clone();
            Some((id.clone(), self.memory.as_it_is(listed, Instant::now())))
        };
        let seen: HashMap<_, _> = ids.iter().filter_map(as_it_is).collect();
        for (request, (_key, id)) in waiting.iter().zip(&wait) {
            self.see_none(request, id.as_ref().filter(|id| !seen.contains_key(*id)), &index, began, now);
        }
        for id in &ids {
            match seen.get(id) {
                Some(balancer) => self.memory.polled(balancer, began, now),
                None => self.memory.not_polled(id, began),
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

    /// Notes that what a Service had is gone, with all of its name. Only a list of all tells of names.
    fn see_none(
        &self,
        request: &LoadBalancerRequest,
        unseen: Option<&LoadBalancerId>,
        index: &Index,
        began: u64,
        now: Instant,
    ) {
        let Some(id) = unseen.filter(|_id| request.purpose == Purpose::Remove) else { return };
        let name = Names::of(&request.cluster, &request.service).load_balancer();
        if index.has_none(&name) {
            self.memory.sees_none(&name, id, began, now);
        }
    }

    /// One of them, or the list of all.
    async fn seen_of(&self, ids: &[LoadBalancerId]) -> Result<Index, CloudError> {
        match ids {
            [] => Ok(Index::of_some(Vec::new())),
            [id] => match self.client.load_balancer().load_balancer(id).await {
                Ok(balancer) => Ok(Index::of_some(vec![balancer])),
                Err(error) if error.is_not_found() => Ok(Index::of_some(Vec::new())),
                Err(error) => Err(cloud_error(error)),
            },
            _ => {
                let project = self.project().await.map_err(failure)?;
                let witnesses = self.memory.witnesses(std::iter::empty());
                let all = self.every_balancer(&project).await.map_err(failure)?;
                Ok(Index::of(&all, &witnesses))
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
