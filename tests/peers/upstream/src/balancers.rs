//! Load balancers: which Services have one is remembered, their points of entry come from the state file.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_cloud::{
    CloudError, EnsureLoadBalancer, EnsureOutcome, Evidence, Fence, LoadBalancerRequest, LoadBalancerStatus,
    Proof, async_trait,
};

use crate::state::{Call, Script, State};

pub(crate) struct Balancers {
    script: Arc<Script>,
    /// By namespace and name of the Service.
    there: Mutex<BTreeSet<String>>,
}

impl Balancers {
    pub(crate) fn new(script: Arc<Script>) -> Self {
        let mut there = BTreeSet::new();
        for call in &script.earlier {
            match call.op.as_str() {
                "ensure" => drop(there.insert(call.target.clone())),
                "delete" => drop(there.remove(&call.target)),
                _of_no_balancer => {}
            }
        }
        Self { script, there: Mutex::new(there) }
    }

    fn there(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(request: &LoadBalancerRequest) -> String {
    request.service.key().to_string()
}

fn status(state: &State, request: &LoadBalancerRequest) -> LoadBalancerStatus {
    LoadBalancerStatus { ingress: state.ingress.get(&name(request)).cloned().unwrap_or_default() }
}

fn call(op: &str, request: &LoadBalancerRequest) -> Call {
    Call { op: op.to_owned(), target: name(request), ..Call::default() }
}

fn hosts(request: &LoadBalancerRequest) -> Vec<String> {
    request.nodes.iter().map(|node| String::from(node.name.as_str())).collect()
}

#[async_trait]
impl EnsureLoadBalancer for Balancers {
    async fn get(&self, request: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus> {
        let state =
            self.script.state().and_then(|state| state.ordered("get", &name(request)).map(|()| state));
        match state {
            Err(error) => error.into(),
            Ok(state) if self.there().contains(&name(request)) => Evidence::Present(status(&state, request)),
            Ok(_) => Evidence::Absent(Proof::new("it was never made, or deleted")),
        }
    }

    async fn ensure(
        &self,
        request: &LoadBalancerRequest,
        fence: &dyn Fence,
    ) -> Result<EnsureOutcome, CloudError> {
        fence.check()?;
        let ports = request.service.ports.iter().map(|port| format!("{}/{}", port.protocol, port.port));
        let made = Call { hosts: hosts(request), ports: ports.collect(), ..call("ensure", request) };
        let state = self.script.call(made, &name(request))?;
        self.there().insert(name(request));
        Ok(EnsureOutcome::Ready(status(&state, request)))
    }

    async fn update(&self, request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        let made = Call { hosts: hosts(request), ..call("update", request) };
        self.script.call(made, &name(request)).map(drop)
    }

    async fn delete(&self, request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        self.script.call(call("delete", request), &name(request))?;
        self.there().remove(&name(request));
        Ok(())
    }
}
