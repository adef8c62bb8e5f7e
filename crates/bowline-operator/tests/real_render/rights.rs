//! The rights that the operator ships with are enough for everything that it renders. The API server lets nobody grant what
//! he does not have, so this shows also that each manager's rights are among the operator's.

use std::collections::BTreeMap;

use bowline_operator::allowed::Allowed;
use bowline_operator::api::OWNER_LABEL;
use bowline_operator::install::{self, Installation};
use bowline_operator::openshift;
use bowline_operator::render::{MANAGED_NAMESPACE, ManagerMode, Object, plain};
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::eventually;
use serde_json::{Value, json};

use super::harness::{OPENSHIFT, PLATFORMS, apply, client, facts, namespace, openshift_objects, spec};

/// Installs the operator for all platforms, in the namespace of their resources and in OpenShift's.
async fn install(admin: &kube::Client) -> anyhow::Result<()> {
    let allowed_namespaces = ["kube-system", "cloud-system"].map(str::to_owned).to_vec();
    let installation = Installation {
        allowed: Allowed { allowed_namespaces, ..Allowed::default() },
        openshift: true,
        azure: true,
        ..Installation::of_image("registry.example/bowline:v1")
    };
    for object in install::objects(&installation)? {
        if let Some(place) = &object.namespace {
            namespace(admin, place, &json!({})).await?;
        }
        apply(admin, &object, false).await?;
    }
    Ok(())
}

/// What OpenShift's version operator makes, and vSphere's objects refer to.
fn shared_roles() -> Vec<Value> {
    let group = "rbac.authorization.k8s.io/v1";
    let leases = json!([{ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "list", "update"] }]);
    let reads = json!([
        { "apiGroups": [""], "resources": ["nodes", "services"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"] },
        { "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"] },
        { "apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"] },
    ]);
    let name = "cloud-controller-manager";
    vec![
        json!({ "apiVersion": group, "kind": "Role", "metadata": { "name": name, "namespace": MANAGED_NAMESPACE }, "rules": leases }),
        json!({ "apiVersion": group, "kind": "ClusterRole", "metadata": { "name": name }, "rules": reads }),
    ]
}

#[tokio::test]
async fn the_operator_may_apply_everything_that_it_renders_under_the_rights_it_ships_with()
-> anyhow::Result<()> {
    let admin = client().await?;
    install(&admin).await?;
    for role in shared_roles() {
        apply(&admin, &Object::untyped(role)?, false).await?;
    }
    let cluster = Cluster::shared().await?;
    let operator = cluster.client(&Identity::service_account(install::NAMESPACE, install::NAME)).await?;
    let mut all = Vec::new();
    for (platform, manager) in PLATFORMS {
        let name = format!("{}-{}", platform.to_lowercase(), manager.to_lowercase());
        for mode in ManagerMode::ALL {
            all.extend(
                plain(&spec(platform, manager, "Deployment"), &name, mode, &facts()).unwrap_or_default(),
            );
        }
    }
    // As they are when they are applied.
    let label = BTreeMap::from([(OWNER_LABEL.to_owned(), openshift::OWNER.to_owned())]);
    for (platform, cloud) in OPENSHIFT {
        all.extend(openshift_objects(platform, cloud)?.into_iter().map(|mut object| {
            object.add_labels(&label);
            object
        }));
    }
    let first = all.iter().find(|object| object.kind != "Namespace").unwrap();
    eventually("the operator's rights are in force", async || Ok(apply(&operator, first, true).await.ok()))
        .await?;
    for object in all.iter().filter(|object| object.kind != "Namespace") {
        apply(&operator, object, false).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_operator_cannot_grant_what_it_does_not_have() -> anyhow::Result<()> {
    let admin = client().await?;
    install(&admin).await?;
    let cluster = Cluster::shared().await?;
    let operator = cluster.client(&Identity::service_account(install::NAMESPACE, install::NAME)).await?;
    let rules = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "bowline:everything", "labels": { OWNER_LABEL: "everything" } }, "rules": rules });
    let role = Object::untyped(role)?;
    let said = eventually("the role is refused for what it grants", async || {
        let error = format!("{:#}", apply(&operator, &role, true).await.unwrap_err());
        Ok(Some(error).filter(|error| error.contains("not currently held")))
    })
    .await?;
    assert!(said.contains("everything"), "{said}");
    Ok(())
}
