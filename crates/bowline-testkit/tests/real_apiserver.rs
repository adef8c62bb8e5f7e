//! The harness itself, on the real kube-apiserver and etcd. Needs their binaries: `cargo xtask kubernetes`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity, kubernetes_version};
use bowline_testkit::{Wait, deadline};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::time::timeout;

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn is_alive(pid: u32) -> bool {
    let kill = Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status();
    kill.is_ok_and(|status| status.success())
}

async fn who_am_i(client: &Client) -> anyhow::Result<UserInfo> {
    let reviews = Api::<SelfSubjectReview>::all(client.clone());
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    review.status.and_then(|status| status.user_info).context("no user in the answer")
}

async fn put_config_map(client: Client, namespace: &str, name: &str) -> anyhow::Result<()> {
    let config_map = ConfigMap { metadata: named(name), ..ConfigMap::default() };
    Api::namespaced(client, namespace).create(&PostParams::default(), &config_map).await?;
    Ok(())
}

/// Lets a ServiceAccount read the ConfigMaps of its namespace.
async fn grant_reading(admin: Client, namespace: &str, account: &str) -> anyhow::Result<()> {
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        verbs: vec!["list".to_owned()],
        ..PolicyRule::default()
    };
    let role = Role { metadata: named("reader"), rules: Some(vec![rule]) };
    Api::namespaced(admin.clone(), namespace).create(&PostParams::default(), &role).await?;
    let subject = Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..Subject::default()
    };
    let role_ref = RoleRef {
        api_group: "rbac.authorization.k8s.io".to_owned(),
        kind: "Role".to_owned(),
        name: "reader".to_owned(),
    };
    let binding = RoleBinding { metadata: named("reader"), role_ref, subjects: Some(vec![subject]) };
    Api::namespaced(admin, namespace).create(&PostParams::default(), &binding).await?;
    Ok(())
}

#[tokio::test]
async fn the_shared_server_has_the_pinned_version() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let version = cluster.client(&Identity::Admin).await?.apiserver_version().await?;
    assert_eq!(version.git_version, format!("v{}", kubernetes_version()));
    let mut pinned = kubernetes_version().split('.');
    assert_eq!([Some(version.major.as_str()), Some(version.minor.as_str())], [pinned.next(), pinned.next()]);
    Ok(())
}

#[tokio::test]
async fn tests_that_share_a_server_get_namespaces_and_names_of_their_own() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let again = Cluster::shared().await?;
    assert_eq!(cluster.url(), again.url());
    let (one, two) = (cluster.namespace("shared").await?, again.namespace("shared").await?);
    assert_ne!(one, two);
    let namespaces = Api::<Namespace>::all(cluster.client(&Identity::Admin).await?);
    namespaces.get(&one).await?;
    namespaces.get(&two).await?;
    Ok(())
}

#[tokio::test]
async fn an_unbound_service_account_is_refused_and_permitted_once_a_role_is_bound() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("rbac").await?;
    let client = cluster.client(&Identity::service_account(&namespace, "controller")).await?;
    let config_maps = Api::<ConfigMap>::namespaced(client, &namespace);

    let refusal = config_maps.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&refusal, kube::Error::Api(status) if status.is_forbidden()), "{refusal}");

    grant_reading(cluster.client(&Identity::Admin).await?, &namespace, "controller").await?;
    // The authorizer learns of the binding through its own watch.
    let listed = async || Ok(Some(config_maps.list(&ListParams::default()).await?));
    Wait::default().retry_errors().until("permission to list", listed).await.map(drop)
}

#[tokio::test]
async fn every_identity_is_who_it_says_by_client_and_by_kubeconfig_file() -> anyhow::Result<()> {
    let cluster = Cluster::shared().await?;
    let namespace = cluster.namespace("identity").await?;
    let account = format!("system:serviceaccount:{namespace}:one");
    let user = Identity::User { name: "jane".to_owned(), group: Some("people".to_owned()) };
    for (identity, name, group) in [
        (Identity::Admin, "admin", "system:masters"),
        (Identity::service_account(&namespace, "one"), account.as_str(), "system:serviceaccounts"),
        (user, "jane", "people"),
    ] {
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig(&identity).await?)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        for client in [cluster.client(&identity).await?, Client::try_from(config)?] {
            let user = who_am_i(&client).await?;
            assert_eq!(user.username.as_deref(), Some(name));
            assert!(user.groups.unwrap_or_default().iter().any(|member| member == group), "{name}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_anonymous_client_reads_the_version_and_nothing_else() -> anyhow::Result<()> {
    let client = Cluster::shared().await?.client(&Identity::Anonymous).await?;
    client.apiserver_version().await?;
    let refusal = Api::<Namespace>::all(client).list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&refusal, kube::Error::Api(status) if status.is_forbidden()), "{refusal}");
    Ok(())
}

