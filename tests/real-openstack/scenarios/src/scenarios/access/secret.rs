//! The credentials are in a Secret that cloud.conf names. Who runs the cluster grants the manager that one Secret.

use anyhow::Context;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::witness::{credential_lines, works};
use crate::conf::{Access, Conf};
use crate::harness::Harness;
use crate::scenario::Stage;

const NAME: &str = "openstack-credentials";
const NAMESPACE: &str = "kube-system";

pub(super) async fn secret(stage: &Stage<'_>) -> anyhow::Result<()> {
    let lines = format!("secret-name = {NAME}\nsecret-namespace = {NAMESPACE}\n");
    let site = Harness::start(stage, &Conf { access: Access::Lines(lines), ..Conf::new("") }).await?;
    let outcome = held_by_a_secret(&site).await;
    outcome.and(site.sweep().await)
}

async fn held_by_a_secret(site: &Harness<'_>) -> anyhow::Result<()> {
    grant(site).await?;
    let person = site.colleague("person").await?;
    let first = site.credential(&person, "first").await?;
    write(site, &json!({"clouds.conf": format!("[Global]\n{}", credential_lines(&first))})).await?;
    let mut manager = site.run(&[])?;
    works(site).await.context("credentials of the Secret")?;

    let second = site.credential(&person, "second").await?;
    write(site, &json!({"clouds.conf": format!("[Global]\n{}", credential_lines(&second))})).await?;
    site.withdraw(&person, &first).await?;
    works(site).await.context("the Secret holds new ones, the old ones are deleted")?;

    let stranger = site.stranger("stranger").await?;
    let theirs = site.credential(&stranger, "theirs").await?;
    write(site, &json!({"clouds.conf": format!("[Global]\n{}", credential_lines(&theirs))})).await?;
    works(site).await.context("the Secret holds those of another project")?;

    let secrets: Api<Secret> = Api::namespaced(site.client.clone(), NAMESPACE);
    secrets.delete(NAME, &DeleteParams::default()).await?;
    works(site).await.context("the Secret is deleted")?;

    let third = site.credential(&person, "third").await?;
    write(site, &json!({"clouds.conf": format!("[Global]\n{}", credential_lines(&third))})).await?;
    site.withdraw(&person, &second).await?;
    works(site).await.context("the Secret is back, with others")?;
    manager.ensure_running()
}

async fn write(site: &Harness<'_>, held: &Value) -> anyhow::Result<()> {
    let secrets: Api<Secret> = Api::namespaced(site.client.clone(), NAMESPACE);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}, "stringData": held,
    });
    let apply = PatchParams::apply("scenario").force();
    secrets.patch(NAME, &apply, &Patch::Apply(&secret)).await.map(drop).context("write the Secret")
}

/// What the manager's own role does not hold.
async fn grant(site: &Harness<'_>) -> anyhow::Result<()> {
    let role = json!({"metadata": {"name": NAME}, "rules": [{
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": [NAME], "verbs": ["get", "list", "watch"],
    }]});
    let binding = json!({
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "cloud-controller-manager"}],
    });
    let roles: Api<Role> = Api::namespaced(site.client.clone(), NAMESPACE);
    roles.create(&PostParams::default(), &serde_json::from_value(role)?).await?;
    let bindings: Api<RoleBinding> = Api::namespaced(site.client.clone(), NAMESPACE);
    bindings.create(&PostParams::default(), &serde_json::from_value(binding)?).await?;
    Ok(())
}
