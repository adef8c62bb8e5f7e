//! Under rights that are not ours: what is missing is said and makes only that part worse, and nothing ends the process.

use anyhow::{Context, ensure};
use bowline_testkit::eventually;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::effect::Effect;
use crate::harness::{Form, Harness};
use crate::manager::Manager;
use crate::scenario::seen;

const NAME: &str = "bowline-cloud-controller-manager";

/// The rights that the manifests of the OpenStack cloud-controller-manager give to theirs.
fn of_the_openstack_manager() -> Value {
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    json!([
        rule("coordination.k8s.io", "leases", &["get", "create", "update"]),
        rule("", "events", &["create", "patch", "update"]),
        rule("", "nodes", &["*"]),
        rule("", "nodes/status", &["patch"]),
        rule("", "services", &["list", "patch", "update", "watch"]),
        rule("", "services/status", &["patch"]),
        rule("", "serviceaccounts/token", &["create"]),
        rule("", "serviceaccounts", &["create", "get"]),
        rule("", "configmaps", &["get", "list", "watch"]),
        rule("authentication.k8s.io", "tokenreviews", &["create"]),
        rule("authorization.k8s.io", "subjectaccessreviews", &["create"]),
    ])
}

/// Gives the manager these rights everywhere, and none besides.
async fn grant_instead(site: &Harness, rules: Value) -> anyhow::Result<()> {
    let (patch, params) = (|rules: Value| Patch::Merge(json!({ "rules": rules })), PatchParams::default());
    Api::<ClusterRole>::all(site.admin.clone()).patch(NAME, &params, &patch(rules)).await?;
    for (namespace, name) in [(site.namespace.as_str(), NAME), ("kube-system", &format!("{NAME}-system"))] {
        Api::<Role>::namespaced(site.admin.clone(), namespace)
            .patch(name, &params, &patch(json!([])))
            .await?;
    }
    Ok(())
}

async fn works(site: &Harness, manager: &Manager, effects: &[Effect]) -> anyhow::Result<()> {
    for effect in effects {
        let name = effect.provoke(site).await?;
        seen(site, manager, *effect, &name).await.with_context(|| manager.log())?;
        site.remove(&name).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_other_rights_it_says_what_is_missing_and_does_the_rest() -> anyhow::Result<()> {
    let site = Harness::new(Form::OneIdentity).await?;
    grant_instead(&site, of_the_openstack_manager()).await?;
    let mut manager = Manager::start(&site, &[])?;
    manager.serves().await?;
    works(&site, &manager, &[Effect::Initialised, Effect::Deleted, Effect::Balanced, Effect::Ribbon]).await?;
    manager.says_it_lacks("watch leases.coordination.k8s.io").await?;
    manager.says_it_lacks("get namespaces").await?;
    let health = manager.page("/readyz?verbose").await?;
    ensure!(health.matches(" in namespace ").count() == 1, "nothing else is missing: {health}");
    eventually("the event", async || {
        let told = site.told("cloud-controller-manager", "MissingPermissions").await?;
        Ok((told > 0).then_some(()))
    })
    .await?;

    // Every identity may ask what it may, unless somebody took that away.
    let bindings = Api::<ClusterRoleBinding>::all(site.admin.clone());
    bindings.delete("system:basic-user", &DeleteParams::default()).await?;
    manager.kill()?;
    site.free_lease().await?;
    manager = Manager::start(&site, &[])?;
    manager.serves().await?;
    eventually("the complaint", async || {
        let health = manager.page("/readyz?verbose").await?;
        Ok(health.contains("cannot check the own permissions").then_some(()))
    })
    .await?;
    works(&site, &manager, &[Effect::Initialised]).await
}
