//! What a configuration is turned into: the client, and the parts of the cloud that work with it. Everything here lives as
//! long as its configuration, and is made anew for the next one.
//!
//! [`Parts::new`] is the one place where the parts are plugged together.

use std::sync::Arc;

use bowline_cloud::{AnyLoadBalancers, CloudContext, Routes};
use openstack_client::{Client, ProjectId};

use crate::config::{Configuration, Environment};
use crate::instances::Servers;
use crate::inventory::{AGE_LIMIT, Inventory};

/// What parts are made from.
pub(super) struct Material<'a> {
    /// The configuration in use.
    pub(super) configuration: &'a Arc<Configuration>,
    /// A client of that configuration.
    pub(super) client: Client,
    /// The project that everything belongs to, if it is known already.
    pub(super) project: Option<ProjectId>,
    /// The variables of the process.
    pub(super) environment: &'a Environment,
    /// What the framework gave us: the name of the cluster, the budget and the events. None before we lead; nobody works
    /// with the parts then.
    #[expect(dead_code, reason = "for the load balancers, which are not plugged in yet")]
    pub(super) context: Option<&'a CloudContext>,
}

/// The parts of the cloud for one configuration.
pub(super) struct Parts {
    pub(super) configuration: Arc<Configuration>,
    pub(super) client: Client,
    pub(super) servers: Arc<Servers>,
    /// None as long as no router is configured.
    pub(super) routes: Option<Arc<dyn Routes>>,
    /// None as long as we do not lead.
    pub(super) load_balancers: Option<Arc<dyn AnyLoadBalancers>>,
}

impl Parts {
    /// Makes them. No call is made.
    pub(super) fn new(material: Material<'_>) -> Self {
        let Material { configuration, client, project, environment, context: _ } = material;
        let conf = &configuration.conf;
        let inventory = Arc::new(Inventory::new(client.clone(), AGE_LIMIT).of_project(project));
        let region = configuration.connection.region.clone();
        let servers = Servers::new(inventory, &conf.networking, region, environment.regional());
        Self {
            configuration: configuration.clone(),
            client,
            servers: Arc::new(servers),
            // Both are plugged in here: routes from the client and `conf.route.router_id`; load balancers from the client,
            // the configuration, the inventory and the context.
            routes: None,
            load_balancers: None,
        }
    }
}
