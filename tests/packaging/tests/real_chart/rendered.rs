//! What comes of values, as people review it.

use anyhow::ensure;

use crate::helm::{CHART, Helm, cases, documents};

#[test]
fn what_comes_of_values_is_what_was_reviewed() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let cases = cases()?;
    ensure!(cases.len() >= 9, "only {} cases", cases.len());
    for (name, path) in cases {
        let objects = helm.template("bowline", &path, &[])?;
        // What is generated elsewhere and reviewed there is long, and says nothing of the chart.
        let shown: Vec<&str> = objects.split("\n---\n").filter(|text| !is_generated(text)).collect();
        insta::with_settings!({snapshot_path => "../cases", prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(name, shown.join("\n---\n"));
        });
    }
    Ok(())
}

fn is_generated(text: &str) -> bool {
    ["kind: PrometheusRule", "kind: ValidatingAdmissionPolicy", "bowline.json: |-"].iter().any(|word| text.contains(word))
}

#[test]
fn what_is_generated_elsewhere_is_in_the_chart_as_it_is() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let values = std::path::Path::new(crate::helm::CASES).join("monitored.yaml");
    let objects = documents(&helm.template("bowline", &values, &[])?)?;
    let of_kind = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
    let rules = of_kind("PrometheusRule")[0]["spec"]["groups"][0]["rules"].as_array().cloned().unwrap_or_default();
    ensure!(rules.len() == packaging::monitoring::alert_names().len());
    for rule in rules {
        let link = rule["annotations"]["runbook_url"].as_str().unwrap_or_default();
        ensure!(link.starts_with("https://docs.example/bowline/runbooks.html#bowline"), "{link}");
    }
    let dashboards = of_kind("ConfigMap");
    let dashboard: serde_json::Value = serde_json::from_str(dashboards[0]["data"]["bowline.json"].as_str().unwrap_or_default())?;
    ensure!(dashboard["title"] == "Bowline");
    ensure!(of_kind("ValidatingAdmissionPolicy").len() == 1 && of_kind("ValidatingAdmissionPolicyBinding").len() == 1);
    Ok(())
}

#[test]
fn the_linter_has_nothing_to_say() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    for (name, path) in cases()? {
        let output = helm.run(&["lint", "--strict", CHART, "--values", &path.display().to_string()])?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success() && said.contains("0 chart(s) failed"), "{name}: {said}");
    }
    Ok(())
}

#[test]
fn the_chart_can_be_packed_and_its_notes_name_the_cluster() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let place = folder.path().display().to_string();
    let output = helm.run(&["package", CHART, "--destination", &place])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ensure!(folder.path().join(concat!("bowline-", env!("CARGO_PKG_VERSION"), ".tgz")).is_file());
    let values = format!("{}/from-occm.yaml", crate::helm::CASES);
    // A real API server is not asked by a client-side dry run.
    let output = helm.run(&["install", "bowline", CHART, "--dry-run=client", "--values", &values])?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for part in ["of cluster kubernetes (mode Full)", "blockStorage has no effect"] {
        ensure!(said.contains(part), "{part:?} in {said}");
    }
    Ok(())
}
