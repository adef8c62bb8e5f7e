//! The data of `/configz` and `/flagz`, in upstream's format with its Go field names.

use std::time::Duration;

use serde_json::{Value, json};

use super::Options;
use crate::flags::{GoDuration, Parsed};
use crate::migration::LeaderMigration;

/// The object of `/configz`; `migration` is the active leader migration, if any.
#[must_use]
pub fn configz(options: &Options, migration: Option<&LeaderMigration>) -> Value {
    let node = &options.node;
    json!({
        "cloudcontrollermanager.config.k8s.io": {
            "kind": "CloudControllerManagerConfiguration",
            "apiVersion": "cloudcontrollermanager.config.k8s.io/v1alpha1",
            "Generic": generic(options, migration),
            "KubeCloudShared": cloud(options),
            "NodeController": {
                "ConcurrentNodeSyncs": node.concurrent_syncs,
                "ConcurrentNodeStatusUpdates": node.concurrent_status_updates,
            },
            "NodeLifecycleController": {
                "NodeMonitorPeriod": go(node.monitor_period),
                "ConcurrentNodeLifecycleSyncs": node.concurrent_lifecycle_syncs,
            },
            "ServiceController": { "ConcurrentServiceSyncs": options.service.concurrent_syncs },
            "NodeStatusUpdateFrequency": go(node.status_update_frequency),
            "Webhook": { "Webhooks": options.unused.webhooks },
        }
    })
}

fn generic(options: &Options, migration: Option<&LeaderMigration>) -> Value {
    let (client, election, unused) = (&options.client, &options.leader_election, &options.unused);
    json!({
        // Upstream removed the insecure listener, but not its two keys.
        "Port": 0,
        "Address": "0.0.0.0",
        "MinResyncPeriod": go(unused.min_resync_period),
        "ClientConnection": {
            "kubeconfig": client.kubeconfig.as_deref().map(|path| path.to_string_lossy()).unwrap_or_default(),
            "acceptContentTypes": "",
            "contentType": unused.kube_api_content_type,
            "qps": number(client.qps),
            "burst": client.burst,
        },
        "ControllerStartInterval": go(options.controller_start_interval),
        "LeaderElection": {
            "leaderElect": election.enabled,
            "leaseDuration": go(election.lease_duration),
            "renewDeadline": go(election.renew_deadline),
            "retryPeriod": go(election.retry_period),
            "resourceLock": unused.resource_lock,
            "resourceName": election.resource_name,
            "resourceNamespace": election.resource_namespace,
        },
        "Controllers": options.controllers,
        "Debugging": {
            "enableProfiling": options.profiling,
            "enableContentionProfiling": unused.contention_profiling,
        },
        "LeaderMigrationEnabled": options.leader_migration.enabled,
        "LeaderMigration": leader_migration(migration),
    })
}

fn leader_migration(migration: Option<&LeaderMigration>) -> Value {
    let Some(migration) = migration else {
        return json!({ "leaderName": "", "resourceLock": "", "controllerLeaders": null });
    };
    let entry = |(name, component)| json!({ "name": name, "component": component });
    json!({
        "leaderName": migration.lease_name(),
        "resourceLock": "leases",
        "controllerLeaders": migration.controller_leaders().map(entry).collect::<Vec<_>>(),
    })
}

fn cloud(options: &Options) -> Value {
    let (cloud, unused) = (&options.cloud, &options.unused);
    json!({
        "CloudProvider": {
            "Name": cloud.provider,
            "CloudConfigFile": cloud.config_file.as_deref().map(|path| path.to_string_lossy()).unwrap_or_default(),
        },
        "ExternalCloudVolumePlugin": unused.external_cloud_volume_plugin,
        "UseServiceAccountCredentials": options.use_service_account_credentials,
        "AllowUntaggedCloud": cloud.allow_untagged,
        "RouteReconciliationPeriod": go(cloud.route_reconciliation_period),
        "ClusterName": cloud.cluster_name,
        "ClusterCIDR": unused.cluster_cidr,
        "AllocateNodeCIDRs": options.ipam.allocate_node_cidrs,
        "CIDRAllocatorType": options.ipam.allocator_type,
        "ConfigureCloudRoutes": cloud.configure_routes,
        "NodeSyncPeriod": unused.node_sync_period.to_string(),
    })
}

fn go(duration: Duration) -> String {
    GoDuration::from(duration).to_string()
}

/// A number as Go prints it: `20`, not `20.0`.
fn number(value: f64) -> Value {
    let printed = value.to_string();
    printed.parse::<i64>().map_or_else(|_| json!(value), |whole| json!(whole))
}

/// The names and values for `/flagz`, sorted by name.
#[must_use]
pub fn flagz(parsed: &Parsed) -> Vec<(String, String)> {
    parsed.listing()
}
