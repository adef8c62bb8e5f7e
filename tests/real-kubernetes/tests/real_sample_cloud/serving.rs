//! The serving port with callers that may, callers that may not, and callers nobody knows.

use anyhow::Context;
use bowline_testkit::apiserver::Identity;
use bowline_testkit::manager::{ServingPort, get};
use http::StatusCode;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use kube::api::{ObjectMeta, PostParams};
use kube::config::AuthInfo;
use kube::{Api, Config};

use crate::ccm::{Ccm, Harness};

/// A manager that serves, and where.
struct Served {
    site: Harness,
    ccm: Ccm,
    port: ServingPort,
}

impl Served {
    async fn start(prefix: &str, flags: &[&str]) -> anyhow::Result<Self> {
        let site = Harness::new(prefix).await?;
        let port = ServingPort::free()?;
        let ccm = site.start_on(Some(port), flags)?;
        ccm.says("became leader").await?;
        Ok(Self { site, ccm, port })
    }

    /// Who trusts the self-signed certificate without looking, and shows these credentials.
    fn config(&self, auth: AuthInfo) -> anyhow::Result<Config> {
        let mut config = Config::new(self.port.url().parse()?);
        config.accept_invalid_certs = true;
        config.auth_info = auth;
        config.default_retry = false;
        Ok(config)
    }

    async fn get(&self, auth: AuthInfo, path: &str) -> anyhow::Result<(StatusCode, String)> {
        fetch(self.config(auth)?, path).await
    }

    async fn service_account(&self, name: &str) -> anyhow::Result<AuthInfo> {
        bearer(&self.site.cluster.token(&self.site.namespace, name).await?)
    }
}

async fn fetch(config: Config, path: &str) -> anyhow::Result<(StatusCode, String)> {
    let (status, body) = get(config, path).await?;
    Ok((StatusCode::from_u16(status)?, body))
}

fn bearer(token: &str) -> anyhow::Result<AuthInfo> {
    Ok(serde_json::from_value(serde_json::json!({ "token": token }))?)
}

