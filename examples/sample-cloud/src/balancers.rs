//! Step 2: the load balancers of the sample cloud: each Service gets one address of a pool.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_cloud::{
    CloudError, EnsureLoadBalancer, EnsureOutcome, ErrorClass, Evidence, Fence, Ingress, LoadBalancerRequest,
    LoadBalancerStatus, Proof, async_trait,
};

/// Addresses, and who has which: by the UID of the Service.
#[derive(Debug)]
pub(crate) struct AddressPool {
    addresses: Vec<IpAddr>,
    given: Mutex<BTreeMap<String, IpAddr>>,
}

impl AddressPool {
    pub(crate) fn new(addresses: Vec<IpAddr>) -> Self {
        Self { addresses, given: Mutex::default() }
    }

    fn given(&self) -> MutexGuard<'_, BTreeMap<String, IpAddr>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status(ip: IpAddr) -> LoadBalancerStatus {
    LoadBalancerStatus { ingress: vec![Ingress { ip: Some(ip), ..Ingress::default() }] }
}

#[async_trait]
impl EnsureLoadBalancer for AddressPool {
    async fn get(&self, request: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus> {
        match self.given().get(request.service.uid.as_str()) {
            Some(ip) => Evidence::Present(status(*ip)),
            None => {
                Evidence::Absent(Proof::new(format!("{} has no address of the pool", request.service.key())))
            }
        }
    }

    async fn ensure(
        &self,
        request: &LoadBalancerRequest,
        fence: &dyn Fence,
    ) -> Result<EnsureOutcome, CloudError> {
        fence.check()?;
        let mut given = self.given();
        let free = self.addresses.iter().find(|ip| !given.values().any(|taken| taken == *ip));
        let ip = given.get(request.service.uid.as_str()).or(free).copied().ok_or_else(|| {
            CloudError::new(
                ErrorClass::Forbidden,
                "all addresses of the pool are taken; add some to balancer_addresses",
            )
        })?;
        given.insert(request.service.uid.to_string(), ip);
        Ok(EnsureOutcome::Ready(status(ip)))
    }

    async fn update(&self, _request: &LoadBalancerRequest, _fence: &dyn Fence) -> Result<(), CloudError> {
        Ok(()) // An address of this cloud always leads to all nodes.
    }

    async fn delete(&self, request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        self.given().remove(request.service.uid.as_str());
        Ok(())
    }
}
