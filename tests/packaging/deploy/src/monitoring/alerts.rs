//! The rows of the table of alerts. Metrics that other programs have under the same name are joined with one that only we have.

use super::Alert;
use super::Severity::{Critical, Info, Warning};

/// All alerts, those first that say that nothing works.
pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "BowlineAbsent",
        expr: "absent(bowline_paused)",
        lasts: "5m",
        severity: Critical,
        summary: "Prometheus sees no cloud-controller-manager.",
        description: "New nodes stay tainted and Services get no load balancer. What exists goes on working.",
        raised_by: &[("up{job=\"other\"}", "1x120")],
        not_by: &[("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120")],
    },
    Alert {
        name: "BowlineNoLeader",
        expr: "max by (name) (leader_election_master_status and on (job, instance) bowline_paused) == 0",
        lasts: "3m",
        severity: Critical,
        summary: "No replica holds the Lease {{ $labels.name }}.",
        description: "The replicas run and none of them works: the API server refuses the Lease, or somebody else holds it.",
        raised_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"a\",name=\"cloud-controller-manager\"}",
                "0x120",
            ),
        ],
        not_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            ("bowline_paused{job=\"ccm\",instance=\"b\"}", "0x120"),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"a\",name=\"cloud-controller-manager\"}",
                "0x120",
            ),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"b\",name=\"cloud-controller-manager\"}",
                "1x120",
            ),
            (
                "leader_election_master_status{job=\"kcm\",instance=\"c\",name=\"kube-controller-manager\"}",
                "0x120",
            ),
        ],
    },
    Alert {
        name: "BowlineTwoLeaders",
        expr: "sum by (name) (leader_election_master_status and on (job, instance) bowline_paused) > 1",
        lasts: "1m",
        severity: Critical,
        summary: "Two replicas say that they hold the Lease {{ $labels.name }}.",
        description: "It must not be. Both ask the fence before each write, which holds one of them back; find out why one has not noticed.",
        raised_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            ("bowline_paused{job=\"ccm\",instance=\"b\"}", "0x120"),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"a\",name=\"cloud-controller-manager\"}",
                "1x120",
            ),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"b\",name=\"cloud-controller-manager\"}",
                "1x120",
            ),
        ],
        not_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"a\",name=\"cloud-controller-manager\"}",
                "1x120",
            ),
            (
                "leader_election_master_status{job=\"kcm\",instance=\"c\",name=\"kube-controller-manager\"}",
                "1x120",
            ),
        ],
    },
    Alert {
        name: "BowlineCloudIdentityLost",
        expr: "max(bowline_cloud_identity_lost) == 1",
        lasts: "2m",
        severity: Critical,
        summary: "OpenStack does not accept our credentials, or takes us for another project.",
        description: "Nothing is changed until it does: no Node is deleted, no load balancer made.",
        raised_by: &[("bowline_cloud_identity_lost{job=\"ccm\",instance=\"a\"}", "1x120")],
        not_by: &[("bowline_cloud_identity_lost{job=\"ccm\",instance=\"a\"}", "0x120")],
    },
    Alert {
        name: "BowlineNodeDeletionBreakerOpen",
        expr: "max(bowline_node_deletion_breaker_open) == 1",
        lasts: "5m",
        severity: Critical,
        summary: "So many servers look gone at once that no Node is deleted.",
        description: "Either the cloud tells a part of the truth, or a part of the cluster is gone. A person has to look which.",
        raised_by: &[("bowline_node_deletion_breaker_open{job=\"ccm\",instance=\"a\"}", "1x120")],
        not_by: &[("bowline_node_deletion_breaker_open{job=\"ccm\",instance=\"a\"}", "0x110 1x2")],
    },
    Alert {
        name: "BowlineLoadBalancerBreakerOpen",
        expr: "max(bowline_load_balancer_breaker_open) == 1",
        lasts: "5m",
        severity: Critical,
        summary: "So many load balancers are broken at once that none is replaced.",
        description: "The cloud reports several load balancers as broken although they may still carry traffic. Check the control plane of the cloud, for OpenStack the amphorae and Octavia's management network, and fail the load balancers over.",
        raised_by: &[("bowline_load_balancer_breaker_open{job=\"ccm\",instance=\"a\"}", "1x120")],
        not_by: &[("bowline_load_balancer_breaker_open{job=\"ccm\",instance=\"a\"}", "0x110 1x2")],
    },
    Alert {
        name: "BowlineConfigRefused",
        expr: "max(bowline_openstack_config_refused) == 1",
        lasts: "5m",
        severity: Warning,
        summary: "The cloud.conf that was found is not used.",
        description: "The one before stays in use. A restart would not come up with the new one.",
        raised_by: &[("bowline_openstack_config_refused{job=\"ccm\",instance=\"a\"}", "1x120")],
        not_by: &[("bowline_openstack_config_refused{job=\"ccm\",instance=\"a\"}", "0x120")],
    },
    Alert {
        name: "BowlineCredentialExpires",
        expr: "min by (credential) (bowline_openstack_credential_expiry_timestamp_seconds) - time() < 7 * 86400",
        lasts: "15m",
        severity: Warning,
        summary: "The manager's {{ $labels.credential }} expires in {{ $value | humanizeDuration }}.",
        description: "After that OpenStack refuses the manager: nothing is changed, and what is there stays.",
        raised_by: &[(
            "bowline_openstack_credential_expiry_timestamp_seconds{job=\"ccm\",credential=\"application_credential\"}",
            "600000x120",
        )],
        not_by: &[(
            "bowline_openstack_credential_expiry_timestamp_seconds{job=\"ccm\",credential=\"application_credential\"}",
            "700000x120",
        )],
    },
    Alert {
        name: "BowlineQuotaNearlyUsed",
        expr: "max by (resource) (bowline_openstack_quota_used) \
               / max by (resource) (bowline_openstack_quota_limit) >= 0.9",
        lasts: "15m",
        severity: Warning,
        summary: "{{ $value | humanizePercentage }} of the quota of {{ $labels.resource }} is used.",
        description: "When the quota is full, new Services get no load balancer or no floating IP. Services that have one keep it.",
        raised_by: &[
            ("bowline_openstack_quota_used{job=\"ccm\",instance=\"a\",resource=\"floating_ip\"}", "45x120"),
            ("bowline_openstack_quota_limit{job=\"ccm\",instance=\"a\",resource=\"floating_ip\"}", "50x120"),
        ],
        not_by: &[
            ("bowline_openstack_quota_used{job=\"ccm\",instance=\"a\",resource=\"floating_ip\"}", "44x120"),
            ("bowline_openstack_quota_limit{job=\"ccm\",instance=\"a\",resource=\"floating_ip\"}", "50x120"),
        ],
    },
    Alert {
        name: "BowlineServicesUnsettled",
        expr: "sum by (reason) (bowline_services_unsettled{reason!~\"pause|adopt-only\"}) > 0",
        lasts: "30m",
        severity: Warning,
        summary: "{{ $value }} Services do not have what they ask for: {{ $labels.reason }}.",
        description: "The condition bowline.dev/LoadBalancerReady of each Service says what is missing and what to do.",
        raised_by: &[("bowline_services_unsettled{job=\"ccm\",instance=\"a\",reason=\"Refused\"}", "2x120")],
        not_by: &[
            (
                "bowline_services_unsettled{job=\"ccm\",instance=\"a\",reason=\"WaitingForCloud\"}",
                "0x100 1x20",
            ),
            ("bowline_services_unsettled{job=\"ccm\",instance=\"a\",reason=\"pause\"}", "1x120"),
        ],
    },
    Alert {
        name: "BowlineLoadBalancersDrift",
        expr: "sum(increase(bowline_load_balancer_drift_total[1d])) > 10",
        lasts: "0m",
        severity: Info,
        summary: "{{ $value }} load balancers were changed by somebody else within a day.",
        description: "The manager repairs them. A person or another program changes them behind its back; find out who.",
        raised_by: &[("bowline_load_balancer_drift_total{job=\"ccm\",instance=\"a\"}", "0+1x120")],
        not_by: &[("bowline_load_balancer_drift_total{job=\"ccm\",instance=\"a\"}", "0x110 2x10")],
    },
    Alert {
        name: "BowlineCloudNotRead",
        // Octavia is read only while there are Services for it, so it counts only while calls to it fail.
        expr: "max by (service) (bowline_cloud_last_read_age_seconds{service=~\"identity|compute|network\"} \
               and on (job, instance) leader_election_master_status == 1) > 5400 \
               or max by (service) (bowline_cloud_last_read_age_seconds{service=\"load-balancer\"} \
               and on (job, instance) leader_election_master_status == 1 \
               and on (job, instance) sum by (job, instance) \
               (increase(openstack_api_request_errors_total{request=~\"loadbalancer_.+\"}[30m])) > 0) > 5400",
        lasts: "5m",
        severity: Warning,
        summary: "{{ $labels.service }} has answered no read for {{ $value | humanizeDuration }}.",
        description: "The manager works with what it read before: it initialises no Node and follows no change there.",
        raised_by: &[
            (
                "bowline_cloud_last_read_age_seconds{job=\"ccm\",instance=\"a\",service=\"compute\"}",
                "0+60x120",
            ),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"a\",name=\"cloud-controller-manager\"}",
                "1x120",
            ),
        ],
        not_by: &[
            (
                "bowline_cloud_last_read_age_seconds{job=\"ccm\",instance=\"a\",service=\"compute\"}",
                "300x120",
            ),
            (
                "bowline_cloud_last_read_age_seconds{job=\"ccm\",instance=\"a\",service=\"load-balancer\"}",
                "0+60x120",
            ),
            (
                "openstack_api_request_errors_total{job=\"ccm\",instance=\"a\",request=\"loadbalancer_list\"}",
                "5x120",
            ),
            (
                "bowline_cloud_last_read_age_seconds{job=\"ccm\",instance=\"b\",service=\"compute\"}",
                "0+60x120",
            ),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"a\",name=\"cloud-controller-manager\"}",
                "1x120",
            ),
            (
                "leader_election_master_status{job=\"ccm\",instance=\"b\",name=\"cloud-controller-manager\"}",
                "0x120",
            ),
        ],
    },
    Alert {
        name: "BowlineMissingPermission",
        expr: "max by (verb, resource, controller) (bowline_missing_permissions) > 0",
        lasts: "10m",
        severity: Warning,
        summary: "{{ $labels.controller }} may not {{ $labels.verb }} {{ $labels.resource }}.",
        description: "A part of the work is not done. The rights that are needed are in deploy/rbac.yaml.",
        raised_by: &[(
            "bowline_missing_permissions{job=\"ccm\",verb=\"patch\",resource=\"nodes\",controller=\"cloud-node-controller\"}",
            "1x120",
        )],
        not_by: &[("bowline_paused{job=\"ccm\"}", "0x120")],
    },
    Alert {
        name: "BowlineNodesNotInitialized",
        expr: "max(bowline_nodes_initialization_failing) > 0",
        lasts: "10m",
        severity: Warning,
        summary: "{{ $value }} Nodes cannot be initialised.",
        description: "They keep their taint, and no pod is scheduled there. The event of each Node says why.",
        raised_by: &[("bowline_nodes_initialization_failing{job=\"ccm\",instance=\"a\"}", "2x120")],
        not_by: &[("bowline_nodes_initialization_failing{job=\"ccm\",instance=\"a\"}", "0x115 1x4")],
    },
    Alert {
        name: "BowlineNodeDeletionsHeld",
        expr: "max by (rail) (bowline_node_deletions_held{rail=~\"budget|evidence\"}) > 0",
        lasts: "30m",
        severity: Warning,
        summary: "{{ $value }} Nodes are not deleted: safety rail {{ $labels.rail }}.",
        description: "Their servers look gone, but not surely enough, or too many went within a short time.",
        raised_by: &[("bowline_node_deletions_held{job=\"ccm\",instance=\"a\",rail=\"evidence\"}", "1x120")],
        not_by: &[("bowline_node_deletions_held{job=\"ccm\",instance=\"a\",rail=\"grace\"}", "1x120")],
    },
    Alert {
        name: "BowlineControllerUnavailable",
        expr: "max by (controller) (bowline_controller_unavailable) == 1",
        lasts: "10m",
        severity: Warning,
        summary: "{{ $labels.controller }} waits for a service of the cloud.",
        description: "The service is missing from the catalog, or it does not answer. The other controllers work.",
        raised_by: &[(
            "bowline_controller_unavailable{job=\"ccm\",controller=\"service-lb-controller\"}",
            "1x120",
        )],
        not_by: &[(
            "bowline_controller_unavailable{job=\"ccm\",controller=\"service-lb-controller\"}",
            "0x120",
        )],
    },
    Alert {
        name: "BowlineControllerRestarting",
        expr: "sum by (controller) (increase(bowline_controller_restarts_total[30m])) > 3",
        lasts: "0m",
        severity: Warning,
        summary: "{{ $labels.controller }} fails and is started again and again.",
        description: "Its work is delayed. The log tells with which error it ended.",
        raised_by: &[(
            "bowline_controller_restarts_total{job=\"ccm\",controller=\"node-route-controller\"}",
            "0+1x120",
        )],
        not_by: &[(
            "bowline_controller_restarts_total{job=\"ccm\",controller=\"node-route-controller\"}",
            "0x100 1x20",
        )],
    },
    Alert {
        name: "BowlineWorkerPanic",
        expr: "sum by (name) (increase(bowline_workqueue_panics_total[15m])) > 0",
        lasts: "0m",
        severity: Warning,
        summary: "A worker of queue {{ $labels.name }} panicked.",
        description: "It is a bug. The key is tried again later; everything else goes on.",
        raised_by: &[("bowline_workqueue_panics_total{job=\"ccm\",name=\"service\"}", "0x110 1x10")],
        not_by: &[("bowline_workqueue_panics_total{job=\"ccm\",name=\"service\"}", "3x120")],
    },
    Alert {
        name: "BowlineWorkStuck",
        expr: "max by (name) (workqueue_longest_running_processor_seconds and on (job, instance) bowline_paused) > 900",
        lasts: "5m",
        severity: Warning,
        summary: "A worker of queue {{ $labels.name }} is busy with one key for {{ $value | humanizeDuration }}.",
        description: "Nothing should take longer than --cloud-change-timeout.",
        raised_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            (
                "workqueue_longest_running_processor_seconds{job=\"ccm\",instance=\"a\",name=\"service\"}",
                "0+60x120",
            ),
        ],
        not_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            (
                "workqueue_longest_running_processor_seconds{job=\"ccm\",instance=\"a\",name=\"service\"}",
                "5x120",
            ),
            (
                "workqueue_longest_running_processor_seconds{job=\"kcm\",instance=\"c\",name=\"job\"}",
                "0+60x120",
            ),
        ],
    },
    Alert {
        name: "BowlineQueueLong",
        expr: "sum by (name) (workqueue_depth and on (job, instance) bowline_paused) > 100",
        lasts: "20m",
        severity: Warning,
        summary: "{{ $value }} keys wait in queue {{ $labels.name }}.",
        description: "Work comes faster than it is done: the budget of cloud calls is too small, or the cloud is slow.",
        raised_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            ("workqueue_depth{job=\"ccm\",instance=\"a\",name=\"service\"}", "500x120"),
        ],
        not_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            ("workqueue_depth{job=\"ccm\",instance=\"a\",name=\"service\"}", "3x120"),
        ],
    },
    Alert {
        name: "BowlineLoadBalancersFailing",
        expr: "sum by (operation) (rate(cloudprovider_openstack_reconcile_errors_total[15m])) \
               / sum by (operation) (rate(cloudprovider_openstack_reconcile_total[15m])) > 0.5",
        lasts: "15m",
        severity: Warning,
        summary: "More than half of {{ $labels.operation }} fails.",
        description: "The condition bowline.dev/LoadBalancerReady and the events of each Service say why.",
        raised_by: &[
            (
                "cloudprovider_openstack_reconcile_errors_total{job=\"ccm\",operation=\"loadbalancer_ensure\"}",
                "0+9x120",
            ),
            (
                "cloudprovider_openstack_reconcile_total{job=\"ccm\",operation=\"loadbalancer_ensure\"}",
                "0+10x120",
            ),
        ],
        not_by: &[
            (
                "cloudprovider_openstack_reconcile_errors_total{job=\"ccm\",operation=\"loadbalancer_ensure\"}",
                "0+1x120",
            ),
            (
                "cloudprovider_openstack_reconcile_total{job=\"ccm\",operation=\"loadbalancer_ensure\"}",
                "0+10x120",
            ),
        ],
    },
    Alert {
        name: "BowlineCloudErrors",
        expr: "sum by (request) (rate(openstack_api_request_errors_total[10m])) \
               / sum by (request) (rate(openstack_api_requests_total[10m])) > 0.25 \
               and sum by (request) (rate(openstack_api_requests_total[10m])) > 0.01",
        lasts: "15m",
        severity: Warning,
        summary: "{{ $value | humanizePercentage }} of the calls {{ $labels.request }} fail.",
        description: "OpenStack answers with errors, or not at all.",
        raised_by: &[
            ("openstack_api_request_errors_total{job=\"ccm\",request=\"loadbalancer_list\"}", "0+6x120"),
            ("openstack_api_requests_total{job=\"ccm\",request=\"loadbalancer_list\"}", "0+10x120"),
        ],
        not_by: &[
            ("openstack_api_request_errors_total{job=\"ccm\",request=\"loadbalancer_list\"}", "0x115 1x5"),
            ("openstack_api_requests_total{job=\"ccm\",request=\"loadbalancer_list\"}", "0x115 2x5"),
        ],
    },
    Alert {
        name: "BowlineCloudThrottled",
        expr: "sum by (service) (increase(bowline_cloud_throttled_total[15m])) > 3",
        lasts: "0m",
        severity: Warning,
        summary: "{{ $labels.service }} asks us to slow down.",
        description: "We do, and everything takes longer. Lower --cloud-api-qps, or raise the limit of the cloud.",
        raised_by: &[("bowline_cloud_throttled_total{job=\"ccm\",service=\"compute\"}", "0+1x120")],
        not_by: &[("bowline_cloud_throttled_total{job=\"ccm\",service=\"compute\"}", "0x110 1x10")],
    },
    Alert {
        name: "BowlineCreateLimit",
        expr: "sum(increase(bowline_rail_held_back_total{rail=\"create-budget\"}[15m])) > 0",
        lasts: "0m",
        severity: Warning,
        summary: "The same thing was to be created for a Service too often.",
        description: "What is created vanishes or is not found again. The Service's condition names it; --create-limit is the limit.",
        raised_by: &[("bowline_rail_held_back_total{job=\"ccm\",rail=\"create-budget\"}", "0+1x120")],
        not_by: &[("bowline_rail_held_back_total{job=\"ccm\",rail=\"second-look\"}", "0+1x120")],
    },
    Alert {
        name: "BowlineWatchesFailing",
        expr: "sum by (informer) (increase(bowline_informer_failures_total[15m])) > 20",
        lasts: "0m",
        severity: Warning,
        summary: "Watching {{ $labels.informer }} fails again and again.",
        description: "What the manager knows of the cluster grows old: the API server is unreachable or overloaded.",
        raised_by: &[("bowline_informer_failures_total{job=\"ccm\",informer=\"nodes\"}", "0+3x120")],
        not_by: &[("bowline_informer_failures_total{job=\"ccm\",informer=\"nodes\"}", "0x110 2x10")],
    },
    Alert {
        name: "BowlineRestarting",
        expr: "changes(process_start_time_seconds[1h]) > 3 and on (job, instance) bowline_paused",
        lasts: "0m",
        severity: Warning,
        summary: "{{ $labels.instance }} was restarted {{ $value }} times within an hour.",
        description: "It crashes, or its probes kill it. The log of the previous container tells.",
        raised_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            ("process_start_time_seconds{job=\"ccm\",instance=\"a\"}", "0+600x120"),
        ],
        not_by: &[
            ("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x120"),
            ("process_start_time_seconds{job=\"ccm\",instance=\"a\"}", "100x120"),
            ("process_start_time_seconds{job=\"other\",instance=\"c\"}", "0+600x120"),
        ],
    },
    Alert {
        name: "BowlineOperatorFailing",
        expr: "sum by (name, result) (increase(bowline_operator_reconciles_total{result!=\"ok\"}[30m])) > 0 \
               unless on (name) sum by (name) (increase(bowline_operator_reconciles_total{result=\"ok\"}[30m])) > 0",
        lasts: "15m",
        severity: Warning,
        summary: "The operator cannot do what CloudControllerManager {{ $labels.name }} asks for: {{ $labels.result }}.",
        description: "The manager that runs goes on as it is. What was changed on the resource has no effect.",
        raised_by: &[
            ("bowline_operator_reconciles_total{job=\"operator\",name=\"cluster\",result=\"ok\"}", "7x120"),
            (
                "bowline_operator_reconciles_total{job=\"operator\",name=\"cluster\",result=\"SpecInvalid\"}",
                "0+1x120",
            ),
        ],
        not_by: &[
            ("bowline_operator_reconciles_total{job=\"operator\",name=\"cluster\",result=\"ok\"}", "0+1x120"),
            (
                "bowline_operator_reconciles_total{job=\"operator\",name=\"cluster\",result=\"ApplyFailed\"}",
                "0+1x120",
            ),
        ],
    },
    Alert {
        name: "BowlineMigrationBetweenManagers",
        expr: "max by (name, phase) (bowline_operator_phase{phase=~\"Relinquish|Fence|RollingBack\"}) == 1",
        lasts: "30m",
        severity: Critical,
        summary: "The migration of CloudControllerManager {{ $labels.name }} stays in the phase {{ $labels.phase }}.",
        description: "The old manager has stopped or is stopping, and the new one does not work yet: new nodes stay tainted, and Services get no load balancer.",
        raised_by: &[("bowline_operator_phase{job=\"operator\",name=\"cluster\",phase=\"Fence\"}", "1x120")],
        not_by: &[
            ("bowline_operator_phase{job=\"operator\",name=\"cluster\",phase=\"Fence\"}", "1x20 stale"),
            ("bowline_operator_phase{job=\"operator\",name=\"cluster\",phase=\"Nodes\"}", "_x20 1x100"),
        ],
    },
    Alert {
        name: "BowlineMigrationBlocked",
        expr: "max by (name) (bowline_operator_phase{phase=\"Blocked\"}) == 1",
        lasts: "5m",
        severity: Warning,
        summary: "The migration of CloudControllerManager {{ $labels.name }} is blocked: a person has to decide.",
        description: "The operator changes nothing more until then. Its conditions say what it found and what may be chosen.",
        raised_by: &[(
            "bowline_operator_phase{job=\"operator\",name=\"cluster\",phase=\"Blocked\"}",
            "1x120",
        )],
        not_by: &[("bowline_operator_phase{job=\"operator\",name=\"cluster\",phase=\"Steady\"}", "1x120")],
    },
    Alert {
        name: "BowlineMigrationAwaitsAdmin",
        expr: "max by (name) (bowline_operator_phase{phase=\"AwaitAdmin\"}) == 1",
        lasts: "1h",
        severity: Info,
        summary: "The migration of CloudControllerManager {{ $labels.name }} waits for a person to do something.",
        description: "Nothing is wrong: the manager from before works. The condition of the resource says what there is to do.",
        raised_by: &[(
            "bowline_operator_phase{job=\"operator\",name=\"cluster\",phase=\"AwaitAdmin\"}",
            "1x120",
        )],
        not_by: &[(
            "bowline_operator_phase{job=\"operator\",name=\"cluster\",phase=\"AwaitAdmin\"}",
            "_x90 1x30",
        )],
    },
    Alert {
        name: "BowlineOperatorDisputed",
        expr: "sum by (name) (increase(bowline_operator_applied_objects_total{what=\"updated\"}[30m])) > 30",
        lasts: "30m",
        severity: Warning,
        summary: "Somebody undoes what the operator writes for CloudControllerManager {{ $labels.name }}, again and again.",
        description: "Two controllers, often one of GitOps, want different things of one object. The pods of the manager may be replaced each time.",
        raised_by: &[(
            "bowline_operator_applied_objects_total{job=\"operator\",name=\"cluster\",what=\"updated\"}",
            "0+5x120",
        )],
        not_by: &[
            (
                "bowline_operator_applied_objects_total{job=\"operator\",name=\"cluster\",what=\"updated\"}",
                "0x60 20x60",
            ),
            (
                "bowline_operator_applied_objects_total{job=\"operator\",name=\"cluster\",what=\"created\"}",
                "0+5x120",
            ),
        ],
    },
    Alert {
        name: "BowlinePaused",
        expr: "max(bowline_paused) == 1",
        lasts: "1h",
        severity: Info,
        summary: "A person paused all changes, an hour ago or longer.",
        description: "Nodes are not initialised and load balancers not changed until the pause is ended.",
        raised_by: &[("bowline_paused{job=\"ccm\",instance=\"a\"}", "1x120")],
        not_by: &[("bowline_paused{job=\"ccm\",instance=\"a\"}", "0x90 1x30")],
    },
    Alert {
        name: "BowlineCloudBudgetShort",
        expr: "sum by (service) (rate(bowline_cloud_budget_waited_seconds_total[15m])) > 1",
        lasts: "30m",
        severity: Info,
        summary: "Calls to {{ $labels.service }} wait for the budget all the time.",
        description: "Everything takes longer than it could. Raise --cloud-api-qps if the cloud can take it.",
        raised_by: &[(
            "bowline_cloud_budget_waited_seconds_total{job=\"ccm\",service=\"load-balancer\"}",
            "0+120x120",
        )],
        not_by: &[(
            "bowline_cloud_budget_waited_seconds_total{job=\"ccm\",service=\"load-balancer\"}",
            "0+1x120",
        )],
    },
];
