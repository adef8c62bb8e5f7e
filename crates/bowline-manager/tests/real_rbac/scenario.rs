//! Everything that the manager does, under exactly the rights that we ship: it all happens, and nothing is refused.

use anyhow::{Context, ensure};
use bowline_testkit::eventually;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::json;

use crate::cloud::{ADDRESS_LABEL, NOTE};
use crate::effect::{Effect, Talker};
use crate::harness::{Form, Harness};
use crate::manager::Manager;

const SHUT_DOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// Lets every ServiceAccount of the site's namespace read `/configz`.
pub(crate) async fn let_them_read(site: &Harness) -> anyhow::Result<()> {
    let metadata = ObjectMeta { name: Some("reader".to_owned()), ..ObjectMeta::default() };
    let rule = PolicyRule {
        non_resource_urls: Some(vec!["/configz".to_owned()]),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    };
    let role = ClusterRole { metadata: metadata.clone(), rules: Some(vec![rule]), ..ClusterRole::default() };
    Api::all(site.admin.clone()).create(&PostParams::default(), &role).await?;
    let role_ref = RoleRef {
        api_group: "rbac.authorization.k8s.io".to_owned(),
        kind: "ClusterRole".to_owned(),
        name: "reader".to_owned(),
    };
    let subject = Subject {
        kind: "Group".to_owned(),
        name: format!("system:serviceaccounts:{}", site.namespace),
        ..Subject::default()
    };
    let binding = ClusterRoleBinding { metadata, role_ref, subjects: Some(vec![subject]) };
    Api::all(site.admin.clone()).create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// Waits for an effect on an object, with a nudge now and then.
pub(crate) async fn seen(
    site: &Harness,
    manager: &Manager,
    effect: Effect,
    name: &str,
) -> anyhow::Result<()> {
    let mut looks = 0;
    eventually(&format!("{effect:?} of {name}"), async || {
        looks += 1;
        if looks % 10 == 0 {
            effect.nudge(site, name, looks).await?;
        }
        Ok(effect.is_there(site, manager, name).await?.then_some(()))
    })
    .await
}

/// Every effect there is.
const EVERYTHING: [Effect; 13] = [
    Effect::Initialised,
    Effect::Deleted,
    Effect::Reachable,
    Effect::Badge,
    Effect::Balanced,
    Effect::Ribbon,
    Effect::Told(Talker::Node, 2),
    Effect::Told(Talker::Service, 2),
    Effect::Told(Talker::Route, 2),
    Effect::Told(Talker::Badge, 2),
    Effect::Told(Talker::Ribbon, 2),
    Effect::Told(Talker::Cloud, 2),
    Effect::Page,
];

/// Provokes everything, sees everything, and takes it away again.
pub(crate) async fn everything_works(site: &Harness, manager: &Manager) -> anyhow::Result<()> {
    let mut provoked = Vec::new();
    for effect in EVERYTHING {
        provoked.push((effect, effect.provoke(site).await?));
    }
    for (effect, name) in &provoked {
        seen(site, manager, *effect, name).await?;
    }
    changes_are_followed(site).await?;
    for (_effect, name) in &provoked {
        site.remove(name).await?;
    }
    eventually("the end of all Services", async || Ok(site.services.list().await?.is_empty().then_some(())))
        .await
}

/// What happens to Nodes and Services later in their lives.
async fn changes_are_followed(site: &Harness) -> anyhow::Result<()> {
    let (node, service) = (site.cluster.unique_name("off"), site.cluster.unique_name("fresh"));
    site.join(&node).await?;
    site.make_service(&service).await?;
    eventually("an initialised node", async || {
        Ok(site.node_json(&node).await?["status"]["addresses"][0]["address"].is_string().then_some(()))
    })
    .await?;
    site.nodes.edit(&node, &json!({"metadata": {"labels": {ADDRESS_LABEL: "192.0.2.9"}}})).await?;
    eventually("the new address", async || {
        Ok((site.node_json(&node).await?["status"]["addresses"][0]["address"] == "192.0.2.9").then_some(()))
    })
    .await?;
    site.edit_node_status(&node, json!({"conditions": [{"type": "Ready", "status": "False"}]})).await?;
    eventually("the shutdown taint", async || {
        let taints = site.node_json(&node).await?["spec"]["taints"].as_array().cloned().unwrap_or_default();
        Ok(taints.iter().any(|taint| taint["key"] == SHUT_DOWN).then_some(()))
    })
    .await?;
    site.remove(&node).await?;

    eventually("an address", async || {
        let service = site.service_json(&service).await?;
        Ok(service["status"]["loadBalancer"]["ingress"][0].is_object().then_some(()))
    })
    .await?;
    let ports = json!({"spec": {"ports": [{"port": 81}]}});
    site.services.edit(&service, &ports).await?;
    site.services.edit(&service, &json!({"spec": {"type": "ClusterIP"}})).await?;
    eventually("no address, no finalizer and no note", async || {
        let now = site.service_json(&service).await?;
        let kept = now["metadata"]["finalizers"].is_array()
            || now["status"]["loadBalancer"]["ingress"].is_array()
            || now["metadata"]["annotations"][NOTE].is_string();
        Ok((!kept).then_some(()))
    })
    .await?;
    site.services.request_delete(&service).await
}

async fn works_under_exactly_the_shipped_rights(form: Form) -> anyhow::Result<()> {
    let site = Harness::new(form).await?;
    let_them_read(&site).await?;
    let manager = Manager::start(&site, form.flags())?;
    manager.serves().await?;
    let worked = everything_works(&site, &manager).await;
    worked.with_context(|| manager.log())?;
    ensure!(manager.refused().await? == 0, "something was refused: {}", manager.log());
    let health = manager.page("/readyz?verbose").await?;
    ensure!(health.contains("[+]permissions ok"), "{health}");
    ensure!(!manager.page("/metrics").await?.contains("bowline_missing_permissions{"), "a right is missing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_identity_with_the_shipped_rights_can_do_everything() -> anyhow::Result<()> {
    works_under_exactly_the_shipped_rights(Form::OneIdentity).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_of_their_own_with_the_shipped_rights_can_do_everything() -> anyhow::Result<()> {
    works_under_exactly_the_shipped_rights(Form::OwnAccounts).await
}
