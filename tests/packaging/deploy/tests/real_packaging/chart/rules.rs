//! The alerts and the queries of the dashboard, read and tried by the real promtool.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::binaries::cache_folder;
use packaging::monitoring;

use crate::location;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/monitoring/alerts.yaml");

fn promtool(folder: &Path, arguments: &[&str]) -> anyhow::Result<Option<String>> {
    let program = match location::promtool(&cache_folder()) {
        Ok(program) => program,
        Err(problem) => {
            println!("not tested: {problem}");
            return Ok(None);
        }
    };
    let output =
        Command::new(program).args(arguments).current_dir(folder).output().context("start promtool")?;
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    ensure!(output.status.success(), "promtool {}: {said}", arguments.join(" "));
    Ok(Some(said))
}

#[test]
fn each_alert_is_raised_by_its_example_and_not_by_the_other() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("trial.yaml"), monitoring::trial(RULES)?)?;
    promtool(folder.path(), &["test", "rules", "trial.yaml"]).map(drop)
}

#[test]
fn prometheus_can_read_the_alerts_and_each_query_of_the_dashboard() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    if let Some(said) = promtool(folder.path(), &["check", "rules", RULES])? {
        let count = format!("{} rules found", monitoring::alert_names().len());
        ensure!(said.contains(&count), "{count:?} in {said}");
    }
    std::fs::write(folder.path().join("queries.yaml"), monitoring::queries()?)?;
    promtool(folder.path(), &["check", "rules", "queries.yaml"]).map(drop)
}
