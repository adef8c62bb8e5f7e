//! Performs one step: one call, with the fence asked right before it is sent, and what it answers remembered. Chooses nothing.
//!
//! Of one load balancer only one step is on its way at a time, and only one that was planned for what it is now.

mod advice;
mod network;
mod octavia;
pub(super) mod port;

use std::net::IpAddr;
use std::time::Duration;

use bowline_cloud::{CloudError, ErrorClass, Fence, Urgency, namespace_in_turn};
use openstack_client::load_balancer::{LoadBalancerCreate, MadeLoadBalancer};
use openstack_client::{Client, Error, ErrorClass as ClientClass, Outcome, PortId, Priority};
use tokio::time::Instant;

use self::octavia::change;
pub(super) use self::port::PortTurns;
use super::balancers::Balancers;
use super::memory::Doubtful;
use super::step::{Action, CloudStep, Seen};
use super::wanted::NewBalancer;
use crate::error::{class_of, cloud_error};
use crate::fence;

impl Balancers {
    /// Performs a step.
    pub(super) async fn perform(&self, step: &CloudStep, fence: &dyn Fence) -> Result<(), CloudError> {
        let _place = match &step.action {
            Action::CreateBalancer(_) => Some(self.making.acquire(namespace_in_turn()).await),
            _ => None,
        };
        fence.check()?;
        let perform = |client: Client| async move {
            match (&step.action, &step.on) {
                (Action::CreateBalancer(new), _) => self.create(&client, new).await,
                (action, Some(on)) => self.perform_on(&client, on, action).await,
                (action, None) => match &step.while_as {
                    Some(seen) => self.perform_while(&client, seen, action).await,
                    None => self.perform_in_network(&client, action).await,
                },
            }
        };
        let priority = match step.urgency {
            Urgency::User => Priority::User,
            Urgency::Background => Priority::Background,
        };
        fence::lend(&self.client.with_priority(priority), fence, perform).await
    }

    async fn create(&self, client: &Client, new: &NewBalancer) -> Result<(), CloudError> {
        let frame = new.whole();
        if let Some(left) = self.memory.may_be_ordered(&frame.name, Instant::now()) {
            return Err(begun_by_another(&frame.name, left));
        }
        if let Some(port) = &frame.vip_port_id {
            let reserved = self.memory.reserve_port(port, &frame.name, Instant::now());
            reserved.map_err(|other| port_is_reserved(port, &other))?;
        }
        let Some(earlier) = new.earlier_address else {
            let result = client.load_balancer().create_whole_load_balancer(&frame).await;
            return self.created(&frame, result);
        };
        let request = LoadBalancerCreate { vip_address: Some(earlier), ..frame.clone() };
        match client.load_balancer().create_whole_load_balancer(&request).await {
            // Once, and with any address then: there is no loop.
            Err(error) if is_about_address(&error, earlier) => {
                self.memory.loses_address(&frame.name, earlier, error.to_string());
                let result = client.load_balancer().create_whole_load_balancer(&frame).await;
                self.created(&frame, result)
            }
            result => self.created(&frame, result),
        }
    }

    /// Takes down what became of a creation. The address of an earlier load balancer does not belong to what is wanted.
    fn created(
        &self,
        new: &LoadBalancerCreate,
        result: Result<MadeLoadBalancer, Error>,
    ) -> Result<(), CloudError> {
        match result {
            Ok(made) => {
                self.memory.made(new, made, Instant::now());
                Ok(())
            }
            Err(error) => {
                match (doubt_of(&error), &new.vip_port_id) {
                    (Some(doubt), _) => self.memory.may_be_made(new.name.clone(), doubt, Instant::now()),
                    (None, Some(port)) => self.memory.release_port(port),
                    (None, None) => {}
                }
                Err(advised(advice::on_balancer(new, &error), error))
            }
        }
    }

