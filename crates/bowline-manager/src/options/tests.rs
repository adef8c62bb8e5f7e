//! Options as operators give them: defaults, full command lines, and everything that is refused.

mod controllers;
mod shown;

use bowline_controllers::rails::node_filter::NodeFilter;
use ipnet::IpNet;

use super::*;
use crate::flags::FlagProblem;
use crate::logging::LogFormat;
use crate::migration::LeaderMigration;

fn parsed(line: &[&str]) -> Parsed {
    parse(&FlagTable::common(), line).unwrap_or_else(|errors| panic!("{line:?}: {errors}"))
}

/// Options of a command line that also names a provider.
fn options(line: &[&str]) -> Options {
    let line = [line, &["--cloud-provider=fake"]].concat();
    Options::from_parsed(&parsed(&line)).unwrap_or_else(|errors| panic!("{line:?}: {errors}"))
}

fn refused(line: &[&str]) -> Vec<String> {
    let line = [&["--cloud-provider=fake"], line].concat();
    match Options::from_parsed(&parsed(&line)) {
        Ok(_) => panic!("{line:?} was accepted"),
        Err(errors) => errors.0.iter().map(ToString::to_string).collect(),
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn without_flags_everything_is_as_upstream_has_it() {
    let options = Options::default();
    assert_eq!(
        options,
        Options {
            leader_election: LeaderElectionOptions {
                enabled: true,
                lease_duration: seconds(15),
                renew_deadline: seconds(10),
                retry_period: seconds(2),
                resource_name: "cloud-controller-manager".into(),
                resource_namespace: "kube-system".into(),
            },
            leader_migration: LeaderMigrationOptions { enabled: false, config_file: None },
            client: ClientOptions {
                kubeconfig: None,
                master: None,
                qps: -1.0,
                burst: 30,
                timeout: seconds(30)
            },
            controllers: vec!["*".into()],
            controller_start_interval: Duration::ZERO,
            cloud: CloudOptions {
                provider: String::new(),
                config_file: None,
                cluster_name: "kubernetes".into(),
                allow_untagged: false,
                api_qps: 10.0,
                api_burst: 20,
                look_up_timeout: seconds(300),
                change_timeout: seconds(900),
                configure_routes: true,
                cluster_cidrs: Vec::new(),
                route_reconciliation_period: seconds(10),
            },
            use_service_account_credentials: false,
            serving: ServingConfig::default(),
            authentication: AuthenticationConfig::default(),
            authentication_kubeconfig: None,
            authorization: AuthorizationConfig::default(),
            authorization_kubeconfig: None,
            profiling: true,
            node: NodeOptions {
                concurrent_syncs: 1,
                concurrent_status_updates: 0,
                filter: NodeFilter::default(),
                monitor_period: seconds(5),
                status_update_frequency: seconds(300),
                concurrent_lifecycle_syncs: 1,
            },
            service: ServiceOptions { concurrent_syncs: 1, poll_period: None },
            ipam: IpamOptions {
                allocate_node_cidrs: false,
                allocator_type: "RangeAllocator".into(),
                cluster_cidrs: Vec::new(),
                service_cidrs: Vec::new(),
                node_mask_v4: 24,
                node_mask_v6: 64,
                masks_given: MasksGiven::default(),
            },
            rails: RailOptions {
                node_deletion_limit_percent: 10,
                node_deletion_window: Duration::from_secs(600),
                node_deletion_breaker_percent: 33,
                new_node_grace: Duration::from_secs(300),
                out_of_service_taint: false,
                skip_node_deletion: false,
                node_deletion_breaker_recovery: seconds(60),
                node_removal_taints: vec!["ToBeDeletedByClusterAutoscaler".into()],
                reconcile_node_labels: false,
                second_look_delay: seconds(5),
                load_balancer_replacement_delay: Duration::from_secs(60),
                load_balancer_breaker_percent: 10,
                create_limit: 3,
                create_limit_window: seconds(3600),
                load_balancer_repair_period: Some(Duration::from_hours(12)),
            },
            paused: false,
            shadow: ShadowOptions {
                mode: None,
                period: seconds(60),
                report: ("kube-system".into(), "bowline-shadow-report".into()),
            },
            logging: LoggingOptions { format: LogFormat::Text, verbosity: 0, vmodule: Vec::new() },
            shutdown_grace: seconds(2),
            feature_gates: FeatureGates::default(),
            unused: UnusedOptions {
                min_resync_period: seconds(12 * 3600),
                kube_api_content_type: "application/vnd.kubernetes.protobuf".into(),
                contention_profiling: false,
                external_cloud_volume_plugin: String::new(),
                node_sync_period: crate::flags::GoDuration::default(),
                webhooks: Vec::new(),
                resource_lock: "leases".into(),
                cluster_cidr: String::new(),
            },
            warnings: Vec::new(),
        }
    );
}

#[test]
fn a_full_command_line_reaches_every_option() {
    let options = options(&[
        "--allocate-node-cidrs=true",
        "--authorization-always-allow-paths=",
        "--authentication-kubeconfig=/authn",
        "--authorization-kubeconfig=/authz",
        "--authentication-skip-lookup",
        "--authentication-token-webhook-cache-ttl=1m",
        "--bind-address=192.168.4.21",
        "--cert-dir=/a/b/c",
        "--client-ca-file=/ca",
        "--cloud-api-burst=5",
        "--cloud-api-qps=2.5",
        "--cloud-config=/cloud-config",
        "--cluster-cidr=1.2.3.4/16,fd00::/56",
        "--cluster-name=k8s",
        "--concurrent-node-lifecycle-syncs=3",
        "--concurrent-node-status-updates=4",
        "--concurrent-node-syncs=2",
        "--concurrent-service-syncs=5",
        "--configure-cloud-routes=false",
        "--controller-start-interval=2m",
        "--controllers=foo,bar",
        "--disable-http2-serving",
        "--enable-leader-migration",
        "--leader-migration-config=/migration",
        "--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true",
        "--http2-max-streams-per-connection=47",
        "--kube-api-burst=100",
        "--kube-api-qps=50.0",
        "--kube-api-timeout=1m",
        "--kubeconfig=/kubeconfig",
        "--leader-elect-lease-duration=30s",
        "--leader-elect-renew-deadline=15s",
        "--leader-elect-resource-name=ccm",
        "--leader-elect-resource-namespace=other",
        "--leader-elect-retry-period=5s",
        "--logging-format=json",
        "--master=192.168.4.20",
        "--node-monitor-period=7s",
        "--node-status-update-frequency=10m",
        "--profiling=false",
        "--route-reconciliation-period=30s",
        "--secure-port=10001",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--shutdown-grace-period=9s",
        "--tls-curve-preferences=29,23",
        "--tls-sni-cert-key=/crt,/key:name",
        "--use-service-account-credentials=false",
        "--vmodule=lease=4,serving*=99999",
        "-v=300",
    ]);
    assert_eq!(options.authorization.always_allow_paths, Vec::<String>::new());
    assert_eq!(options.authentication_kubeconfig, Some("/authn".into()));
    assert_eq!(options.authorization_kubeconfig, Some("/authz".into()));
    assert!(options.authentication.skip_lookup && options.authentication.token_cache_ttl == seconds(60));
    assert_eq!(options.authentication.client_ca_file, Some("/ca".into()));
    let serving = &options.serving;
    assert_eq!((serving.bind_address.to_string(), serving.port), ("192.168.4.21".to_owned(), 10001));
    assert_eq!((&serving.cert_dir, serving.http2_max_streams), (&Some("/a/b/c".into()), 47));
    assert!(serving.disable_http2 && serving.curve_preferences == [29, 23]);
    assert_eq!(serving.sni_cert_keys[0].names, ["name"]);
    let cloud = &options.cloud;
    assert!((cloud.api_qps, cloud.api_burst) == (2.5, 5) && !cloud.configure_routes);
    assert_eq!((cloud.provider.as_str(), cloud.cluster_name.as_str()), ("fake", "k8s"));
    assert_eq!(
        (&cloud.config_file, cloud.route_reconciliation_period),
        (&Some("/cloud-config".into()), seconds(30))
    );
    let ranges: Vec<IpNet> = vec!["1.2.0.0/16".parse().unwrap(), "fd00::/56".parse().unwrap()];
    assert_eq!(cloud.cluster_cidrs, ranges);
    let node = &options.node;
    assert_eq!(
        (node.concurrent_syncs, node.status_update_workers(), node.concurrent_lifecycle_syncs),
        (2, 4, 3)
    );
    assert_eq!((node.monitor_period, node.status_update_frequency), (seconds(7), seconds(600)));
    assert_eq!(options.service.concurrent_syncs, 5);
    assert_eq!((options.controller_start_interval, options.shutdown_grace), (seconds(120), seconds(9)));
    assert_eq!(options.controllers, ["foo", "bar"]);
    let migration = LeaderMigrationOptions { enabled: true, config_file: Some("/migration".into()) };
    assert_eq!(options.leader_migration, migration);
    assert!(options.feature_gates.is_enabled("CloudControllerManagerWatchBasedRoutesReconciliation"));
    let client = &options.client;
    assert!((client.qps, client.burst, client.timeout) == (50.0, 100, seconds(60)));
    assert_eq!(
        (&client.kubeconfig, client.master.as_deref()),
        (&Some("/kubeconfig".into()), Some("192.168.4.20"))
    );
    let election = &options.leader_election;
    assert_eq!(
        (election.lease_duration, election.renew_deadline, election.retry_period),
        (seconds(30), seconds(15), seconds(5))
    );
    assert_eq!((election.resource_name.as_str(), election.resource_namespace.as_str()), ("ccm", "other"));
    assert!(!options.profiling && options.ipam.allocate_node_cidrs);
    let vmodule = vec![("lease".to_owned(), 4), ("serving*".to_owned(), 255)];
    assert_eq!(options.logging, LoggingOptions { format: LogFormat::Json, verbosity: 255, vmodule });
}

#[test]
fn the_election_is_checked_only_if_there_is_one() {
    let wrong = ["--leader-elect-resource-lock=endpoints", "--leader-elect-lease-duration=5s"];
    let problems = refused(&wrong);
    assert_eq!(problems[0], "--leader-elect-resource-lock=endpoints: only \"leases\" is accepted");
    assert!(problems[1].contains("--leader-elect-renew-deadline"), "{problems:?}");
    options(&[&wrong[..], &["--leader-elect=false"]].concat());
    for wrong in [
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-resource-name=",
        "--leader-elect-retry-period=-1s",
    ] {
        assert!(!refused(&[wrong]).is_empty(), "{wrong}");
    }
}

#[test]
fn migration_without_election_is_off_with_a_warning() {
    let options = options(&["--enable-leader-migration", "--leader-elect=false"]);
    assert!(!options.leader_migration.enabled);
    assert_eq!(options.warnings, ["--enable-leader-migration does nothing without --leader-elect"]);
}

#[test]
fn every_problem_is_told_at_once() {
    let no_provider = Options::from_parsed(&parsed(&["--concurrent-service-syncs=0", "--secure-port=65536"]));
    assert_eq!(
        no_provider.unwrap_err().to_string(),
        "--cloud-provider=: must not be empty; give the name of the cloud provider\n\
         --secure-port=65536: must be between 0 and 65535\n\
         --concurrent-service-syncs=0: must be at least 1"
    );
}

#[test]
fn node_workers_are_at_least_one_and_status_workers_may_follow_them() {
    for (line, accepted) in [
        (["--concurrent-node-syncs=1", "--concurrent-node-status-updates=0"], true),
        (["--concurrent-node-syncs=10", "--concurrent-node-status-updates=5"], true),
        (["--concurrent-node-syncs=0", "--concurrent-node-status-updates=0"], false),
        (["--concurrent-node-syncs=-1", "--concurrent-node-status-updates=1"], false),
        (["--concurrent-node-syncs=1", "--concurrent-node-status-updates=-1"], false),
        (["--concurrent-node-syncs=-1", "--concurrent-node-status-updates=-1"], false),
    ] {
        let line = [&line[..], &["--cloud-provider=fake"]].concat();
        assert_eq!(Options::from_parsed(&parsed(&line)).is_ok(), accepted, "{line:?}");
    }
    assert_eq!(options(&["--concurrent-node-syncs=7"]).node.status_update_workers(), 7);
}

#[test]
fn more_workers_than_are_of_use_are_as_many_as_are_with_a_warning() {
    for (given, used, warnings) in [("1000", 1000, 0), ("1001", 1000, 1), ("9223372036854775807", 1000, 1)] {
        let service = format!("--concurrent-service-syncs={given}");
        let status = format!("--concurrent-node-status-updates={given}");
        let read = options(&[&service, &status]);
        assert_eq!(
            (read.service.concurrent_syncs, read.node.status_update_workers()),
            (used, used),
            "{given}"
        );
        assert_eq!(read.warnings.len(), 2 * warnings, "{given}: {:?}", read.warnings);
    }
}

#[test]
fn values_that_would_stop_or_spin_the_manager_are_refused() {
    for wrong in [
        "--kube-api-burst=0",
        "--cloud-api-qps=0",
        "--cloud-api-burst=-3",
        "--kube-api-timeout=0",
        "--node-monitor-period=0s",
        "--route-reconciliation-period=-1s",
        "--node-status-update-frequency=0",
        "--shutdown-grace-period=-1s",
        "--concurrent-node-lifecycle-syncs=0",
        "--webhook-secure-port=-1",
        "--logging-format=xml",
        "--v=-1",
        "--vmodule=a=b",
        "--tls-cert-file=/only-one",
        "--tls-sni-cert-key=/only-one",
        "--tls-curve-preferences=X25519",
        "--http2-max-streams-per-connection=-1",
        "--requestheader-username-headers= ",
        "--authorization-always-allow-paths=/a*b",
        "--cluster-cidr=10.0.0.0",
        "--cluster-cidr=10.0.0.0/8,11.0.0.0/8",
        "--cluster-cidr=10.0.0.0/8,fd00::/64,fd01::/64",
        "--webhooks=foo",
        "--webhooks=-foo",
    ] {
        let problems = refused(&[wrong]);
        assert_eq!(problems.len(), 1, "{wrong}: {problems:?}");
    }
    options(&["--webhooks=*", "--shutdown-grace-period=0"]);
}

#[test]
fn the_api_servers_qps_is_read_as_client_go_reads_it() {
    for (given, means) in [("20", 20.0), ("0", 5.0), ("-1", -1.0)] {
        let flag = format!("--kube-api-qps={given}");
        let qps = options(&[&flag]).client.qps;
        assert!((qps - means).abs() < f64::EPSILON, "{flag} means {qps}");
    }
}

#[test]
fn a_list_of_gates_made_for_all_components_is_accepted_with_warnings() {
    let warned = options(&["--feature-gates=SidecarContainers=true,CloudDualStackNodeIPs=true"]).warnings;
    assert_eq!(warned.len(), 2, "{warned:?}");
    assert_eq!(refused(&["--feature-gates=SidecarContainer=true"]).len(), 1, "but a typo is not");
}

#[test]
fn the_two_ports_must_differ_unless_serving_webhooks_is_off() {
    assert_eq!(
        refused(&["--secure-port=10260"]),
        ["--webhook-secure-port and --secure-port are both 10260, but must differ"]
    );
    options(&["--secure-port=0", "--webhook-secure-port=0"]);
}

#[test]
fn a_front_proxy_needs_a_header_for_the_user() {
    let line = ["--requestheader-client-ca-file=/ca", "--requestheader-username-headers="];
    assert_eq!(refused(&line).len(), 1);
    options(&line[1..]);
}

#[test]
fn what_keeps_pod_ranges_from_being_handed_out_is_a_warning_until_they_are() {
    let on = "--allocate-node-cidrs";
    for wrong in [
        &[on][..],
        &[on, "--cluster-cidr=10.0.0.0/16", "--cidr-allocator-type=CloudAllocator"],
        &[on, "--cluster-cidr=10.0.0.0/16", "--node-cidr-mask-size=24", "--node-cidr-mask-size-ipv4=24"],
        &[on, "--cluster-cidr=10.0.0.0/16,fd00::/56", "--node-cidr-mask-size=24"],
        &[on, "--cluster-cidr=10.0.0.0/16", "--node-cidr-mask-size-ipv6=64"],
        &[on, "--cluster-cidr=fd00::/56", "--node-cidr-mask-size-ipv4=24"],
        &[on, "--cluster-cidr=10.0.0.0/16", "--node-cidr-mask-size=15"],
        &[on, "--cluster-cidr=fd00::/40"],
    ] {
        let asked = options(wrong);
        let problems = asked.ipam.check().unwrap_err();
        assert_eq!(problems.len(), 1, "{wrong:?}: {problems:?}");
        assert_eq!(asked.warnings.len(), 1, "{wrong:?}: {:?}", asked.warnings);
        assert!(asked.warnings[0].starts_with(&problems[0].to_string()), "{:?}", asked.warnings);
        let not_asked = options(&wrong[1..]);
        assert_eq!((not_asked.ipam.check(), not_asked.warnings), (Ok(()), Vec::new()), "{wrong:?}");
    }
    let dual = options(&[on, "--cluster-cidr=010.0.0.0/16, fd00::/56", "--node-cidr-mask-size-ipv4=25"]);
    assert_eq!((dual.ipam.node_mask_v4, dual.ipam.node_mask_v6), (25, 64));
    assert_eq!((dual.ipam.check(), &dual.warnings), (Ok(()), &Vec::new()));
    assert_eq!(dual.ipam.cluster_cidrs, dual.cloud.cluster_cidrs);
    assert_eq!(dual.cloud.cluster_cidrs[0].to_string(), "10.0.0.0/16", "leading zeros are decimal, as in Go");
    assert_eq!(options(&[on, "--cluster-cidr=10.0.0.0/8", "--node-cidr-mask-size=20"]).ipam.node_mask_v4, 20);
}

#[test]
fn an_empty_pod_range_is_accepted_whatever_else_is_asked() {
    for empty in ["--cluster-cidr=", "--cluster-cidr= "] {
        let asked = options(&[empty, "--allocate-node-cidrs", "--configure-cloud-routes"]);
        assert_eq!(asked.cloud.cluster_cidrs, Vec::<IpNet>::new(), "{empty}");
    }
}

#[test]
fn patterns_for_the_files_of_a_go_program_are_accepted_with_a_warning() {
    let warnings = options(&["--vmodule=*loadbalancer*=4,pkg/x=5,controller.go=3,bowline_kube=2"]).warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("--vmodule: \"*loadbalancer*\" matches nothing"), "{warnings:?}");
}

#[test]
fn flags_that_do_nothing_are_accepted_with_a_warning() {
    let warnings =
        options(&["--node-sync-period=5s", "--allow-untagged-cloud", "--min-resync-period=1h"]).warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("--allow-untagged-cloud: Deprecated"), "{warnings:?}");
}

