//! Octavia's providers, flavors, availability zones, quotas and API versions.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::LoadBalancing;
use crate::{
    Error, LoadBalancerFlavorId, Pages, ProjectId, Service, call::Call, decode, identity::Version,
    paging::Listed,
};

/// A provider: the driver that implements load balancers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Provider {
    /// Its name: `amphora`, `ovn`, ….
    pub name: String,
    /// Its description.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
}

/// A flavor of load balancers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct LoadBalancerFlavor {
    /// Its id.
    pub id: LoadBalancerFlavorId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Whether it is enabled.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub enabled: bool,
}

impl Listed for LoadBalancerFlavor {
    const COLLECTION: &'static str = "flavors";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// An availability zone of Octavia. It is identified by its name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct LoadBalancerZone {
    /// Its name.
    pub name: String,
    /// Whether it is enabled.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub enabled: bool,
}

impl Listed for LoadBalancerZone {
    const COLLECTION: &'static str = "availability_zones";
    fn marker(&self) -> Option<&str> {
        Some(&self.name)
    }
}

/// The limits of a project. -1 means unlimited, `None` that the cloud does not return the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "BTreeMap<String, Value>")]
#[non_exhaustive]
pub struct LoadBalancerQuota {
    /// Load balancers.
    pub loadbalancer: Option<i64>,
    /// Listeners.
    pub listener: Option<i64>,
    /// Pools.
    pub pool: Option<i64>,
    /// Members.
    pub member: Option<i64>,
    /// Health monitors.
    pub healthmonitor: Option<i64>,
}

impl From<BTreeMap<String, Value>> for LoadBalancerQuota {
    /// Some limits have two names, depending on the release.
    fn from(raw: BTreeMap<String, Value>) -> Self {
        let limit = |names: &[&str]| names.iter().find_map(|name| raw.get(*name).and_then(Value::as_i64));
        Self {
            loadbalancer: limit(&["loadbalancer", "load_balancer"]),
            listener: limit(&["listener"]),
            pool: limit(&["pool"]),
            member: limit(&["member"]),
            healthmonitor: limit(&["healthmonitor", "health_monitor"]),
        }
    }
}

/// A resource that has a quota and can be listed by project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedResource {
    /// Load balancers.
    LoadBalancer,
    /// Listeners.
    Listener,
    /// Pools.
    Pool,
    /// Health monitors.
    HealthMonitor,
}

/// Defines types that read only the id of an object.
macro_rules! only_ids {
    ($($name:ident in $collection:literal,)*) => {$(
        #[derive(Deserialize)]
        struct $name {
            id: String,
        }

        impl Listed for $name {
            const COLLECTION: &'static str = $collection;
            fn marker(&self) -> Option<&str> {
                Some(&self.id)
            }
        }
    )*};
}

only_ids! {
    LoadBalancerOnlyId in "loadbalancers",
    ListenerOnlyId in "listeners",
    PoolOnlyId in "pools",
    HealthMonitorOnlyId in "healthmonitors",
}

/// Holds only one page in memory.
async fn count<T: Listed>(mut pages: Pages<T>) -> Result<usize, Error> {
    let mut count = 0_usize;
    while let Some(page) = pages.next_page().await? {
        count = count.saturating_add(page.len());
    }
    Ok(count)
}

impl LoadBalancing {
    /// The number of objects of a project. Octavia does not return the usage of a quota, so the ids are listed.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn count(&self, resource: CountedResource, project: &ProjectId) -> Result<usize, Error> {
        let list = |request: &'static str, path: &str| {
            Self::get(request, &[path]).with("project_id", project).with("fields", "id")
        };
        match resource {
            CountedResource::LoadBalancer => {
                count::<LoadBalancerOnlyId>(self.0.pages(list("loadbalancer_list", "loadbalancers"))).await
            }
            CountedResource::Listener => {
                count::<ListenerOnlyId>(self.0.pages(list("loadbalancer_listener_list", "listeners"))).await
            }
            CountedResource::Pool => {
                count::<PoolOnlyId>(self.0.pages(list("loadbalancer_pool_list", "pools"))).await
            }
            CountedResource::HealthMonitor => {
                count::<HealthMonitorOnlyId>(
                    self.0.pages(list("loadbalancer_healthmonitor_list", "healthmonitors")),
                )
                .await
            }
        }
    }

    /// The versions of Octavia's API. The version number says which features are available.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn api_versions(&self) -> Result<Vec<Version>, Error> {
        self.0.versions(Service::LoadBalancer).await
    }

    /// The enabled providers.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn providers(&self) -> Result<Vec<Provider>, Error> {
        self.0.fetch(Self::get("loadbalancer_provider_list", &["providers"]), "providers").await
    }

    /// The flavors, optionally only those with this name.
    pub fn flavors(&self, name: Option<&str>) -> Pages<LoadBalancerFlavor> {
        self.0.pages(Self::get("loadbalancer_flavor_list", &["flavors"]).with_some("name", name))
    }

    /// A flavor.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn flavor(&self, id: &LoadBalancerFlavorId) -> Result<LoadBalancerFlavor, Error> {
        self.0.fetch(Self::get("loadbalancer_flavor_get", &["flavors", id.as_str()]), "flavor").await
    }

    /// The availability zones.
    pub fn availability_zones(&self) -> Pages<LoadBalancerZone> {
        let call: Call = Self::get("loadbalancer_availability_zone_list", &["availabilityzones"]);
        self.0.pages(call)
    }

    /// The limits of a project.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn quota(&self, project: &ProjectId) -> Result<LoadBalancerQuota, Error> {
        self.0.fetch(Self::get("quota_get", &["quotas", project.as_str()]), "quota").await
    }
}
