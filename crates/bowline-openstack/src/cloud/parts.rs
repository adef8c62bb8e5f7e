//! What a configuration is turned into: the client, and the parts of the cloud that work with it. Everything here lives as
//! long as its configuration, and is made anew for the next one, but for what is known of load balancers that are at work: it is handed on.
//!
//! [`Parts::new`] is the one place where the parts are plugged together.

use std::sync::Arc;

use bowline_cloud::{AnyLoadBalancers, CloudContext, Text};
use openstack_client::{Client, ProjectId};

use crate::config::{Configuration, Environment};
use crate::instances::Servers;
use crate::instances::labels::LabelRules;
use crate::inventory::{AGE_LIMIT, Inventory};
use crate::loadbalancer::{Balancers, Lore};
use crate::routes::RouteAccess;

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
    pub(super) context: Option<&'a CloudContext>,
    /// What was known under the configuration before: it is of the same project.
    pub(super) lore: Option<&'a Lore>,
}

/// The parts of the cloud for one configuration.
pub(super) struct Parts {
    pub(super) configuration: Arc<Configuration>,
    pub(super) client: Client,
    pub(super) servers: Arc<Servers>,
    pub(super) routes: RouteAccess,
    /// None as long as we do not lead.
    pub(super) load_balancers: Option<Arc<dyn AnyLoadBalancers>>,
    /// What they know, for those of the next configuration.
    pub(super) lore: Option<Lore>,
}

impl Parts {
    /// Makes them. No call is made.
    pub(super) fn new(material: Material<'_>) -> Self {
        let Material { configuration, client, project, environment, context, lore } = material;
        let conf = &configuration.conf;
        // A configuration whose labels cannot be used is refused before it comes here.
        let labels = LabelRules::parse(&conf.metadata.flavor_labels).unwrap_or_default();
        let inventory =
            Arc::new(Inventory::new(client.clone(), AGE_LIMIT).of_project(project).labelled(labels));
        let region = configuration.connection.region.clone();
        let servers = Servers::new(inventory.clone(), &conf.networking, region, environment.regional());
        let balancers = context.map(|context| {
            let cluster = context.cluster_uid.as_deref().map(Text::from);
            let events = context.events.clone();
            let balancers =
                Balancers::new(client.clone(), Arc::new(conf.clone()), inventory, cluster, events)
                    .compared_every(context.compared_every);
            match lore {
                Some(lore) => balancers.knowing(lore),
                None => balancers,
            }
        });
        let lore = balancers.as_ref().map(Balancers::lore);
        let load_balancers = balancers.map(|balancers| -> Arc<dyn AnyLoadBalancers> { Arc::new(balancers) });
        let routes = RouteAccess::new(client.clone(), &conf.route);
        Self {
            configuration: configuration.clone(),
            client,
            servers: Arc::new(servers),
            routes,
            load_balancers,
            lore,
        }
    }
}
