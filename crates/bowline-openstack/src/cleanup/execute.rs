//! Removes one thing: reads once more that it is what was planned for, asks for its deletion, and waits until it is gone.
//!
//! Deletions can be repeated, so a lost answer costs another question. Makes no choice: what is not as it was seen stays.

use std::future::Future;
use std::time::Duration;

use bowline_cloud::{CloudError, ErrorClass as Class};
use openstack_client::load_balancer::{LoadBalancer, ProvisioningStatus};
use openstack_client::network::PortQuery;
use openstack_client::{Client, Error, ErrorClass, LoadBalancerId, PortId, SecurityGroupId};
use tokio::time::{Instant, sleep};

use super::plan::{Removal, Seen};
use crate::error::cloud_error;
use crate::loadbalancer::{PortTurns, remove_group};

/// The pause before something is tried again, or looked at again.
const PAUSE: Duration = Duration::from_secs(5);

/// How long one thing may take to go: an amphora is given back within minutes.
const PATIENCE: Duration = Duration::from_secs(900);

/// What became of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// It is gone.
    Removed,
    /// It is not as it was seen, and stays.
    LeftAlone(String),
}

/// Removes a thing.
///
/// # Errors
///
/// [`CloudError`] if it is not gone after a quarter of an hour, or never will be by our asking.
pub async fn perform(client: &Client, removal: &Removal) -> Result<Done, CloudError> {
    let deadline = Instant::now() + PATIENCE;
    let done = match &removal.seen {
        Seen::FloatingIp { id, port } => {
            let there = persist(deadline, || async { found(client.network().floating_ip(id).await) }).await;
            match there.map_err(cloud_error)? {
                None => return Ok(Done::Removed),
                Some(now) if now.port_id.as_ref() != Some(port) => {
                    return Ok(Done::LeftAlone("it leads elsewhere by now".to_owned()));
                }
                Some(_) => {
                    persist(deadline, || async { gone(client.network().delete_floating_ip(id).await) }).await
                }
            }
        }
        Seen::Group { id, name } => return group(client, id, name, deadline).await,
        Seen::Balancer { id, tags, port } => {
            return balancer(client, id, tags, port.as_ref(), deadline).await;
        }
    };
    done.map_err(cloud_error)?;
    Ok(Done::Removed)
}

async fn group(
    client: &Client,
    id: &SecurityGroupId,
    name: &str,
    deadline: Instant,
) -> Result<Done, CloudError> {
    let neutron = client.network();
    let there = persist(deadline, || async { found(neutron.security_group(id).await) }).await;
    match there.map_err(cloud_error)? {
        None => return Ok(Done::Removed),
        Some(now) if now.name != name => return Ok(Done::LeftAlone("it has another name by now".to_owned())),
        Some(_) => {}
    }
    // Neutron keeps a group that a port has. The machines may still be there.
    let query = PortQuery { security_group: Some(id.clone()), ..PortQuery::default() };
    let ports =
        persist(deadline, || async { neutron.ports(&query).all().await }).await.map_err(cloud_error)?;
    let turns = PortTurns::default();
    for port in ports {
        while let Err(error) = remove_group(&neutron, &turns, &port.id, id).await {
            let pause = error.asked_to_wait().unwrap_or(PAUSE);
            let passes = matches!(error.class(), Class::Conflict | Class::Throttled | Class::Transient);
            if !passes || Instant::now() + pause >= deadline {
                return Err(error);
            }
            sleep(pause).await;
        }
    }
    let deleted = persist(deadline, || async { gone(neutron.delete_security_group(id).await) }).await;
    deleted.map_err(cloud_error)?;
    Ok(Done::Removed)
}

async fn balancer(
    client: &Client,
    id: &LoadBalancerId,
    tags: &[String],
    port: Option<&PortId>,
    deadline: Instant,
) -> Result<Done, CloudError> {
    let octavia = client.load_balancer();
    loop {
        let now = persist(deadline, || async { found(octavia.load_balancer(id).await) }).await;
        let Some(now) = now.map_err(cloud_error)?.filter(is_there) else { break };
        if now.tags != tags {
            return Ok(Done::LeftAlone("its tags are others by now".to_owned()));
        }
        match now.provisioning_status {
            ProvisioningStatus::Active | ProvisioningStatus::Error => {
                persist(deadline, || async { gone(octavia.delete_load_balancer(id, true).await) })
                    .await
                    .map_err(cloud_error)?;
            }
            _ if Instant::now() >= deadline => {
                let status = &now.provisioning_status;
                let why = format!("load balancer {id} is still {status} after {PATIENCE:?}; try again later");
                return Err(CloudError::transient(why));
            }
            _ => {}
        }
        sleep(PAUSE).await;
    }
    if let Some(port) = port {
        stranded(client, id, port, deadline).await.map_err(cloud_error)?;
    }
    Ok(Done::Removed)
}

fn is_there(balancer: &LoadBalancer) -> bool {
    balancer.provisioning_status != ProvisioningStatus::Deleted
}

/// Octavia takes the port of a load balancer with it, but not always. One that somebody else made has another name.
async fn stranded(
    client: &Client,
    balancer: &LoadBalancerId,
    id: &PortId,
    deadline: Instant,
) -> Result<(), Error> {
    let neutron = client.network();
    let Some(port) = persist(deadline, || async { found(neutron.port(id).await) }).await? else {
        return Ok(());
    };
    if port.name != format!("octavia-lb-{balancer}") {
        return Ok(());
    }
    persist(deadline, || async { gone(neutron.delete_port(id).await) }).await
}

fn gone(answer: Result<(), Error>) -> Result<(), Error> {
    found(answer).map(|_answer| ())
}

fn found<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(thing) => Ok(Some(thing)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Asks again while the cloud is busy, slow or asks for patience, until the deadline.
async fn persist<T, F: Future<Output = Result<T, Error>>>(
    deadline: Instant,
    ask: impl Fn() -> F,
) -> Result<T, Error> {
    loop {
        let error = match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        use ErrorClass::{Busy, Conflict, Throttled, Transient};
        let pause = error.retry_after().unwrap_or(PAUSE);
        let passes = matches!(error.class(), Busy | Conflict | Throttled | Transient);
        if !passes || Instant::now() + pause >= deadline {
            return Err(error);
        }
        sleep(pause).await;
    }
}
