//! Whether this cloud has routes for us: found out once. Neither a call that failed nor an answer without the extensions is taken for
//! a "no" for ever: who configures a router wants routes, and is told what is missing (safety rail SR-11).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_cloud::{Capability, CloudError, ErrorClass, Routes};
use openstack_client::{Client, RouterId};

use super::OpenStackRoutes;
use crate::config;
use crate::error::cloud_error;

/// The waits between questions while nobody answers.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What Neutron can do with routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Adds and removes single routes (`extraroute-atomic`). Otherwise the whole list is replaced.
    pub atomic: bool,
    /// Ports send from their own addresses only, unless told otherwise (`allowed-address-pairs`).
    pub pairs: bool,
}

impl Offer {
    /// What a cloud with these extensions offers; nothing if its routers have no extra routes.
    pub fn of<'a>(aliases: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let (mut classic, mut offer) = (false, Self { atomic: false, pairs: false });
        for alias in aliases {
            match alias {
                "extraroute" => classic = true,
                "extraroute-atomic" => offer.atomic = true,
                "allowed-address-pairs" => offer.pairs = true,
                _ => {}
            }
        }
        (classic || offer.atomic).then_some(offer)
    }
}

/// The way to the routes of the configured router.
#[derive(Debug)]
pub struct RouteAccess {
    client: Client,
    router_id: String,
    found: OnceLock<Arc<OpenStackRoutes>>,
    /// Whether Neutron said last that it has no extra routes.
    lacking: AtomicBool,
}

const LACKING: &str = "Neutron has neither of the extensions extraroute and extraroute-atomic; enable one, or remove [Route] router-id";

impl RouteAccess {
    /// The way to the router of `[Route] router-id`. Nothing is asked yet.
    #[must_use]
    pub fn new(client: Client, config: &config::Route) -> Self {
        Self {
            client,
            router_id: config.router_id.clone(),
            found: OnceLock::new(),
            lacking: AtomicBool::new(false),
        }
    }

    /// What is known so far. Cheap: asks nobody.
    #[must_use]
    pub fn capability(&self) -> Capability<Arc<dyn Routes>> {
        if self.router_id.is_empty() {
            return Capability::Unsupported;
        }
        if let Err(why) = self.router() {
            return Capability::Unavailable(why.to_string());
        }
        match self.found.get() {
            None if self.lacking.load(Ordering::Relaxed) => Capability::Unavailable(LACKING.to_owned()),
            None => {
                Capability::Unavailable("Neutron has not said yet whether it has extra routes".to_owned())
            }
            Some(routes) => Capability::Supported(Arc::clone(routes) as Arc<dyn Routes>),
        }
    }

    /// Asks Neutron what it can do, unless that is known or there is no router to ask for.
    ///
    /// # Errors
    ///
    /// [`CloudError`] when it does not answer, or has no extra routes; nothing is concluded from that for later.
    pub async fn find_out(&self) -> Result<(), CloudError> {
        if self.router_id.is_empty() || self.found.get().is_some() {
            return Ok(());
        }
        let router = self.router()?;
        let extensions = self.client.network().extensions().await.map_err(cloud_error)?;
        let offer = Offer::of(extensions.iter().map(|extension| extension.alias.as_str()));
        self.lacking.store(offer.is_none(), Ordering::Relaxed);
        let offer = offer.ok_or_else(|| CloudError::new(ErrorClass::Invalid, LACKING))?;
        tracing::info!(?offer, %router, "found out how routes are changed");
        self.found.get_or_init(|| Arc::new(OpenStackRoutes::new(self.client.clone(), router, offer)));
        Ok(())
    }

    /// Asks until Neutron has answered, with growing waits.
    pub async fn until_found_out(&self) {
        let mut wait = FIRST_WAIT;
        while let Err(error) = self.find_out().await {
            let pause = error.asked_to_wait().unwrap_or(wait);
            tracing::warn!(%error, ?pause, "Neutron does not say whether it has extra routes");
            tokio::time::sleep(pause).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    fn router(&self) -> Result<RouterId, CloudError> {
        RouterId::new(self.router_id.as_str()).map_err(|error| {
            CloudError::invalid(format!(
                "[Route] router-id: {error}; give the id of the router, not its name"
            ))
        })
    }
}
