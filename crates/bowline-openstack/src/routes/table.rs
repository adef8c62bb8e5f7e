//! The table of routes of a router: read, and changed by many routes at once. Neutron checks a table as a whole, so one route
//! that it does not accept spoils all that come with it; such a one is found and left out.

use bowline_cloud::CloudError;
use openstack_client::network::Route as RouterRoute;
use openstack_client::{Client, Error, ErrorClass, RouterId};

use super::batch::{Batch, Task, Verb, changed};
use super::shared;
use crate::error::cloud_error;

/// A router's routes.
#[derive(Debug)]
pub(super) struct Table {
    router: RouterId,
    atomic: bool,
}

/// What was read.
pub(super) struct Seen {
    pub(super) routes: Vec<RouterRoute>,
    revision: Option<u64>,
}

impl Table {
    pub(super) fn new(router: RouterId, atomic: bool) -> Self {
        Self { router, atomic }
    }

    /// The table as it is now.
    pub(super) async fn read(&self, client: &Client) -> Result<Seen, CloudError> {
        let router = client.network().router(&self.router).await.map_err(cloud_error)?;
        let untold =
            || CloudError::transient(format!("Neutron does not tell the routes of router {}", self.router));
        Ok(Seen { routes: router.routes.ok_or_else(untold)?, revision: router.revision_number })
    }

    /// Performs what is left of the batch.
    pub(super) async fn change(&self, client: &Client, batch: &mut Batch) {
        if batch.done().next().is_none() || (!self.atomic && self.put_all(client, batch).await) {
            return;
        }
        self.remove_all(client, batch).await;
        self.add_all(client, batch).await;
    }

    /// Everything in one call; false if it was refused and may go through in parts.
    async fn put_all(&self, client: &Client, batch: &mut Batch) -> bool {
        let (remove, add) = (batch.routes(Verb::Remove), batch.routes(Verb::Add));
        match self.put(client, &remove, &add).await {
            Ok(()) => true,
            // With its parts it is also found out which of them it was.
            Err(failure) if failure.may_be_one() && !add.is_empty() => false,
            Err(failure) => {
                batch.fail_all(|| failure.to_cloud());
                true
            }
        }
    }

    async fn remove_all(&self, client: &Client, batch: &mut Batch) {
        let remove = batch.routes(Verb::Remove);
        if remove.is_empty() {
            return;
        }
        let Err(failure) = self.remove(client, &remove).await else { return };
        // A route is not doubled by its successor: that one waits as well.
        let destinations: Vec<_> =
            batch.done().filter(|task| task.verb == Verb::Remove).map(|task| task.destination).collect();
        batch.fail(|task| destinations.contains(&task.destination), || failure.to_cloud());
    }

    /// All at once, or, if that is refused, in ever smaller parts.
    async fn add_all(&self, client: &Client, batch: &mut Batch) {
        let mut parts = vec![batch.routes(Verb::Add)];
        while let Some(mut part) = parts.pop().filter(|part| !part.is_empty()) {
            let Err(failure) = self.add(client, &part).await else { continue };
            if part.len() > 1 && failure.may_be_one() {
                let rest = part.split_off(part.len() / 2);
                parts.extend([rest, part]);
                continue;
            }
            let failed = |task: &Task| task.verb == Verb::Add && part.contains(&task.route);
            batch.fail(failed, || match part.as_slice() {
                [route] if failure.may_be_one() => failure.about(route),
                _ => failure.to_cloud(),
            });
        }
    }

    async fn remove(&self, client: &Client, routes: &[RouterRoute]) -> Result<(), Failure> {
        if !self.atomic {
            return self.put(client, routes, &[]).await;
        }
        client.network().remove_routes(&self.router, routes).await.map(drop).map_err(Failure::Call)
    }

    async fn add(&self, client: &Client, routes: &[RouterRoute]) -> Result<(), Failure> {
        if !self.atomic {
            return self.put(client, &[], routes).await;
        }
        client.network().add_routes(&self.router, routes).await.map(drop).map_err(Failure::Call)
    }

    /// Replaces the table, unless somebody else has changed it since it was read; then once more.
    async fn put(&self, client: &Client, remove: &[RouterRoute], add: &[RouterRoute]) -> Result<(), Failure> {
        match self.put_once(client, remove, add).await {
            Err(Failure::Call(error)) if error.status() == Some(412) => {
                self.put_once(client, remove, add).await
            }
            answer => answer,
        }
    }

    async fn put_once(
        &self,
        client: &Client,
        remove: &[RouterRoute],
        add: &[RouterRoute],
    ) -> Result<(), Failure> {
        let seen = self.read(client).await.map_err(Failure::Read)?;
        let wanted = changed(&seen.routes, remove, add);
        if wanted == seen.routes {
            return Ok(());
        }
        let put = client.network().replace_routes(&self.router, &wanted, seen.revision).await;
        put.map(drop).map_err(Failure::Call)
    }
}

/// Why the table is not changed.
enum Failure {
    /// It could not be read.
    Read(CloudError),
    Call(Error),
}

impl Failure {
    /// Whether it may be about one of the routes, or about their number.
    fn may_be_one(&self) -> bool {
        matches!(self, Self::Call(error) if matches!(error.class(), ErrorClass::Invalid | ErrorClass::Quota))
    }

    /// For the one route that it is about. Neutron repeats the whole table before it says what is wrong with it.
    fn about(&self, route: &RouterRoute) -> CloudError {
        let RouterRoute { destination, nexthop } = route;
        let refusal = self.to_cloud();
        let message = format!(
            "the router takes no route to {destination} via {nexthop}; the next hop must be in a subnet of the router, \
             and the quota of routes not used up: {refusal}"
        );
        CloudError::new(refusal.class(), message).caused_by(refusal)
    }

    /// For one of the changes that fail by it.
    fn to_cloud(&self) -> CloudError {
        match self {
            Self::Call(error) => shared(error),
            Self::Read(error) => {
                let again = CloudError::new(error.class(), error.to_string());
                match error.asked_to_wait() {
                    Some(wait) => again.retry_after(wait),
                    None => again,
                }
            }
        }
    }
}
