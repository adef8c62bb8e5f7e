//! The parts that are in use now: made again when the configuration is replaced, without a restart. Who is asked to do
//! something asks here first, every time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_cloud::{CloudContext, CloudError};
use openstack_client::{TokenIdentity, TransportError};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use super::clients::Clients;
use super::offer::{Known, Offer};
use super::parts::{Material, Parts};
use crate::config::{Configuration, Environment, Reloader};
use crate::error::cloud_error;

/// How often the catalog is looked at. It comes with the token, so that a look costs nothing.
const LOOK: Duration = Duration::from_secs(30);

/// How often a new catalog is asked for while a service is missing that the configuration makes use of.
const ASK_FOR_MISSING: Duration = Duration::from_secs(300);

/// What is in use now.
pub(super) struct Current {
    pub(super) reloader: Reloader,
    pub(super) clients: Arc<Clients>,
    environment: Environment,
    context: OnceLock<CloudContext>,
    held: Mutex<Held>,
    offer: Mutex<Known>,
}

struct Held {
    /// The generation of the configuration that was last looked at.
    generation: u64,
    parts: Arc<Parts>,
}

impl Current {
    /// The parts of the reloader's configuration.
    pub(super) fn new(
        reloader: Reloader,
        clients: Arc<Clients>,
        environment: Environment,
    ) -> Result<Self, TransportError> {
        let configuration = reloader.current();
        let client = clients.client(&configuration)?;
        let material = Material {
            configuration: &configuration,
            client,
            project: None,
            environment: &environment,
            context: None,
            lore: None,
        };
        let held = Held { generation: reloader.status().generation, parts: Arc::new(Parts::new(material)) };
        Ok(Self {
            reloader,
            clients,
            environment,
            context: OnceLock::new(),
            held: Mutex::new(held),
            offer: Mutex::new(Known::Not("nobody has asked Keystone yet".to_owned())),
        })
    }

    /// The parts to work with. Not to be kept.
    pub(super) fn parts(&self) -> Arc<Parts> {
        let mut held = self.held();
        let generation = self.reloader.status().generation;
        if held.generation != generation {
            // Also if that fails: it would fail again and again.
            held.generation = generation;
            self.renew(&mut held);
        }
        held.parts.clone()
    }

    /// Works for the framework from now on. Only the first context counts.
    pub(super) fn work_in(&self, context: &CloudContext) {
        self.clients.budget.give(context.budget.clone());
        self.clients.journal.give(context.journal.clone());
        if self.context.set(context.clone()).is_ok() {
            self.renew(&mut self.held());
        }
    }

    fn renew(&self, held: &mut Held) {
        let configuration = self.reloader.current();
        tell_what_waits(&held.parts.configuration, &configuration);
        match self.clients.client(&configuration) {
            Ok(client) => {
                let material = Material {
                    configuration: &configuration,
                    client,
                    project: self.reloader.status().project,
                    environment: &self.environment,
                    context: self.context.get(),
                    lore: held.parts.lore.as_ref(),
                };
                held.parts = Arc::new(Parts::new(material));
            }
            Err(error) => warn!(%error, "no client can be made of the new configuration; the old one stays"),
        }
    }

    /// What the cloud offers, as far as is known.
    pub(super) fn known(&self) -> Known {
        self.offer().clone()
    }

    /// Looks at what the cloud offers, and for whom.
    pub(super) async fn learn(&self) -> Result<Offer, CloudError> {
        let client = self.parts().client.clone();
        match Offer::of(&client).await {
            Ok(offer) => {
                // The token is there, so this asks nobody, and spares the reloader a login of its own.
                if let Ok(TokenIdentity { project_id: Some(project), .. }) = client.identity().await {
                    self.reloader.remember(project);
                }
                let before = std::mem::replace(&mut *self.offer(), Known::Offer(offer));
                if before != Known::Offer(offer) {
                    info!(?offer, "what the cloud offers");
                }
                if offer.network_is_usable()
                    && let Err(error) = self.parts().routes.find_out().await
                {
                    warn!(%error, "Neutron does not say whether it has extra routes; it is asked again");
                }
                Ok(offer)
            }
            Err(error) => {
                let mut known = self.offer();
                // What was once seen counts until something else is.
                if let Known::Not(why) = &mut *known {
                    *why = error.to_string();
                }
                Err(cloud_error(error))
            }
        }
    }

    /// Looks again and again, to the end of work.
    pub(super) async fn keep_looking(&self) {
        let mut changes = self.reloader.subscribe();
        let mut asked = Instant::now();
        loop {
            if let Ok(Err(_)) = timeout(LOOK, changes.changed()).await {
                return; // Whoever keeps it is gone, and so will we be.
            }
            // A failure is kept in mind, and the client says it in the log.
            let enough = self.learn().await.is_ok_and(|offer| offer.is_enough(&self.parts().configuration));
            if !enough && asked.elapsed() >= ASK_FOR_MISSING {
                asked = Instant::now();
                self.renew(&mut self.held());
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }

    fn offer(&self) -> MutexGuard<'_, Known> {
        self.offer.lock()
    }
}

/// Which controllers run is decided when they are started.
fn tell_what_waits(old: &Configuration, new: &Configuration) {
    if old.conf.load_balancer.enabled != new.conf.load_balancer.enabled {
        warn!("[LoadBalancer] enabled was changed, which takes effect with the next start");
    }
    if old.conf.route.router_id.is_empty() != new.conf.route.router_id.is_empty() {
        warn!("[Route] router-id was set or removed, which takes effect with the next start");
    }
}
