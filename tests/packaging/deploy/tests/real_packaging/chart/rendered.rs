//! What comes of values, as people review it.

use anyhow::{Context, ensure};
use base64::Engine as _;
use bowline_openstack::config::{Source, decode};

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
        insta::with_settings!({snapshot_path => "../../cases", prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(name, shown.join("\n---\n"));
        });
    }
    Ok(())
}

fn is_generated(text: &str) -> bool {
    ["kind: PrometheusRule", "kind: ValidatingAdmissionPolicy", "bowline.json: |-"]
        .iter()
        .any(|word| text.contains(word))
}

#[test]
fn what_is_generated_elsewhere_is_in_the_chart_as_it_is() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let values = std::path::Path::new(crate::helm::CASES).join("monitored.yaml");
    let objects = documents(&helm.template("bowline", &values, &[])?)?;
    let of_kind = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
    let rules =
        of_kind("PrometheusRule")[0]["spec"]["groups"][0]["rules"].as_array().cloned().unwrap_or_default();
    ensure!(rules.len() == packaging::monitoring::alert_names().len());
    for rule in rules {
        let link = rule["annotations"]["runbook_url"].as_str().unwrap_or_default();
        ensure!(link.starts_with("https://docs.example/bowline/runbooks.html#bowline"), "{link}");
    }
    let dashboards = of_kind("ConfigMap");
    let dashboard: serde_json::Value =
        serde_json::from_str(dashboards[0]["data"]["bowline.json"].as_str().unwrap_or_default())?;
    ensure!(dashboard["title"] == "Bowline");
    // One refuses wrong values, one warns about annotations that count only at creation.
    for kind in ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] {
        let found = of_kind(kind).iter().map(|object| object["metadata"]["name"].clone()).collect::<Vec<_>>();
        ensure!(
            found == ["bowline-openstack-service-annotations", "bowline-openstack-service-recreation"],
            "{found:?}"
        );
    }
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
fn the_chart_can_be_packed() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let place = folder.path().display().to_string();
    let output = helm.run(&["package", CHART, "--destination", &place])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ensure!(folder.path().join(concat!("bowline-", env!("CARGO_PKG_VERSION"), ".tgz")).is_file());
    Ok(())
}

/// The manager's own reader on what the chart writes.
#[test]
fn the_manager_reads_in_cloud_conf_what_values_say() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let values = std::path::Path::new(crate::helm::CASES).join("from-occm.yaml");
    let secret = documents(&helm.template("bowline", &values, &["--show-only", "templates/secret.yaml"])?)?;
    let text = secret[0]["data"]["cloud.conf"].as_str().context("no cloud.conf")?;
    let text = String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text)?)?;
    let decoded = decode(&[Source::new("cloud.conf", text.clone())])
        .map_err(|problems| anyhow::anyhow!("{problems}\n{text}"))?;
    let conf = decoded.conf;
    ensure!(conf.global.auth_url == "https://keystone.example/v3", "{text}");
    ensure!(conf.global.tenant_id == "0123456789", "{text}");
    ensure!(text.contains(r#"password = "a \"quoted\" # back\\slash""#), "{text}");
    ensure!(conf.networking.public_network_names == ["public", "internet"], "{text}");
    ensure!(conf.networking.ipv6_support_disabled && conf.load_balancer.create_monitor, "{text}");
    ensure!(conf.load_balancer.monitor_max_retries == 3, "{text}");
    ensure!(conf.route.router_id == "some-router", "{text}");
    // Only the section that has no effect is worth a word.
    ensure!(
        decoded.warnings.iter().all(|warning| warning.to_string().contains("bs-version")),
        "{:?}",
        decoded.warnings
    );
    Ok(())
}
