//! Plans the health monitor of a pool. A changed name is corrected, as in OCCM.

use openstack_client::load_balancer::{HealthMonitor, HealthMonitorUpdate, ProvisioningStatus};

use super::Steps;
use super::claim::Claim;
use super::conflict::port;
use super::text::Differences;
use crate::loadbalancer::found::FoundPool;
use crate::loadbalancer::step::Action;
use crate::loadbalancer::wanted::{WantedListener, WantedMonitor};

/// The default of Octavia for `max-retries-down`. It is set again when the Service and cloud.conf no longer give a value.
const MAX_RETRIES_DOWN: i64 = 3;

pub(super) fn steps(claim: &Claim<'_>, wish: &WantedListener, pool: &FoundPool) -> Steps {
    let at = port(&wish.key);
    let delete = |found: &HealthMonitor, why: &str| {
        claim.step(Action::DeleteMonitor(found.id.clone()), format!("{at}: {why}"))
    };
    let create = |wanted: &WantedMonitor, why: &str| {
        let new = Box::new(wanted.new_monitor(&pool.pool.id));
        claim.step(Action::CreateMonitor(new), format!("{at}: {why}"))
    };
    match (&wish.pool.monitor, &pool.monitor) {
        (None, None) => Steps::new(),
        (None, Some(found)) => vec![delete(found, "no health monitor is wanted")],
        (Some(wanted), None) => vec![create(wanted, "there is no health monitor")],
        (Some(wanted), Some(found)) => match spoilt(wanted, found) {
            Some(why) => vec![delete(found, &why), create(wanted, "the health monitor is made anew")],
            None => {
                let (change, differs) = update(wanted, found);
                let step = |reason| claim.step(Action::UpdateMonitor(found.id.clone(), change), reason);
                differs.reason(&at).map(step).into_iter().collect()
            }
        },
    }
}

/// Why the health monitor has to be deleted and created again.
fn spoilt(wanted: &WantedMonitor, found: &HealthMonitor) -> Option<String> {
    if found.provisioning_status == ProvisioningStatus::Error {
        return Some(format!("Octavia gave health monitor {} up (ERROR)", found.id));
    }
    (found.kind != wanted.kind)
        .then(|| format!("the health monitor asks by {}, {} is wanted", found.kind, wanted.kind))
}

fn update(wanted: &WantedMonitor, found: &HealthMonitor) -> (HealthMonitorUpdate, Differences) {
    let mut differs = Differences::default();
    let values = wanted.values;
    let down = values.max_retries_down.unwrap_or(MAX_RETRIES_DOWN);
    let mut change = HealthMonitorUpdate {
        name: differs.of("the name of the monitor", &found.name, &wanted.name),
        delay: differs.of("delay", &found.delay, &values.delay),
        timeout: differs.of("timeout", &found.timeout, &values.timeout),
        max_retries: differs.of("max-retries", &found.max_retries, &values.max_retries),
        max_retries_down: differs.of("max-retries-down", &found.max_retries_down, &down),
        ..HealthMonitorUpdate::default()
    };
    if let Some([path, method, codes]) = wanted.http() {
        let mut of = |what: &str, is: &Option<String>, wanted: &str| {
            differs.of(what, &is.clone().unwrap_or_default(), &wanted.to_owned())
        };
        change.url_path = of("path", &found.url_path, path);
        change.http_method = of("method", &found.http_method, method);
        change.expected_codes = of("expected-codes", &found.expected_codes, codes);
    }
    (change, differs)
}
