//! Values that are refused, and that the reason can be read.

use std::io::Write;

use anyhow::ensure;

use crate::helm::{CHART, Helm};

/// What is said besides a name and a configuration, and what the answer has in it.
const WRONG: [(&str, &[&str]); 24] = [
    ("{cluster: {name: ''}}", &["cluster.name is missing", "it was \"kubernetes\""]),
    ("{cluster: {name: 'a b'}}", &["cluster.name", "pattern"]),
    ("{clusterName: x}", &["clusterName"]),
    ("{image: {repo: x}}", &["image", "repo"]),
    ("{kind: StatefulSet}", &["kind", "\"Deployment\", \"DaemonSet\""]),
    ("{replicas: two}", &["replicas", "integer"]),
    ("{replicas: 0}", &["replicas", "1"]),
    ("{cloudConfig: {global: {auth_url: x}}}", &["cloudConfig.global", "auth_url"]),
    ("{cloudConfig: {global: {password: 0123}}}", &["cloudConfig.global.password", "string"]),
    ("{cloudConfig: {Global: {}}}", &["cloudConfig", "Global"]),
    ("{cloudConf: '[Global]'}", &["cloudConf and cloudConfig are both there"]),
    ("{secret: {create: false}}", &["no Secret is made of it"]),
    ("{cloudConfig: {global: null}}", &["no cloud configuration", "secret.create=false"]),
    ("{nodeSelector: []}", &["nodeSelector", "object"]),
    (
        "{controllerExtraArgs: [--cluster-name=x]}",
        &["--cluster-name is set by the chart itself", "cluster.name"],
    ),
    ("{controllerExtraArgs: '- --controllers=*'}", &["--controllers", "enabledControllers"]),
    ("{controllerExtraArgs: '- --leader_elect=false'}", &["--leader-elect", "always on"]),
    ("{controllerExtraArgs: '- v=2'}", &["\"v=2\" is no flag"]),
    ("{mode: Shadow}", &["Shadow", "10258", "10278"]),
    ("{mode: Shadow, kind: DaemonSet}", &["one pod"]),
    ("{serviceMonitor: {enabled: true}, podMonitor: {enabled: true}}", &["counted twice"]),
    ("{image: {digest: 'sha256:00'}}", &["image.digest"]),
    ("{prometheusRule: {runbooks: docs/guides/runbooks.md}}", &["prometheusRule.runbooks", "^https?://"]),
    ("{apiServer: 'https://api.example:6443'}", &["apiServer"]),
];

const RIGHT: &str = "{cluster: {name: my-cluster}, cloudConfig: {global: {use-clouds: true}}}";

#[test]
fn wrong_values_are_refused_with_a_reason_that_names_them() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    for (values, wanted) in WRONG {
        let said = refused(&helm, values)?;
        for part in wanted {
            ensure!(said.contains(part), "{values}: {part:?} is not in: {said}");
        }
        ensure!(said.lines().count() < 12, "{values}: a long story: {said}");
    }
    Ok(())
}

#[test]
fn each_flag_of_the_chart_itself_is_refused_among_those_of_people() -> anyhow::Result<()> {
    let Some(helm) = Helm::locate() else { return Ok(()) };
    let mut values = tempfile::NamedTempFile::with_suffix(".yaml")?;
    values.write_all(
        b"{cluster: {name: c}, secret: {create: false}, featureGates: {A: true}, logVerbosityLevel: 1, logFormat: json, mode: AdoptOnly}",
    )?;
    let text = helm.template("bowline", values.path(), &["--show-only", "templates/workload.yaml"])?;
    let flags: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("- --")).collect();
    ensure!(flags.len() >= 13, "{flags:?}");
    for flag in flags {
        let name = flag.split('=').next().unwrap_or_default();
        let said = refused(&helm, &format!("{{controllerExtraArgs: [--{name}=x]}}"))?;
        ensure!(said.contains("set by the chart itself; use: "), "{name}: {said}");
    }
    Ok(())
}

/// What helm says to these values, which it must not take.
fn refused(helm: &Helm, values: &str) -> anyhow::Result<String> {
    let mut files = Vec::new();
    for text in [RIGHT, values] {
        let mut file = tempfile::NamedTempFile::with_suffix(".yaml")?;
        file.write_all(text.as_bytes())?;
        files.push(file);
    }
    let [first, second] = [0, 1].map(|index| files[index].path().display().to_string());
    let output = helm.run(&["template", "bowline", CHART, "--values", &first, "--values", &second])?;
    ensure!(!output.status.success(), "{values} was taken");
    Ok(String::from_utf8(output.stderr)?)
}
