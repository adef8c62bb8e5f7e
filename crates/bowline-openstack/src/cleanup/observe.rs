//! Reads all that may be of a cluster. Each list is whole or an error: from half a list nothing is concluded.

use bowline_cloud::{CloudError, ErrorClass};
use openstack_client::load_balancer::{LoadBalancer, LoadBalancerQuery};
use openstack_client::network::{FloatingIp, FloatingIpQuery, SecurityGroup, SecurityGroupQuery};
use openstack_client::{Client, ProjectId};

use crate::error::cloud_error;

/// Lists are read whole, so pages are large.
const PAGE_SIZE: u32 = 1000;

/// What is in the project.
#[derive(Debug, Clone)]
pub struct Inventory {
    /// The project.
    pub project: ProjectId,
    /// Its load balancers.
    pub balancers: Vec<LoadBalancer>,
    /// Its floating IPs.
    pub floating: Vec<FloatingIp>,
    /// Its security groups.
    pub groups: Vec<SecurityGroup>,
}

/// Reads everything in the project of the credentials.
///
/// # Errors
///
/// [`CloudError`] if a list cannot be read whole, or the credentials are for no project.
pub async fn observe(client: &Client) -> Result<Inventory, CloudError> {
    let identity = client.identity().await.map_err(cloud_error)?;
    let Some(project) = identity.project_id else {
        let why = "the credentials are for no project; give one in cloud.conf (tenant-id)";
        return Err(CloudError::new(ErrorClass::Invalid, why));
    };
    // An administrator would see those of the whole cloud.
    let project_id = Some(project.clone());
    let balancers = LoadBalancerQuery { project_id: project_id.clone(), ..LoadBalancerQuery::default() };
    let floating = FloatingIpQuery { project_id: project_id.clone(), ..FloatingIpQuery::default() };
    let groups = SecurityGroupQuery { project_id, ..SecurityGroupQuery::default() };
    let (octavia, neutron) = (client.load_balancer(), client.network());
    Ok(Inventory {
        project,
        balancers: octavia.load_balancers(&balancers).of(PAGE_SIZE).all().await.map_err(cloud_error)?,
        floating: neutron.floating_ips(&floating).of(PAGE_SIZE).all().await.map_err(cloud_error)?,
        groups: neutron.security_groups(&groups).of(PAGE_SIZE).all().await.map_err(cloud_error)?,
    })
}
