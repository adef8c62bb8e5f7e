//! Where metrics are found: a headless Service, and a ServiceMonitor with an account of its own where that API exists.

use k8s_openapi::api::core::v1::{Secret, Service, ServiceAccount, ServicePort, ServiceSpec};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use super::error::RenderError;
use super::flags::PORT;
use super::names::Names;
use super::object::Object;
use super::rbac::role_ref;

/// The Service that names the pods.
pub(super) fn service(names: &Names<'_>) -> Service {
    let port = ServicePort {
        name: Some("https".to_owned()),
        port: PORT,
        protocol: Some("TCP".to_owned()),
        target_port: Some(IntOrString::Int(PORT)),
        ..ServicePort::default()
    };
    Service {
        metadata: names.metadata(names.workload()),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            ports: Some(vec![port]),
            selector: Some(names.selector_labels()),
            type_: Some("ClusterIP".to_owned()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The account that scrapes, with its token and its only right. Nobody can check the certificate of the manager, so whoever takes
/// its place gets the token of the caller: it must be worth nothing else. Prometheus' own is worth more.
pub(super) fn scraper(names: &Names<'_>) -> Result<Vec<Object>, RenderError> {
    let (account, role) = (scraper_name(names), format!("{}:scraper", names.role()));
    let of_account = [("kubernetes.io/service-account.name".to_owned(), account.clone())];
    let token = Secret {
        metadata: ObjectMeta { annotations: Some(of_account.into()), ..names.metadata(&account) },
        type_: Some("kubernetes.io/service-account-token".to_owned()),
        ..Secret::default()
    };
    let rule = PolicyRule {
        non_resource_urls: Some(vec!["/metrics".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let metadata = names.cluster_metadata(&role);
    let subject = Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.clone(),
        namespace: Some(names.namespace.to_owned()),
        api_group: None,
    };
    Ok(vec![
        Object::namespaced(&ServiceAccount {
            metadata: names.metadata(&account),
            ..ServiceAccount::default()
        })?,
        Object::namespaced(&token)?,
        Object::cluster(&ClusterRole {
            metadata: metadata.clone(),
            rules: Some(vec![rule]),
            aggregation_rule: None,
        })?,
        Object::cluster(&ClusterRoleBinding {
            metadata,
            role_ref: role_ref("ClusterRole", &role),
            subjects: Some(vec![subject]),
        })?,
    ])
}

fn scraper_name(names: &Names<'_>) -> String {
    format!("{}-scraper", names.workload())
}

/// The ServiceMonitor. The manager serves with a certificate of its own making, which nobody can check.
pub(super) fn service_monitor(names: &Names<'_>) -> Result<Object, RenderError> {
    Ok(Object::untyped(json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": { "name": names.workload(), "namespace": names.namespace, "labels": names.labels() },
        "spec": {
            "endpoints": [{
                "authorization": { "credentials": { "name": scraper_name(names), "key": "token" } },
                "interval": "30s",
                "port": "https",
                "scheme": "https",
                "tlsConfig": { "insecureSkipVerify": true },
            }],
            "selector": { "matchLabels": names.selector_labels() },
        },
    }))?)
}
