//! How often members are asked whether they are well.

use crate::config::LoadBalancer;
use crate::loadbalancer::annotations::{self, Annotation, Kind, Reader};

/// The values of a health monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorValues {
    /// The pause between two questions, in seconds.
    pub delay: i64,
    /// How long an answer may take, in seconds.
    pub timeout: i64,
    /// Good answers after which a member is well.
    pub max_retries: i64,
    /// Missing answers after which it is not; none leaves it to Octavia.
    pub max_retries_down: Option<i64>,
}

/// The values, if members are asked at all. Wrong annotations are told also if they are not.
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
    // A part of a second is cut off, as OCCM does it.
    let delay = value(&annotations::HEALTH_MONITOR_DELAY, config.monitor_delay.as_secs());
    let timeout = value(&annotations::HEALTH_MONITOR_TIMEOUT, config.monitor_timeout.as_secs());
    let max_retries = value(&annotations::HEALTH_MONITOR_MAX_RETRIES, count(config.monitor_max_retries));
    let max_retries_down =
        value(&annotations::HEALTH_MONITOR_MAX_RETRIES_DOWN, count(config.monitor_max_retries_down));
    let max_retries_down = Some(max_retries_down).filter(|count| *count != 0);
    enabled.then_some(MonitorValues { delay, timeout, max_retries, max_retries_down })
}

/// What cloud.conf says must fit as well.
fn check(reader: &mut Reader<'_>, row: &Annotation, configured: i64) {
    let Kind::Number { least, most, .. } = row.kind else { return };
    if !(least..=most).contains(&configured) {
        reader.wrong_configured("LoadBalancer", row, &configured.to_string());
    }
}
