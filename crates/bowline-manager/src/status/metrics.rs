//! Gauges of the status page's data, computed at each scrape: they are exact at that time and cost nothing between scrapes.

use std::fmt;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{StatusPage, gather};

/// The collector. It is registered before the page exists and reports nothing until then. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct StatusMetrics(Arc<OnceLock<StatusPage>>);

impl StatusMetrics {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register_collector(Box::new(metrics.clone()));
        metrics
    }

    /// Sets the page to read. Only the first call has an effect.
    pub(crate) fn read(&self, page: &StatusPage) {
        self.0.get_or_init(|| page.clone());
    }
}

impl fmt::Debug for StatusMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StatusMetrics").field(&self.0.get().is_some()).finish()
    }
}

impl Collector for StatusMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(StatusPage(board)) = self.0.get() else { return Ok(()) };
        let help = "Services that do not have what they ask for, by the reason of their condition or the safety rail that holds them";
        let mut family =
            encoder.encode_descriptor("bowline_services_unsettled", help, None, MetricType::Gauge)?;
        for (reason, count) in gather::unsettled(board) {
            ConstGauge::new(count).encode(family.encode_family(&[("reason", reason)])?)?;
        }
        let help = "Time since a service of the cloud last answered a read, or since it was first called if it never did; what the manager does not need is not read";
        let mut family = encoder.encode_descriptor(
            "bowline_cloud_last_read_age_seconds",
            help,
            None,
            MetricType::Gauge,
        )?;
        let ages = board.notebook.last_read_ages();
        ages.into_iter().try_for_each(|(service, age)| {
            ConstGauge::new(age.as_secs_f64()).encode(family.encode_family(&[("service", service)])?)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_cloud::{CallNote, Note};
    use bowline_kube::clock::Clock;
    use prometheus_client::encoding::text::encode;

    use super::*;
    use crate::status::fixture;

    fn scrape(registry: &Registry) -> String {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    }

    fn answered(method: &str, path: &str, status: Option<u16>) -> Note {
        Note::Call(CallNote {
            service: "network",
            method: method.to_owned(),
            path: path.to_owned(),
            status,
            took: Duration::ZERO,
            request_id: None,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_age_of_a_service_that_never_answered_counts_from_the_first_call() {
        let mut registry = Registry::default();
        let page = fixture::blank(Clock::simulated("2026-11-15T08:00:00Z".parse().unwrap()));
        StatusMetrics::register(&mut registry).read(&page);
        tokio::time::advance(Duration::from_secs(60)).await;
        for seconds in [0, 60, 120] {
            page.journal().note(|| answered("GET", "/v2.0/ports", None));
            let age = format!("bowline_cloud_last_read_age_seconds{{service=\"network\"}} {seconds}.0");
            assert!(scrape(&registry).contains(&age), "{seconds}: {}", scrape(&registry));
            tokio::time::advance(Duration::from_secs(60)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_age_of_the_last_read_grows_while_a_service_fails_or_is_only_written_to() {
        let mut registry = Registry::default();
        let metrics = StatusMetrics::register(&mut registry);
        assert!(!scrape(&registry).contains("bowline_"), "there is no page yet");
        let page = fixture::blank(Clock::simulated("2026-11-15T08:00:00Z".parse().unwrap()));
        metrics.read(&page);
        assert!(!scrape(&registry).contains("network"), "it was never read");
        let age =
            |seconds: u64| format!("bowline_cloud_last_read_age_seconds{{service=\"network\"}} {seconds}.0");
        for (method, path, status, seconds) in [
            ("GET", "/v2.0/ports", Some(200), 60),
            ("GET", "/v2.0/ports", Some(503), 120),
            ("GET", "/v2.0/ports", None, 180),
            ("POST", "/v2.0/ports", Some(201), 240),
            ("GET", "/v2.0/ports/{id}", Some(404), 60),
        ] {
            page.journal().note(|| answered(method, path, status));
            tokio::time::advance(Duration::from_secs(60)).await;
            assert!(scrape(&registry).contains(&age(seconds)), "{method} {status:?}: {}", scrape(&registry));
        }
    }
}