#[test]
fn feature_gates_are_known_removed_or_unknown() {
    let gates = |value: &str| options(&[&format!("--feature-gates={value}")]);
    assert_eq!(
        gates("CloudControllerManagerWatchBasedRoutesReconciliation=true").warnings,
        Vec::<String>::new()
    );
    for quiet in [
        "CloudDualStackNodeIPs=true",
        "StableLoadBalancerNodeSet=false",
        "WatchListClient=true",
        "ContextualLogging=true",
    ] {
        assert_eq!(gates(quiet).warnings.len(), 1, "{quiet}");
    }
    assert_eq!(
        refused(&["--feature-gates=CloudControllerManagerWebhok=true,ContextualLogging=yes,Nonsense=true"]),
        [
            "--feature-gates=CloudControllerManagerWebhok=true: unknown feature gate; did you mean CloudControllerManagerWebhook?",
            "--feature-gates=ContextualLogging=yes: accepted are true and false",
            "--feature-gates=Nonsense=true: unknown feature gate",
        ]
    );
    let routes = "CloudControllerManagerWatchBasedRoutesReconciliation";
    assert!(gates("AllAlpha=true").feature_gates.is_enabled(routes));
    assert!(!gates(&format!("AllAlpha=true,{routes}=false")).feature_gates.is_enabled(routes));
    assert!(!gates("AllBeta=true").feature_gates.is_enabled(routes));
    assert!(gates("AllBeta=true").feature_gates.is_enabled("ContextualLogging"));
}

