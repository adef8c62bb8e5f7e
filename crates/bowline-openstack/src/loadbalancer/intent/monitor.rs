//! The intervals and counts of health monitors.

use crate::config::LoadBalancer;
use crate::loadbalancer::annotations::{self, Annotation, Kind, Reader};

/// The values of a health monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorValues {
    /// Seconds between health checks.
    pub delay: i64,
    /// Seconds after which a health check fails.
    pub timeout: i64,
    /// Successful checks after which a member is healthy.
    pub max_retries: i64,
    /// Failed checks after which a member is unhealthy; `None` uses the default of Octavia.
    pub max_retries_down: Option<i64>,
}

/// The values; `None` if health monitors are disabled. Invalid annotations are reported even then.
pub(super) fn values(reader: &mut Reader<'_>, config: &LoadBalancer) -> Option<MonitorValues> {
    let enabled = reader.flag(&annotations::ENABLE_HEALTH_MONITOR).unwrap_or(config.create_monitor);
    let mut value = |row: &Annotation, configured: i64| {
        let annotated = reader.number(row);
        if annotated.is_none() && enabled && reader.text(row).is_none() {
            check(reader, row, configured);
        }
        annotated.unwrap_or(configured)
    };
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    // Fractions of a second are dropped, as in OCCM.
    let delay = value(&annotations::HEALTH_MONITOR_DELAY, config.monitor_delay.as_secs());
    let timeout = value(&annotations::HEALTH_MONITOR_TIMEOUT, config.monitor_timeout.as_secs());
    let max_retries = value(&annotations::HEALTH_MONITOR_MAX_RETRIES, count(config.monitor_max_retries));
    let max_retries_down =
        value(&annotations::HEALTH_MONITOR_MAX_RETRIES_DOWN, count(config.monitor_max_retries_down));
    let max_retries_down = Some(max_retries_down).filter(|count| *count != 0);
    enabled.then_some(MonitorValues { delay, timeout, max_retries, max_retries_down })
}

/// Reports a value of cloud.conf that is out of range.
fn check(reader: &mut Reader<'_>, row: &Annotation, configured: i64) {
    let Kind::Number { least, most, .. } = row.kind else { return };
    if !(least..=most).contains(&configured) {
        reader.wrong_configured("LoadBalancer", row, &configured.to_string());
    }
}
