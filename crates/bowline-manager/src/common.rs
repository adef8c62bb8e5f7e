//! The controllers of every cloud-controller-manager, created with the options from the flags.

use std::sync::Arc;

use bowline_cloud::shadow::Mode;
use bowline_controllers::controller::Controller;
use bowline_controllers::ipam::{IpamController, IpamControllerOptions};
use bowline_controllers::lifecycle::{LifecycleController, LifecycleOptions};
use bowline_controllers::node::{NodeController, NodeOptions};
use bowline_controllers::rails::create_budget::CreateLimit;
use bowline_controllers::rails::deletion_budget::DeletionLimits;
use bowline_controllers::rails::replacement::ReplacementLimits;
use bowline_controllers::registry::ControllerName;
use bowline_controllers::route::{RouteController, RouteOptions};
use bowline_controllers::service::{ServiceController, ServiceOptions};
use tracing::warn;

use crate::options::{OptionErrors, Options};
use crate::process::StartError;

/// Upstream's default for every number of workers. Bowline's workers do not wait while the cloud works, so this default is replaced by the
/// controller's own.
const UPSTREAM_WORKERS: u32 = 1;

fn workers(flag: u32, own: usize) -> usize {
    if flag == UPSTREAM_WORKERS { own } else { usize::try_from(flag).unwrap_or(own) }
}

/// Creates all common controllers; `node_ipam` says whether this binary supports node IPAM.
pub(crate) fn controllers(
    options: &Options,
    node_ipam: bool,
) -> Result<Vec<Arc<dyn Controller>>, StartError> {
    let [_node, lifecycle, service, route, _ipam] = ControllerName::common();
    let lifecycle = LifecycleController::new(lifecycle, lifecycle_options(options))
        .map_err(|error| StartError::Controller(error.to_string()))?;
    let mut controllers: Vec<Arc<dyn Controller>> = vec![
        Arc::new(NodeController::new(node_options(options))),
        Arc::new(lifecycle),
        Arc::new(ServiceController::new(service, service_options(options))),
        Arc::new(RouteController::new(route, route_options(options))),
    ];
    match (options.ipam.allocate_node_cidrs, node_ipam) {
        (true, true) => controllers.push(Arc::new(IpamController::new(ipam_options(options)?))),
        (true, false) => {
            warn!("--allocate-node-cidrs has no effect: this binary has no node-ipam-controller");
        }
        (false, _) => {}
    }
    Ok(controllers)
}

fn node_options(options: &Options) -> NodeOptions {
    let own = NodeOptions::default();
    NodeOptions {
        concurrent_syncs: workers(options.node.concurrent_syncs, own.concurrent_syncs),
        concurrent_status_updates: workers(
            options.node.status_update_workers(),
            own.concurrent_status_updates,
        ),
        status_update_frequency: options.node.status_update_frequency,
        reconcile_labels: options.rails.reconcile_node_labels,
        ..own
    }
}

fn lifecycle_options(options: &Options) -> LifecycleOptions {
    let (own, rails) = (LifecycleOptions::default(), &options.rails);
    LifecycleOptions {
        node_monitor_period: options.node.monitor_period,
        workers: workers(options.node.concurrent_lifecycle_syncs, own.workers),
        out_of_service_taint: rails.out_of_service_taint,
        skip_deletion: rails.skip_node_deletion,
        deletion: DeletionLimits {
            share_percent: rails.node_deletion_limit_percent,
            window: rails.node_deletion_window,
            breaker_percent: rails.node_deletion_breaker_percent,
            healthy_for: rails.node_deletion_breaker_recovery,
        },
        announcing_taints: rails.node_removal_taints.clone(),
        new_node_grace: rails.new_node_grace,
    }
}