#[tokio::test]
async fn a_restarted_server_has_the_same_address_and_data_and_honours_old_tokens() -> anyhow::Result<()> {
    let mut cluster = Cluster::start().await?;
    let url = cluster.url();
    let namespace = cluster.namespace("kept").await?;
    let account = cluster.client(&Identity::service_account(&namespace, "one")).await?;
    put_config_map(cluster.client(&Identity::Admin).await?, &namespace, "kept").await?;

    cluster.stop_apiserver();
    let refusal = account.apiserver_version().await.unwrap_err();
    assert!(!matches!(refusal, kube::Error::Api(_)), "a stopped server answered: {refusal}");
    cluster.start_apiserver().await?;

    assert_eq!(cluster.url(), url);
    who_am_i(&account).await?;
    let config_maps = Api::<ConfigMap>::namespaced(cluster.client(&Identity::Admin).await?, &namespace);
    config_maps.get("kept").await?;
    Ok(())
}

#[tokio::test]
async fn a_paused_server_does_not_answer_until_it_is_resumed() -> anyhow::Result<()> {
    let mut cluster = Cluster::start().await?;
    let client = cluster.client(&Identity::Admin).await?;
    client.apiserver_version().await?;

    cluster.pause().await?;
    let answer = timeout(Duration::from_secs(1), client.apiserver_version()).await;
    assert!(answer.is_err(), "a paused server answered: {answer:?}");

    cluster.resume()?;
    timeout(deadline(), client.apiserver_version()).await??;
    Ok(())
}

#[tokio::test]
async fn two_clusters_run_side_by_side_and_leave_nothing_behind() -> anyhow::Result<()> {
    let (one, two) = tokio::try_join!(Cluster::start(), Cluster::start())?;
    assert_ne!(one.url(), two.url());
    let only_in_one = one.namespace("only-in-one").await?;
    let namespaces_of_two = Api::<Namespace>::all(two.client(&Identity::Admin).await?);
    assert!(namespaces_of_two.get_opt(&only_in_one).await?.is_none());

    let pids = [one.process_ids(), two.process_ids()].concat();
    let folders = [one.folder().to_path_buf(), two.folder().to_path_buf()];
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().copied().all(is_alive));
    drop((one, two));
    assert!(!pids.iter().copied().any(is_alive));
    assert!(!folders.iter().any(|folder| Path::exists(folder)));
    Ok(())
}

#[tokio::test]
async fn the_servers_of_a_test_that_panics_are_gone() -> anyhow::Result<()> {
    let cluster = Cluster::start().await?;
    let pids = cluster.process_ids();
    let test = tokio::spawn(async move {
        assert!(cluster.process_ids().is_empty(), "this panic is part of the test");
    });
    assert!(test.await.unwrap_err().is_panic());
    assert!(!pids.into_iter().any(is_alive));
    Ok(())
}

#[tokio::test]
async fn an_audited_cluster_writes_down_what_its_policy_names_also_after_a_restart() -> anyhow::Result<()> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": ["auditee"], "verbs": ["create"]}, {"level": "None"}],
    });
    let mut cluster = Cluster::start_audited(&policy).await?;
    let identity = Identity::User { name: "auditee".to_owned(), group: Some("system:masters".to_owned()) };
    put_config_map(cluster.client(&identity).await?, "default", "before").await?;
    put_config_map(cluster.client(&Identity::Admin).await?, "default", "not-asked-for").await?;
    cluster.start_apiserver().await?;
    put_config_map(cluster.client(&identity).await?, "default", "after").await?;
    let log = std::fs::read_to_string(cluster.audit_log())?;
    let names: Vec<String> = log
        .lines()
        .map(|line| {
            Ok(serde_json::from_str::<Value>(line)?["objectRef"]["name"].as_str().unwrap_or("?").to_owned())
        })
        .collect::<anyhow::Result<_>>()?;
    assert_eq!(names, ["before", "after"]);
    Ok(())
}
