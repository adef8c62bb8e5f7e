//! How much the project may have and has, and when the credentials expire: shown to the scraper, so that an alert comes before the first
//! refusal.
//!
//! The cloud is asked only where metrics are scraped, and at most every [`PAUSE`]. A cluster without a scraper makes none of these calls.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use openstack_client::load_balancer::CountedResource;
use openstack_client::{Client, Error, ErrorClass, Method, Priority, ProjectId, Service, TokenIdentity};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tracing::{debug, info};

use super::current::Current;

/// The time between two reads. Quotas fill slowly, and counting load balancers may take several pages.
pub(super) const PAUSE: Duration = Duration::from_secs(600);

/// The resources of Neutron that the manager uses, under Neutron's names and ours.
const NETWORK_RESOURCES: [(&str, &str); 4] = [
    ("floatingip", "floating_ip"),
    ("port", "port"),
    ("security_group", "security_group"),
    ("security_group_rule", "security_group_rule"),
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabel {
    resource: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CredentialLabel {
    credential: &'static str,
}

/// The quota of one resource that has a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quota {
    limit: i64,
    /// `None` if the cloud does not say.
    used: Option<i64>,
}

/// The gauges of quotas and credentials.
#[derive(Debug, Default)]
pub(super) struct LimitMetrics {
    quota_limit: Family<ResourceLabel, Gauge>,
    quota_used: Family<ResourceLabel, Gauge>,
    expiry: Family<CredentialLabel, Gauge>,
    scraped: Arc<Notify>,
}

/// Has no metric of its own: it only notices that somebody scrapes.
#[derive(Debug)]
struct ScrapeObserver(Arc<Notify>);

impl Collector for ScrapeObserver {
    fn encode(&self, _encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        self.0.notify_one();
        Ok(())
    }
}

impl LimitMetrics {
    pub(super) fn show_in(&self, registry: &mut Registry) {
        registry.register(
            "bowline_openstack_quota_limit",
            "The most of a resource that the project may have; absent where there is no limit",
            self.quota_limit.clone(),
        );
        registry.register(
            "bowline_openstack_quota_used",
            "How much of a limited resource the project has",
            self.quota_used.clone(),
        );
        registry.register(
            "bowline_openstack_credential_expiry_timestamp_seconds",
            "When a credential expires, in seconds since the epoch; absent for one that does not",
            self.expiry.clone(),
        );
        registry.register_collector(Box::new(ScrapeObserver(self.scraped.clone())));
    }

    /// Reads limits after a scrape, for as long as it is polled.
    pub(super) async fn follow(&self, current: &Current) {
        loop {
            self.scraped.notified().await;
            let (client, counts_load_balancers) = {
                let parts = current.parts();
                let client = parts.client.with_priority(Priority::Background);
                (client, parts.configuration.conf.load_balancer.enabled)
            };
            let renewable = !matches!(current.parts().configuration.credentials.method, Method::Token(_));
            self.read(&client, counts_load_balancers, renewable).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn read(&self, client: &Client, counts_load_balancers: bool, renewable: bool) {
        let identity = match client.identity().await {
            Ok(identity) => identity,
            Err(error) => return not_read("the credentials", &error),
        };
        self.show_expiries(expiries(&identity, renewable));
        match client.application_credential_expires_at().await {
            Ok(expires_at) => self.show_expiries([("application_credential", expires_at)]),
            Err(error) => not_read("the expiry of the application credential", &error),
        }
        let Some(project) = &identity.project_id else { return };
        match network_quotas(client, project).await {
            Ok(quotas) => self.show_quotas(&quotas),
            Err(error) => not_read("the quota of Neutron", &error),
        }
        if !counts_load_balancers || !client.has(Service::LoadBalancer).await.unwrap_or(false) {
            return;
        }
        match load_balancer_quotas(client, project).await {
            Ok(quotas) => self.show_quotas(&quotas),
            Err(error) => not_read("the quota of Octavia", &error),
        }
    }

    fn show_expiries<const N: usize>(&self, expiries: [(&'static str, Option<Timestamp>); N]) {
        for (credential, expires_at) in expiries {
            let label = CredentialLabel { credential };
            match expires_at {
                Some(at) => {
                    self.expiry.get_or_create(&label).set(at.as_second());
                }
                None => {
                    self.expiry.remove(&label);
                }
            }
        }
    }

    fn show_quotas(&self, quotas: &BTreeMap<&'static str, Option<Quota>>) {
        for (&resource, quota) in quotas {
            let label = ResourceLabel { resource };
            match quota {
                Some(quota) => {
                    self.quota_limit.get_or_create(&label).set(quota.limit);
                }
                None => {
                    self.quota_limit.remove(&label);
                }
            }
            match quota.and_then(|quota| quota.used) {
                Some(used) => {
                    self.quota_used.get_or_create(&label).set(used);
                }
                None => {
                    self.quota_used.remove(&label);
                }
            }
        }
    }
}

/// The last values stay. Some clouds do not let a project read these; that is no failure of ours.
fn not_read(what: &str, error: &Error) {
    match error.class() {
        ErrorClass::Forbidden | ErrorClass::NotFound | ErrorClass::Unsupported => {
            debug!(%error, "cannot read {what}; its metrics are absent");
        }
        _ => info!(%error, "cannot read {what}; its metrics keep their last values"),
    }
}

/// When the password and the token expire. The token of an application credential does not depend on a password, and a token expires
/// only where nothing can renew it.
fn expiries(identity: &TokenIdentity, renewable: bool) -> [(&'static str, Option<Timestamp>); 2] {
    let by_password = renewable && identity.application_credential_id.is_none();
    [
        ("password", identity.password_expires_at.filter(|_| by_password)),
        ("token", (!renewable).then_some(identity.expires_at)),
    ]
}

async fn network_quotas(
    client: &Client,
    project: &ProjectId,
) -> Result<BTreeMap<&'static str, Option<Quota>>, Error> {
    let network = client.network();
    let known = match network.quota_details(project).await {
        Err(error) if matches!(error.class(), ErrorClass::NotFound | ErrorClass::Unsupported) => {
            network.quota(project).await?
        }
        details => details?,
    };
    let quota = |name: &str| {
        let quota = known.get(name).filter(|quota| quota.limit >= 0)?;
        Some(Quota { limit: quota.limit, used: quota.used })
    };
    Ok(NETWORK_RESOURCES.into_iter().map(|(name, resource)| (resource, quota(name))).collect())
}

/// Octavia tells limits and no usage, so what has a limit is counted. Members are not: that would be a call for each pool.
async fn load_balancer_quotas(
    client: &Client,
    project: &ProjectId,
) -> Result<BTreeMap<&'static str, Option<Quota>>, Error> {
    let octavia = client.load_balancer();
    let limits = octavia.quota(project).await?;
    let mut quotas = BTreeMap::new();
    for (name, limit, resource) in [
        ("load_balancer", limits.loadbalancer, CountedResource::LoadBalancer),
        ("listener", limits.listener, CountedResource::Listener),
        ("pool", limits.pool, CountedResource::Pool),
        ("health_monitor", limits.healthmonitor, CountedResource::HealthMonitor),
    ] {
        let quota = match limit.filter(|limit| *limit >= 0) {
            Some(limit) => {
                let used = octavia.count(resource, project).await?;
                Some(Quota { limit, used: Some(i64::try_from(used).unwrap_or(i64::MAX)) })
            }
            None => None,
        };
        quotas.insert(name, quota);
    }
    Ok(quotas)
}
