//! The routes: listed at once, changed one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{CloudError, Fence, Route, RouteChange, Routes, async_trait};
use real_kubernetes_tests::framework::protocol::{Call, Reply};

use crate::client::{Client, unexpected};

const SERVICE: &str = "network";

pub(crate) struct CloudRoutes {
    client: Arc<Client>,
}

impl CloudRoutes {
    pub(crate) fn new(client: Arc<Client>) -> Self {
        Self { client }
    }

    /// Names of routes are the cloud's ids.
    fn call(change: &RouteChange) -> Result<Call, CloudError> {
        match change {
            RouteChange::Create { route, .. } => {
                let node = route.target_node.clone().unwrap_or_default();
                Ok(Call::CreateRoute { node, destination: route.destination })
            }
            RouteChange::Delete(route) => {
                let route = route.name.parse().map_err(|error| {
                    CloudError::invalid(format!(
                        "a route's name must be its id, not {:?}: {error}",
                        route.name
                    ))
                })?;
                Ok(Call::DeleteRoute { route })
            }
        }
    }
}

#[async_trait]
impl Routes for CloudRoutes {
    async fn list(&self, _cluster: &str) -> Result<Vec<Route>, CloudError> {
        match self.client.read(SERVICE, Call::Routes).await? {
            Reply::Routes(routes) => Ok(routes
                .into_iter()
                .map(|route| Route::new(route.id.to_string(), Some(route.node), route.destination))
                .collect()),
            other => Err(unexpected(&other)),
        }
    }

    async fn apply(
        &self,
        _cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        let mut answers = Vec::with_capacity(changes.len());
        let mut failed = BTreeMap::new();
        for change in changes {
            let destination = match change {
                RouteChange::Create { route, .. } | RouteChange::Delete(route) => route.destination,
            };
            // One after the other for a destination: a new route must not stand beside the one that did not go.
            let answer = match (failed.get(&destination), Self::call(change)) {
                (Some(()), _) => {
                    Err(CloudError::transient("the change before it for this destination failed"))
                }
                (None, Err(error)) => Err(error),
                (None, Ok(call)) => self.client.change(SERVICE, call, fence).await,
            };
            if answer.is_err() {
                failed.insert(destination, ());
            }
            answers.push(answer);
        }
        answers
    }
}
