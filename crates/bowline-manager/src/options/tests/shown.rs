//! What is shown of the options: configz and flagz.

use serde_json::json;

use super::*;

#[test]
fn configz_has_the_shape_and_the_defaults_of_upstream() {
    assert_eq!(
        configz(&options(&["--cloud-config=/etc/cloud.conf", "--kube-api-qps=12.5"]), None),
        json!({"cloudcontrollermanager.config.k8s.io": {
            "kind": "CloudControllerManagerConfiguration",
            "apiVersion": "cloudcontrollermanager.config.k8s.io/v1alpha1",
            "Generic": {
                "Port": 0, "Address": "0.0.0.0", "MinResyncPeriod": "12h0m0s",
                "ClientConnection": {
                    "kubeconfig": "", "acceptContentTypes": "", "contentType": "application/vnd.kubernetes.protobuf",
                    "qps": 12.5, "burst": 30,
                },
                "ControllerStartInterval": "0s",
                "LeaderElection": {
                    "leaderElect": true, "leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s",
                    "resourceLock": "leases", "resourceName": "cloud-controller-manager",
                    "resourceNamespace": "kube-system",
                },
                "Controllers": ["*"],
                "Debugging": {"enableProfiling": true, "enableContentionProfiling": false},
                "LeaderMigrationEnabled": false,
                "LeaderMigration": {"leaderName": "", "resourceLock": "", "controllerLeaders": null},
            },
            "KubeCloudShared": {
                "CloudProvider": {"Name": "fake", "CloudConfigFile": "/etc/cloud.conf"},
                "ExternalCloudVolumePlugin": "", "UseServiceAccountCredentials": false, "AllowUntaggedCloud": false,
                "RouteReconciliationPeriod": "10s", "ClusterName": "kubernetes", "ClusterCIDR": "",
                "AllocateNodeCIDRs": false, "CIDRAllocatorType": "RangeAllocator", "ConfigureCloudRoutes": true,
                "NodeSyncPeriod": "0s",
            },
            "NodeController": {"ConcurrentNodeSyncs": 1, "ConcurrentNodeStatusUpdates": 0},
            "NodeLifecycleController": {"NodeMonitorPeriod": "5s", "ConcurrentNodeLifecycleSyncs": 1},
            "ServiceController": {"ConcurrentServiceSyncs": 1},
            "NodeStatusUpdateFrequency": "5m0s",
            "Webhook": {"Webhooks": []},
        }})
    );
    let whole = configz(&options(&["--kube-api-qps=20"]), None).to_string();
    assert!(whole.contains("\"qps\":20}"), "as Go prints 20: {whole}");
}

#[test]
fn configz_shows_the_migration_in_force() {
    let shown = configz(&options(&["--enable-leader-migration"]), Some(&LeaderMigration::built_in()));
    let generic = &shown["cloudcontrollermanager.config.k8s.io"]["Generic"];
    assert_eq!(generic["LeaderMigrationEnabled"], true);
    assert_eq!(
        generic["LeaderMigration"],
        json!({
            "leaderName": "cloud-provider-extraction-migration",
            "resourceLock": "leases",
            "controllerLeaders": [
                {"name": "cloud-node-lifecycle-controller", "component": "*"},
                {"name": "node-route-controller", "component": "*"},
                {"name": "service-lb-controller", "component": "*"},
            ],
        })
    );
}

#[test]
fn flagz_shows_given_and_default_values() {
    let shown = flagz(&parsed(&["--controllers=a,b"]));
    assert!(shown.contains(&("controllers".into(), "[a,b]".into())));
    assert!(shown.contains(&("node-status-update-frequency".into(), "5m0s".into())));
}
