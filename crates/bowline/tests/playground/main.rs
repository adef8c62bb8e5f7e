//! The playground, started as a user would start it. Needs nothing but the binary.

mod process;

use std::net::TcpStream;
use std::process::Command;

use anyhow::{Context, ensure};
use futures::future::join_all;
use process::Playground;

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_sees_nodes_and_an_address_and_ctrl_c_ends_all_of_it() -> anyhow::Result<()> {
    let mut playground = Playground::start(&[])?;
    let served = playground.line("the Kubernetes API is on http://").await?;
    let address =
        served.split("http://").nth(1).and_then(|rest| rest.split(',').next()).context("an address")?;
    playground.line("default/web has the address 172.24.").await?;
    for node in ["node-1", "node-2", "node-3"] {
        ensure!(playground.all().contains(&format!("{node} joins, tainted")), "{}", playground.all());
        ensure!(playground.all().contains(&format!("{node} is initialised: 10.10.")), "{}", playground.all());
    }
    let kubeconfig = playground.line("export KUBECONFIG=").await?;
    let kubeconfig = kubeconfig.split('=').nth(1).context("a path")?.to_owned();
    ensure!(std::fs::read_to_string(&kubeconfig)?.contains(address), "{kubeconfig}");
    playground.line("openstack loadbalancer list").await?;
    let asked = playground.line(" status --cloud-config ").await?;
    let words = asked.split_whitespace().skip(1).take_while(|word| *word != "#");
    let told = Command::new(env!("CARGO_BIN_EXE_bowline"))
        .args(words)
        .args(["-o", "json"])
        .env("KUBECONFIG", &kubeconfig)
        .output()?;
    let told: serde_json::Value =
        serde_json::from_slice(&told.stdout).with_context(|| format!("{told:?}"))?;
    let is_known = |place: &str| told.pointer(place).is_some_and(|value| !value.is_null());
    ensure!(is_known("/rails/breakerOpen") && is_known("/rails/callsLeft"), "{told:#}");
    playground.line("Ctrl-C ends all of it").await?;
    ensure!(TcpStream::connect(address).is_ok(), "the API server is on {address}");
    playground.interrupt()?;
    let (code, complaints) = playground.end().await?;
    ensure!(code == Some(0) && complaints.is_empty(), "{code:?} {complaints}");
    ensure!(playground.all().ends_with("Ended. Its files are removed.\n"), "{}", playground.all());
    ensure!(TcpStream::connect(address).is_err(), "the port is closed");
    ensure!(!std::path::Path::new(&kubeconfig).exists(), "the folder is gone");
    ensure!(!playground.all().contains(['\x1b', '\r']), "piped, it is plain");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn with_once_it_ends_by_itself_and_leaves_its_files_in_the_folder_that_was_named() -> anyhow::Result<()>
{
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("play");
    let mut playground = Playground::start(&["--once", "--dir", &place.display().to_string()])?;
    let (code, complaints) = playground.end().await?;
    ensure!(code == Some(0), "{code:?} {complaints}\n{}", playground.all());
    for file in ["kubeconfig", "clouds.yaml", "cloud.conf", "ccm.log"] {
        ensure!(!std::fs::read_to_string(place.join(file))?.is_empty(), "{file} is empty");
    }
    ensure!(playground.all().contains("3 nodes initialised"), "{}", playground.all());
    ensure!(
        std::fs::read_to_string(place.join("ccm.log"))?.contains("starting"),
        "the manager's log is there"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_cost_few_cloud_calls() -> anyhow::Result<()> {
    let mut playground = Playground::start(&["--nodes", "120", "--services", "30", "--once"])?;
    let summary = playground.line("120 nodes initialised in ").await?;
    let (code, complaints) = playground.end().await?;
    ensure!(code == Some(0), "{code:?} {complaints}");
    let number = |before: &str| -> anyhow::Result<u64> {
        let rest = summary.split(before).nth(1).with_context(|| summary.clone())?;
        Ok(rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().parse()?)
    };
    let (calls, reads) =
        (number("cloud calls ")?, number(&format!("cloud calls {} (", number("cloud calls ")?))?);
    ensure!(reads < 60, "one snapshot for all nodes, not one look for each: {summary}");
    ensure!((60..60 + 30 * 6).contains(&calls), "at least two changes for each Service: {summary}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn chaos_is_told_and_overcome() -> anyhow::Result<()> {
    let mut playground = Playground::start(&["--chaos", "1", "--once"])?;
    playground.line("chaos with seed 1").await?;
    let (code, complaints) = playground.end().await?;
    ensure!(code == Some(0), "{code:?} {complaints}\n{}", playground.all());
    let healed = playground.all().matches("all is as wanted again").count();
    ensure!(healed == 8, "{healed}\n{}", playground.all());
    ensure!(playground.all().contains("the manager crashes, and another one leads"), "{}", playground.all());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_shows_that_its_rail_holds() -> anyhow::Result<()> {
    let mut list = Playground::start(&["--scenario", "list"])?;
    list.end().await?;
    // What is said of a scenario goes on in lines that are set off.
    let list = list.all();
    let heads = list.lines().filter(|line| !line.starts_with(' '));
    let names: Vec<String> =
        heads.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    ensure!(names.len() >= 20, "{names:?}");
    // All at once: they wait for timers most of the time.
    let ended = join_all(names.iter().map(|name| holds(name))).await;
    let failed = names.iter().zip(ended).filter_map(|(name, ended)| Some((name, ended.err()?)));
    let failed: Vec<String> = failed.map(|(name, error)| format!("{name}: {error:#}")).collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
}

async fn holds(name: &str) -> anyhow::Result<()> {
    let mut playground = Playground::start(&["--scenario", name])?;
    let (code, complaints) = playground.end().await?;
    ensure!(code == Some(0), "{code:?} {complaints}\n{}", playground.all());
    for part in ["What happens:", "A naive manager", "held      Bowline ", "Ended."] {
        ensure!(playground.all().contains(part), "no {part:?}\n{}", playground.all());
    }
    ensure!(!playground.all().contains('\x1b'), "piped, it is plain");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_that_does_not_exist_is_refused() -> anyhow::Result<()> {
    let mut playground = Playground::start(&["--scenario", "incident-nothing"])?;
    let (code, complaints) = playground.end().await?;
    ensure!(code == Some(1) && complaints.contains("--scenario list"), "{code:?} {complaints}");
    Ok(())
}