fn service_options(options: &Options) -> ServiceOptions {
    let own = ServiceOptions::default();
    ServiceOptions {
        cluster_name: options.cloud.cluster_name.as_str().into(),
        workers: workers(options.service.concurrent_syncs, own.workers),
        repair_every: options.rails.load_balancer_repair_period,
        poll_every: options.service.poll_period,
        calls_per_second: options.cloud.api_qps,
        second_look_after: options.rails.second_look_delay,
        adopt_only: options.shadow.mode == Some(Mode::AdoptOnly),
        creates: CreateLimit {
            created: options.rails.create_limit,
            within: options.rails.create_limit_window,
            ..own.creates
        },
        replacement: ReplacementLimits {
            apart: options.rails.load_balancer_replacement_delay,
            breaker_percent: options.rails.load_balancer_breaker_percent,
            ..own.replacement
        },
        ..own
    }
}

fn route_options(options: &Options) -> RouteOptions {
    RouteOptions {
        configure_cloud_routes: options.cloud.configure_routes,
        cluster_name: options.cloud.cluster_name.clone(),
        cluster_cidrs: options.cloud.cluster_cidrs.clone(),
        period: options.cloud.route_reconciliation_period,
        second_look_after: options.rails.second_look_delay,
        ..RouteOptions::default()
    }
}

fn ipam_options(options: &Options) -> Result<IpamControllerOptions, StartError> {
    let ipam = &options.ipam;
    ipam.check().map_err(|problems| StartError::Options(OptionErrors(problems)))?;
    IpamControllerOptions::new(
        true,
        &ipam.cluster_cidrs,
        &ipam.service_cidrs,
        ipam.node_mask_v4,
        ipam.node_mask_v6,
    )
    .map_err(|problems| StartError::Controller(problems.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::flags::{FlagTable, parse};

    fn options(flags: &[&str]) -> Options {
        let all = ["--cloud-provider=fake"].iter().chain(flags).copied();
        Options::from_parsed(&parse(&FlagTable::common(), all).unwrap()).unwrap()
    }

    #[test]
    fn the_defaults_of_the_flags_are_those_of_the_rails() {
        let (options, own) = (options(&[]), ServiceOptions::default());
        let service = service_options(&options);
        assert_eq!((service.creates, service.second_look_after), (own.creates, own.second_look_after));
        assert_eq!(lifecycle_options(&options), LifecycleOptions::default());
        assert_eq!(route_options(&options).second_look_after, RouteOptions::default().second_look_after);
        let node = node_options(&options);
        assert_eq!(node.reconcile_labels, NodeOptions::default().reconcile_labels);
    }

    #[test]
    fn only_adopt_only_adopts_only() {
        assert!(service_options(&options(&["--adopt-only"])).adopt_only);
        assert!(!service_options(&options(&[])).adopt_only);
    }

    #[test]
    fn every_rail_can_be_tuned() {
        let options = options(&[
            "--node-deletion-limit-percent=7",
            "--node-deletion-window=1m",
            "--node-deletion-breaker-percent=50",
            "--skip-node-deletion",
            "--node-deletion-breaker-recovery=2m",
            "--node-removal-taints=example.org/drain,ToBeDeletedByClusterAutoscaler",
            "--new-node-grace-period=10m",
            "--reconcile-node-labels",
            "--second-look-delay=30s",
            "--load-balancer-replacement-delay=5m",
            "--load-balancer-breaker-percent=20",
            "--create-limit=5",
            "--create-limit-window=2h",
        ]);
        let (lifecycle, service) = (lifecycle_options(&options), service_options(&options));
        let minutes = |count: u64| Duration::from_secs(60 * count);
        let deletion = DeletionLimits {
            share_percent: 7,
            window: minutes(1),
            breaker_percent: 50,
            healthy_for: minutes(2),
        };
        assert_eq!((lifecycle.deletion, lifecycle.new_node_grace), (deletion, minutes(10)));
        assert!(lifecycle.skip_deletion);
        assert_eq!(lifecycle.announcing_taints, ["example.org/drain", "ToBeDeletedByClusterAutoscaler"]);
        assert_eq!((service.creates.created, service.creates.within), (5, minutes(120)));
        assert_eq!((service.replacement.apart, service.replacement.breaker_percent), (minutes(5), 20));
        assert_eq!(service.second_look_after, Duration::from_secs(30));
        assert_eq!(route_options(&options).second_look_after, Duration::from_secs(30));
        assert!(node_options(&options).reconcile_labels);
    }
}
