//! What programs read: each report as JSON, with the names that stay from version to version. What differs from run to run is taken out.

use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::harness::{CLUSTER, Finished, Harness};

/// So long is a UUID as text.
const UUID: usize = 36;

/// Those from here on are chosen by the API server.
const FIRST_NODE_PORT: u64 = 30_000;

/// The commands, under the names of their snapshots. No kubectl is there: what the manager would say of itself is not part of these.
const LINES: [(&str, &str); 11] = [
    ("status", "status --kubectl=/nowhere/kubectl"),
    ("explain-service", "explain svc/web"),
    ("explain-node", "explain node/node-2"),
    ("plan", "plan --all"),
    ("drift", "drift"),
    ("doctor", "doctor"),
    ("resync", "resync --all"),
    ("adopt", "adopt svc/new --load-balancer ORPHAN"),
    ("breaker-status", "breaker status --kubectl=/nowhere/kubectl"),
    ("breaker-reset", "breaker reset"),
    ("support-bundle", "support-bundle --kubectl=/nowhere/kubectl --out FOLDER/bundle-FORMAT"),
];

/// A cluster of which there is something to say in every report.
async fn troubled() -> anyhow::Result<(Harness, String)> {
    let stage = Harness::start(2).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    stage.say("web", "SyncFailed", "tried again; the last failure: 503 (request id req-7f)")?;
    stage.service("new")?;
    let orphan = format!("kube_service_{CLUSTER}_default_gone");
    let cluster = format!("bowline-cluster:{}", stage.uid);
    stage.cloud.make_balancer(&orphan, &[&orphan, &cluster, "bowline-service:dead"]).await?;
    let contents = stage.cloud.contents().await?;
    let all = contents["loadbalancers"].as_array().context("no load balancers")?;
    let found = all.iter().find(|one| one["name"] == orphan.as_str()).context("not there")?;
    let id = found["id"].as_str().context("no id")?.to_owned();
    let server = stage.cloud.estate.servers[1].clone();
    stage.cloud.world(|world| world.state.compute.servers.remove(&server)).context("no server")?;
    let not_ready = json!({"status": {"conditions": [
        {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": "2026-11-16T08:00:00Z"},
    ]}});
    stage.patch("/api/v1/nodes/node-2/status", &not_ready)?;
    Ok((stage, id))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_report_has_the_names_that_programs_know_and_yaml_says_what_json_says() -> anyhow::Result<()> {
    let (stage, orphan) = troubled().await?;
    let folder = stage.folder.path().display().to_string();
    for (name, line) in LINES {
        let asked = async |format: &str| -> anyhow::Result<Finished> {
            let line = line.replace("ORPHAN", &orphan).replace("FOLDER", &folder).replace("FORMAT", format);
            stage.run(&format!("{line} -o {format}")).await
        };
        agreed(name, &folder, &asked("json").await?, &asked("yaml").await?)?;
    }
    let conf = stage.conf();
    std::fs::write(&conf, std::fs::read_to_string(&conf)? + "subnet-idd = x\nmonitor-delay = often\n")?;
    let asked = async |format: &str| {
        let words = ["bowline", "config", "check", &conf.display().to_string(), "-o", format];
        Harness::run_words(words.map(str::to_owned).to_vec()).await
    };
    agreed("config-check", &folder, &asked("json").await?, &asked("yaml").await?)
}

/// Both say the same, and what the snapshot says.
fn agreed(name: &str, folder: &str, in_json: &Finished, in_yaml: &Finished) -> anyhow::Result<()> {
    let yaml: Value = serde_saphyr::from_str(&in_yaml.out).with_context(|| format!("{name}: {in_yaml:?}"))?;
    let (json, yaml) = (steady("", in_json.json()?, folder), steady("", yaml, folder));
    ensure!(json == yaml && in_json.code == in_yaml.code, "{name}: {json:#} is not {yaml:#}");
    insta::assert_snapshot!(name, serde_json::to_string_pretty(&json)?);
    Ok(())
}

/// A value without what differs from run to run.
fn steady(key: &str, value: Value, folder: &str) -> Value {
    match value {
        Value::Number(_) if key.ends_with("SecondsAgo") => json!(0),
        Value::Number(port) if key == "port" && port.as_u64() >= Some(FIRST_NODE_PORT) => json!("[port]"),
        Value::String(text) => json!(steady_text(&text, folder)),
        Value::Array(items) => items.into_iter().map(|item| steady(key, item, folder)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                let value = steady(&key, value, folder);
                (steady_text(&key, folder), value)
            });
            Value::Object(fields.collect())
        }
        other => other,
    }
}

fn steady_text(text: &str, folder: &str) -> String {
    let text =
        text.replace(folder, "[folder]").replace("bundle-json", "bundle").replace("bundle-yaml", "bundle");
    if text.parse::<Timestamp>().is_ok() {
        return "[time]".to_owned();
    }
    let mut steady = String::new();
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        if rest.get(..UUID).is_some_and(is_uuid) {
            steady.push_str("[uuid]");
            rest = rest.get(UUID..).unwrap_or_default();
        } else {
            steady.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
    }
    ["127.0.0.1:", "node port "].iter().fold(steady, |text, before| without_port(&text, before))
}

fn is_uuid(text: &str) -> bool {
    text.char_indices().all(|(place, one)| match place {
        8 | 13 | 18 | 23 => one == '-',
        _ => one.is_ascii_hexdigit(),
    })
}

/// Without the ports behind these words, which are what was free.
fn without_port(text: &str, before: &str) -> String {
    let mut parts = text.split(before);
    let mut steady = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        steady.push_str(&format!("{before}[port]"));
        steady.push_str(part.trim_start_matches(|one: char| one.is_ascii_digit()));
    }
    steady
}