#[test]
fn a_whole_manifest_of_mistakes_is_told_by_the_parser_first() {
    let errors = parse(&FlagTable::common(), ["--leader-elec=true", "--secure-port=x"]).unwrap_err();
    assert!(matches!(errors.0.as_slice(), [FlagProblem::Unknown { .. }, FlagProblem::Value { .. }]));
}

#[test]
fn a_shadow_adopts_nothing_and_its_report_is_a_config_map() {
    use bowline_cloud::shadow::{DEFAULT_REPORT, Mode};
    assert_eq!(options(&["--shadow", "--leader-elect=true"]).shadow.mode, Some(Mode::Shadow));
    let adopting = options(&["--adopt-only", "--shadow-report=ccm/plan", "--shadow-period=5s"]).shadow;
    let report = ("ccm".to_owned(), "plan".to_owned());
    assert_eq!(adopting, ShadowOptions { mode: Some(Mode::AdoptOnly), period: seconds(5), report });
    let (namespace, name) = options(&[]).shadow.report;
    assert_eq!((namespace.as_str(), name.as_str()), DEFAULT_REPORT);
    for wrong in ["plan", "/plan", "ccm/", "Ccm/plan", "ccm/plan/json", ""] {
        let problems = refused(&[&format!("--shadow-report={wrong}")]);
        assert!(problems[0].contains("NAMESPACE/NAME"), "{problems:?}");
    }
    assert!(refused(&["--shadow", "--adopt-only"])[0].contains("give one of them"));
    assert!(refused(&["--shadow-period=0s"])[0].contains("more than 0s"));
}

#[test]
fn a_node_filter_is_parsed_once_and_all_its_problems_are_told() {
    let filter = options(&["--node-filter=pool in (a,b),!example.org/edge"]).node.filter;
    assert_eq!(filter, NodeFilter::parse("pool in (a,b),!example.org/edge").unwrap());
    assert!(options(&["--node-filter="]).node.filter.selects_all());
    let problems = refused(&["--node-filter=pool in (),-x,ok=1"]);
    let [empty, key] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(empty.starts_with("--node-filter=pool in (): the list of values is empty"), "{empty}");
    assert!(key.starts_with("--node-filter=-x: ") && key.contains("no label key"), "{key}");
}