    /// Performs a step of Neutron while a load balancer is as it was seen: nobody changes it before this is done.
    async fn perform_while(&self, client: &Client, seen: &Seen, action: &Action) -> Result<(), CloudError> {
        let turn = self.memory.turn(&seen.id);
        let _held = turn.lock().await;
        if !self.memory.is_at(&seen.id, seen.version) {
            return Err(changed_meanwhile(seen));
        }
        self.perform_in_network(client, action).await
    }

    async fn perform_on(&self, client: &Client, on: &Seen, action: &Action) -> Result<(), CloudError> {
        let turn = self.memory.turn(&on.id);
        let _held = turn.lock().await;
        if !self.memory.begin(&on.id, on.version) {
            return Err(changed_meanwhile(on));
        }
        match change(client, &on.id, action).await {
            Ok(answer) => {
                self.memory.accepted(&on.id, action, &answer, Instant::now());
                Ok(())
            }
            Err(error) => {
                if error.outcome() != Outcome::NotSent {
                    self.memory.failed(&on.id);
                }
                Err(refused(error))
            }
        }
    }
}

/// Somebody began before this process did, and what he ordered may not be shown yet: one look is not enough.
fn begun_by_another(name: &str, left: Duration) -> CloudError {
    let why = format!(
        "a process before this one began with load balancer {name}, and Octavia shows none of that name; if it still shows none in {} s, \
         one is made",
        left.as_secs().max(1)
    );
    CloudError::new(ErrorClass::Conflict, why).retry_after(left)
}

/// Another Service that names the same port was faster. The next observation shows its load balancer.
fn port_is_reserved(port: &PortId, other: &str) -> CloudError {
    let why = format!("load balancer {other} is being created at port {port}; the port is observed again");
    CloudError::new(ErrorClass::Conflict, why)
}

/// A step that was planned for something else.
fn changed_meanwhile(on: &Seen) -> CloudError {
    let why = format!("load balancer {} was changed meanwhile; it is looked at again", on.id);
    CloudError::new(ErrorClass::Conflict, why)
}

/// How long what was asked for may still come although the call failed. Not at all if Octavia itself says that it failed: it has given
/// up then, and takes back what it began.
fn doubt_of(error: &Error) -> Option<Doubtful> {
    if !is_doubtful(error) {
        return None;
    }
    Some(if error.status() == Some(503) { Doubtful::Unserved } else { Doubtful::Unanswered })
}

/// Whether what was asked for may have been made although the call failed.
fn is_doubtful(error: &Error) -> bool {
    let given_up = error.status() == Some(500) && error.fault().is_some();
    error.outcome() == Outcome::Unknown && !given_up
}

/// Whether Octavia made nothing, and perhaps because of the address. A provider often does not say why it failed.
fn is_about_address(error: &Error, address: IpAddr) -> bool {
    let text = error.to_string();
    let names_it = text.contains(&address.to_string()) || text.contains(advice::FAILED);
    let refused = matches!(error.class(), ClientClass::Invalid | ClientClass::Conflict);
    !is_doubtful(error) && (refused || names_it)
}

/// A failure, with what to do where a person can do something.
pub(super) fn refused(error: Error) -> CloudError {
    match error.class() {
        ClientClass::Quota => {
            let text = format!(
                "a quota of the project, or a range of addresses, is used up: {error}. Ask for more, or remove what is not needed"
            );
            CloudError::new(ErrorClass::Forbidden, text).caused_by(error)
        }
        _ => cloud_error(error),
    }
}

/// A failure, with what a person can do about it if that is known.
pub(super) fn advised(advice: Option<String>, error: Error) -> CloudError {
    let (Some(advice), false) = (advice, error.class() == ClientClass::Quota) else { return refused(error) };
    // What a request needs and the cloud does not have is a mistake in the request: nothing of ours is gone.
    let class = if error.status() == Some(404) { ErrorClass::Invalid } else { class_of(error.class()) };
    let text = format!("{error}. {advice}");
    let mapped = match error.retry_after() {
        Some(after) => CloudError::new(class, text).retry_after(after),
        None => CloudError::new(class, text),
    };
    mapped.caused_by(error)
}

/// Gone is gone, whoever did it.
pub(super) fn deleted(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}
