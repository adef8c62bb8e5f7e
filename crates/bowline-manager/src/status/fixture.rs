//! A page for tests, of a process that does not run.

use std::sync::Arc;

use bowline_controllers::identity::CloudIdentity;
use bowline_controllers::metrics::ControllerMetrics;
use bowline_kube::clock::Clock;
use prometheus_client::registry::Registry;

use super::{About, StatusPage, Surroundings};
use crate::budget::{BudgetMetrics, SharedBudget};
use crate::flags::{FlagTable, parse};
use crate::options::Options;
use crate::serving::HealthRegistry;

pub(crate) fn page(
    clock: Clock,
    health: Arc<HealthRegistry>,
    metrics: ControllerMetrics,
    identity: CloudIdentity,
) -> StatusPage {
    let parsed = parse(&FlagTable::common(), &["--cloud-provider=test".to_owned()]).unwrap();
    let options = Options::from_parsed(&parsed).unwrap();
    let about = About {
        component: "cloud-controller-manager".to_owned(),
        version: "v9.9.9".to_owned(),
        identity: "host_1".to_owned(),
        cloud: "test".to_owned(),
        cluster: "kubernetes".to_owned(),
    };
    let budget = Arc::new(SharedBudget::new(10.0, 20, BudgetMetrics::default()));
    StatusPage::new(Surroundings { about, options: &options, clock, health, budget, metrics, identity })
}

/// One that nobody told anything yet.
pub(crate) fn blank(clock: Clock) -> StatusPage {
    let metrics = ControllerMetrics::register(&mut Registry::default());
    page(clock, Arc::new(HealthRegistry::new()), metrics, CloudIdentity::default())
}