/// Lets a ServiceAccount read `/metrics`.
async fn may_scrape(site: &Harness, account: &str) -> anyhow::Result<()> {
    let (client, name) = (site.admin().await?, format!("scrape-{}", site.namespace));
    let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
    let rule = PolicyRule {
        non_resource_urls: Some(vec!["/metrics".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let role = ClusterRole { metadata: metadata.clone(), rules: Some(vec![rule]), ..ClusterRole::default() };
    Api::all(client.clone()).create(&PostParams::default(), &role).await?;
    let role_ref =
        RoleRef { api_group: "rbac.authorization.k8s.io".to_owned(), kind: "ClusterRole".to_owned(), name };
    let subject = Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.to_owned(),
        namespace: Some(site.namespace.clone()),
        ..Subject::default()
    };
    let binding = ClusterRoleBinding { metadata, role_ref, subjects: Some(vec![subject]) };
    Api::all(client).create(&PostParams::default(), &binding).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_see_what_the_cluster_lets_them_see() -> anyhow::Result<()> {
    let served = Served::start("serving", &[]).await?;
    may_scrape(&served.site, "prometheus").await?;
    let anonymous = AuthInfo::default;

    for path in ["/healthz", "/livez", "/readyz", "/healthz/leaderElection"] {
        let (status, body) = served.get(anonymous(), path).await?;
        let expected = if path.ends_with("leaderElection") { StatusCode::FORBIDDEN } else { StatusCode::OK };
        assert_eq!(status, expected, "{path} for anonymous: {body}");
    }
    for path in ["/metrics", "/configz", "/statusz", "/flagz", "/bowline", "/bowline.json", "/bowline/live"] {
        let (status, body) = served.get(anonymous(), path).await?;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path} for anonymous: {body}");
        assert!(body.contains("system:anonymous"), "{body}");
    }

    let (status, body) = served.get(served.service_account("nobody").await?, "/metrics").await?;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    assert!(body.contains("nobody"), "says who may not: {body}");
    let (status, _body) = served.get(served.service_account("prometheus").await?, "/metrics").await?;
    assert_eq!(status, StatusCode::OK);
    let (status, _body) = served.get(served.service_account("prometheus").await?, "/configz").await?;
    assert_eq!(status, StatusCode::FORBIDDEN, "only what was granted");
    let (status, _body) = served.get(bearer("not-a-token")?, "/healthz").await?;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "a bad credential is refused, not ignored");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_sees_everything_with_the_certificate_of_the_cluster() -> anyhow::Result<()> {
    let served = Served::start("serving-admin", &["--v=2"]).await?;
    let admin = served.site.cluster.config(&Identity::Admin).await?.auth_info;

    let (status, configz) = served.get(admin.clone(), "/configz").await?;
    assert_eq!(status, StatusCode::OK, "{configz}");
    let configz: serde_json::Value = serde_json::from_str(&configz)?;
    let config = &configz["cloudcontrollermanager.config.k8s.io"];
    assert_eq!(config["kind"], "CloudControllerManagerConfiguration");
    assert_eq!(config["KubeCloudShared"]["CloudProvider"]["Name"], "sample");
    assert_eq!(config["Generic"]["LeaderElection"]["leaseDuration"], "15s");

    let (status, flagz) = served.get(admin.clone(), "/flagz").await?;
    assert_eq!(status, StatusCode::OK);
    assert!(flagz.contains("cloud-provider=sample"), "{flagz}");
    let (status, statusz) = served.get(admin.clone(), "/statusz").await?;
    assert_eq!(status, StatusCode::OK);
    assert!(statusz.contains("/metrics") && statusz.contains("/bowline"), "{statusz}");
    let (status, page) = served.get(admin.clone(), "/bowline").await?;
    assert_eq!(status, StatusCode::OK);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("This replica leads"), "{page}");
    let (status, page) = served.get(admin.clone(), "/bowline.json").await?;
    assert_eq!(status, StatusCode::OK);
    let page: serde_json::Value = serde_json::from_str(&page)?;
    assert_eq!(
        (&page["replica"]["cloud"], &page["replica"]["leader"]["role"]),
        (&"sample".into(), &"leads".into())
    );

    let (status, verbose) = served.get(admin.clone(), "/readyz?verbose").await?;
    assert_eq!(status, StatusCode::OK, "{verbose}");
    for line in ["[+]leaderElection ok", "[+]rack-label-controller ok", "[+]cloud ok", "[+]informer-nodes ok"]
    {
        assert!(verbose.contains(line), "{line} in {verbose}");
    }
    let (status, _body) = served.get(admin.clone(), "/healthz/rack-label-controller").await?;
    assert_eq!(status, StatusCode::OK);
    let (status, _body) = served.get(admin, "/healthz/no-such-check").await?;
    assert_eq!(status, StatusCode::NOT_FOUND);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_scrape_parses_and_holds_the_names_that_dashboards_use() -> anyhow::Result<()> {
    let served = Served::start("scrape", &[]).await?;
    let admin = served.site.cluster.config(&Identity::Admin).await?.auth_info;
    // What is counted only when it happens must happen first.
    served.get(served.service_account("nobody").await?, "/metrics").await?;
    let (status, scrape) = served.get(admin, "/metrics").await?;
    assert_eq!(status, StatusCode::OK);
    assert!(scrape.ends_with("# EOF\n"), "complete");
    let mut names = Vec::new();
    for line in scrape.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = sample(line).with_context(|| format!("not a sample: {line}"))?;
        assert!(value.is_finite() || value.is_infinite(), "{line}");
        names.push(name.to_owned());
    }
    for wanted in NAMES {
        assert!(names.iter().any(|name| name == wanted), "{wanted} is missing in:\n{scrape}");
    }
    assert!(
        scrape.contains(r#"leader_election_master_status{name="cloud-controller-manager"} 1"#),
        "{scrape}"
    );
    assert!(scrape.contains(r#"name="rack-label""#), "the controller runs: {scrape}");
    Ok(())
}

/// The name and the value of one line of the text format.
fn sample(line: &str) -> Option<(&str, f64)> {
    let (series, value) = line.rsplit_once(' ')?;
    let name = series.split_once('{').map_or(series, |(name, labels)| {
        assert!(labels.ends_with('}'), "{line}");
        name
    });
    Some((name, value.parse().ok()?))
}

/// Upstream's names as they appear in a scrape of a process that leads; labelled families that nothing has touched yet
/// have no samples, as in Go.
const NAMES: &[&str] = &[
    "node_controller_cloud_provider_taint_removal_delay_seconds_bucket",
    "node_controller_initial_node_sync_delay_seconds_bucket",
    "cloud_node_lifecycle_controller_monitor_nodes_duration_seconds_bucket",
    "service_controller_loadbalancer_sync_total",
    "service_controller_nodesync_error_total",
    "service_controller_nodesync_latency_seconds_bucket",
    "service_controller_update_loadbalancer_host_latency_seconds_bucket",
    "running_managed_controllers",
    "workqueue_depth",
    "workqueue_adds_total",
    "workqueue_retries_total",
    "workqueue_queue_duration_seconds_bucket",
    "workqueue_work_duration_seconds_bucket",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "rest_client_requests_total",
    "rest_client_request_duration_seconds_bucket",
    "rest_client_rate_limiter_duration_seconds_bucket",
    "rest_client_request_size_bytes_bucket",
    "rest_client_response_size_bytes_bucket",
    "go_goroutines",
    "leader_election_master_status",
    "kubernetes_build_info",
    "authenticated_user_requests",
    "authentication_attempts",
    "authentication_duration_seconds_bucket",
    "authentication_token_cache_request_total",
    "authorization_attempts_total",
    "authorization_duration_seconds_bucket",
    "apiserver_delegated_authn_request_total",
    "apiserver_delegated_authn_request_duration_seconds_bucket",
    "apiserver_delegated_authz_request_total",
    "apiserver_delegated_authz_request_duration_seconds_bucket",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_virtual_memory_bytes",
    "process_open_fds",
    "process_max_fds",
    "process_start_time_seconds",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn given_certificate_files_are_served_and_followed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let first = write_certificate(&certificate, &key)?;
    let flags = [
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-private-key-file={}", key.display()),
    ];
    let served = Served::start("tls", &[&flags[0], &flags[1]]).await?;
    let trusting = |certificate: &[u8]| -> anyhow::Result<Config> {
        let mut config = served.config(AuthInfo::default())?;
        config.accept_invalid_certs = false;
        config.root_cert = Some(vec![certificate.to_vec()]);
        Ok(config)
    };
    assert_eq!(fetch(trusting(&first)?, "/healthz").await?.0, StatusCode::OK);

    let second = write_certificate(&certificate, &key)?;
    served.ccm.says("serving certificate reloaded").await?;
    assert_eq!(fetch(trusting(&second)?, "/healthz").await?.0, StatusCode::OK);
    assert!(fetch(trusting(&first)?, "/healthz").await.is_err(), "the old one is gone");
    Ok(())
}

/// A self-signed pair in two files; gives the certificate.
fn write_certificate(certificate: &std::path::Path, key: &std::path::Path) -> anyhow::Result<Vec<u8>> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    std::fs::write(key, made.signing_key.serialize_pem())?;
    std::fs::write(certificate, made.cert.pem())?;
    Ok(made.cert.der().to_vec())
}
