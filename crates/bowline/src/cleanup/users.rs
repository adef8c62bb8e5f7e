//! The Services of a cluster that lives, and what of the cloud they use. Only reads.

use std::path::Path;

use bowline_kube::client::{ClientFactory, load_as_kubectl};
use bowline_kube::objects::Service;
use bowline_openstack::cleanup::User;
use bowline_openstack::loadbalancer::annotations::LOAD_BALANCER_ID;
use kube::Api;
use kube::api::ListParams;

/// One after the other is fast enough.
const RATE: (f64, u32) = (20.0, 30);

/// All Services of the cluster of a kubeconfig and a context of it.
pub(super) async fn of(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Vec<User>, String> {
    let failed =
        |why: &dyn std::fmt::Display| format!("the Services of the cluster that lives cannot be read: {why}");
    let config = load_as_kubectl(kubeconfig, context).map_err(|error| failed(&error))?;
    let (qps, burst) = RATE;
    let factory = ClientFactory::new(config, "bowline", env!("CARGO_PKG_VERSION"), qps, burst);
    let client = factory.client("cleanup").map_err(|error| failed(&error))?;
    let services = Api::<Service>::all(client).list(&ListParams::default()).await;
    Ok(services.map_err(|error| failed(&error))?.into_iter().map(user).collect())
}

fn user(service: Service) -> User {
    let Service { metadata, status, .. } = service;
    let ingress = status.and_then(|status| status.load_balancer).and_then(|balancer| balancer.ingress);
    let addresses = ingress.unwrap_or_default().into_iter().filter_map(|one| one.ip?.parse().ok());
    let annotations = metadata.annotations.unwrap_or_default();
    User {
        service: format!("{}/{}", metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default()),
        uid: metadata.uid.unwrap_or_default(),
        load_balancer: annotations.get(LOAD_BALANCER_ID.key).cloned(),
        addresses: addresses.collect(),
    }
}
