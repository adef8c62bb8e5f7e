//! The chart's pod is the operator's pod: what both make of the same wishes differs in names alone.

use anyhow::{Context, ensure};
use bowline_operator::render::{ClusterFacts, ManagerMode, Object, RenderedConfig, plain};
use serde_json::{Value, json};

use crate::helm::{CASES, Helm, documents};

/// Objects without what is named after release, chart or operator.
fn bare(mut value: Value) -> Value {
    for place in ["/metadata", "/spec/template/metadata", "/spec/selector"] {
        if let Some(place) = value.pointer_mut(place) {
            *place = Value::Null;
        }
    }
    let pod = &mut value["spec"]["template"]["spec"];
    pod["serviceAccountName"].take();
    pod["volumes"][0]["secret"]["secretName"].take();
    let affinity = &mut pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    affinity[0]["labelSelector"].take();
    value
}

fn of_operator(form: &str) -> anyhow::Result<Vec<Object>> {
    let spec = json!({
        "platform": "OpenStack", "clusterName": "my-cluster", "form": form, "image": "bowline:0.1.0",
        "cloudConfig": {"secret": {"name": "cloud-config"}},
    });
    let facts = ClusterFacts {
        control_plane_nodes: 3,
        config: Some(RenderedConfig::new("")),
        ..ClusterFacts::default()
    };
    Ok(plain(&serde_json::from_value(spec)?, "bowline", ManagerMode::Full, &facts)?)
}

#[test]
fn deployment_daemonset_budget_and_service_are_those_of_the_operator() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let values = std::path::Path::new(CASES).join("minimal.yaml");
    for form in ["Deployment", "DaemonSet"] {
        let ours = documents(&helm.template("bowline", &values, &["--set", &format!("kind={form}")])?)?;
        let theirs = of_operator(form)?;
        for kind in [form, "PodDisruptionBudget", "Service"] {
            let here = ours.iter().find(|object| object["kind"] == kind);
            let there = theirs.iter().find(|object| object.kind == kind).map(|object| &object.body);
            ensure!(here.is_some() == there.is_some(), "{kind} of {form}");
            let (Some(here), Some(there)) = (here, there) else { continue };
            if kind == form {
                assert_eq!(bare(here.clone()), bare(there.clone()), "{form}");
            } else {
                let spec = |value: &Value| {
                    let mut spec = value["spec"].clone();
                    spec["selector"].take();
                    spec
                };
                assert_eq!(spec(here), spec(there), "{kind} of {form}");
            }
        }
    }
    Ok(())
}

#[test]
fn the_rights_are_those_of_the_operators_manager() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let values = std::path::Path::new(CASES).join("minimal.yaml");
    let ours = documents(&helm.template("bowline", &values, &[])?)?;
    for object in of_operator("Deployment")?.iter().filter(|object| object.kind.ends_with("Role")) {
        let same = |here: &&Value| {
            here["kind"] == object.kind.as_str() && here["metadata"]["name"] == object.name.as_str()
        };
        let here = ours.iter().find(same).with_context(|| format!("no {object}"))?;
        assert_eq!(here["rules"], object.body["rules"], "{object}");
    }
    Ok(())
}
