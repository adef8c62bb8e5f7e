//! A table of routes in memory, with what the state file puts there at the start.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_cloud::{CloudError, Fence, Route, RouteChange, Routes, async_trait};
use ipnet::IpNet;

use crate::state::{Call, Script};

pub(crate) struct RouteTable {
    script: Arc<Script>,
    routes: Mutex<Vec<Route>>,
}

impl RouteTable {
    pub(crate) fn seeded(script: Arc<Script>) -> Result<Self, CloudError> {
        let mut routes: Vec<Route> = Vec::new();
        for seed in script.state()?.routes {
            let destination = parse(&seed.cidr)?;
            let mut route =
                Route::new(seed.name, Some(seed.node).filter(|node| !node.is_empty()), destination);
            route.blackhole = seed.blackhole;
            routes.push(route);
        }
        for call in &script.earlier {
            let Some((node, cidr)) = call.target.split_once(' ') else { continue };
            let (node, destination) = (Some(node.to_owned()), parse(cidr)?);
            match call.op.as_str() {
                "create-route" => routes.push(Route::new(&call.target, node, destination)),
                _delete => routes.retain(|kept| kept.target_node != node || kept.destination != destination),
            }
        }
        Ok(Self { script, routes: Mutex::new(routes) })
    }

    fn routes(&self) -> MutexGuard<'_, Vec<Route>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn perform(&self, cluster: &str, change: &RouteChange, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        let call = |op, route: &Route| {
            let node = route.target_node.as_deref().unwrap_or_default();
            Call { op: String::from(op), target: format!("{node} {}", route.destination), ..Call::default() }
        };
        match change {
            RouteChange::Create { hint, route } => {
                self.script
                    .call(call("create-route", route), route.target_node.as_deref().unwrap_or_default())?;
                let name = format!("{cluster}-{hint}-{}", route.destination);
                self.routes().push(Route::new(name, route.target_node.clone(), route.destination));
            }
            RouteChange::Delete(route) => {
                self.script.call(call("delete-route", route), &route.name)?;
                self.routes().retain(|kept| kept.name != route.name);
            }
        }
        Ok(())
    }
}

fn parse(cidr: &str) -> Result<IpNet, CloudError> {
    cidr.parse().map_err(|error| CloudError::invalid(format!("{cidr}: {error}")))
}

#[async_trait]
impl Routes for RouteTable {
    async fn list(&self, _cluster: &str) -> Result<Vec<Route>, CloudError> {
        self.script.state()?.ordered("list-routes", "")?;
        Ok(self.routes().clone())
    }

    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        changes.iter().map(|change| self.perform(cluster, change, fence)).collect()
    }
}
