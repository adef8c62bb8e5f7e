//! One side: an API server with an audit log, a cloud's files, and a manager that runs on both.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use bowline_testkit::Wait;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manager::Manager;
use bowline_testkit::process::{Process, tail};
use kube::Client;
use serde_json::{Value, json};

use crate::edit::{self, Edit};
use crate::record::{Audited, Call, StageRecord, Write, audited};
use crate::script::Stage;
use crate::seen::{self, Uids};

/// Who the manager is to the API server: by this its writes are known in the audit log.
const USER: &str = "ccm";

/// How long a side may take to what a stage waits for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A side is quiet when it changed nothing for this long: longer than every period below, and than the pause in which
/// ours gathers changes of nodes.
const QUIET: Duration = Duration::from_millis(1800);

/// The longest wait for quiet.
const UNREST: Duration = Duration::from_secs(8);

/// What both are told, so that things happen fast.
const FLAGS: [&str; 14] = [
    "--cloud-provider=scripted",
    "--leader-elect=false",
    "--secure-port=0",
    "--allocate-node-cidrs=false",
    "--configure-cloud-routes=true",
    "--cluster-cidr=10.244.0.0/16,fd00:10:244::/48",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    "--node-monitor-period=500ms",
    "--node-status-update-frequency=1s",
    "--route-reconciliation-period=1s",
    "--concurrent-node-syncs=4",
    "--concurrent-service-syncs=4",
    "--v=2",
];

/// What only ours is told: the rails against mass deletion, which upstream does not have, are open. They have tests of
/// their own; here a cluster of a dozen nodes loses several within seconds.
const RAILS_OPEN: [&str; 3] = [
    "--node-deletion-limit-percent=100",
    "--node-deletion-breaker-percent=100",
    "--new-node-grace-period=0s",
];

/// A manager to run.
#[derive(Debug)]
pub(crate) struct Program {
    name: &'static str,
    path: PathBuf,
    flags: Vec<&'static str>,
}

impl Program {
    pub(crate) fn ours() -> Self {
        let flags = FLAGS.into_iter().chain(RAILS_OPEN).collect();
        Self { name: "ours", path: env!("CARGO_BIN_EXE_scripted-ccm").into(), flags }
    }

    pub(crate) fn upstream(path: PathBuf) -> Self {
        Self { name: "upstream", path, flags: FLAGS.to_vec() }
    }
}

/// A side that runs.
pub(crate) struct Side {
    program: Program,
    /// None before it is started, and after it was killed.
    manager: Option<Process>,
    cluster: Cluster,
    client: Client,
    kubeconfig: PathBuf,
    folder: PathBuf,
    cloud: Value,
    uids: Uids,
}

impl Side {
    pub(crate) async fn start(program: Program) -> anyhow::Result<Self> {
        let cluster = Cluster::start_audited(&json!({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [
                {"level": "Request", "users": [USER], "verbs": ["create", "update", "patch", "delete"]},
                {"level": "None"},
            ],
        }))
        .await?;
        let client = cluster.client(&Identity::Admin).await?;
        let identity = Identity::User { name: USER.to_owned(), group: Some("system:masters".to_owned()) };
        let kubeconfig = cluster.kubeconfig(&identity).await?;
        let folder = cluster.folder().join(program.name);
        fs::create_dir(&folder)?;
        let cloud = crate::objects::cloud_at_the_start();
        write_whole(&folder.join("state.json"), &cloud)?;
        let files = json!({"state": folder.join("state.json"), "calls": folder.join("calls.jsonl")});
        write_whole(&folder.join("cloud.json"), &files)?;
        fs::write(folder.join("calls.jsonl"), "")?;
        Ok(Self { program, manager: None, cluster, client, kubeconfig, folder, cloud, uids: Uids::new() })
    }

    /// Makes the edits of a stage, waits until what it waits for has come about and nothing changes any more, and looks.
    pub(crate) async fn play(&mut self, stage: &Stage) -> anyhow::Result<StageRecord> {
        let calls_before = self.calls()?.len();
        for edit in &stage.edits {
            self.perform(edit).await.with_context(|| format!("{}: {edit:?}", stage.name))?;
        }
        let wait = Wait::within(PATIENCE);
        let arrived = wait.until(stage.name, async || {
            let seen = seen::look(&self.client, &mut self.uids).await?;
            let calls = self.calls()?;
            Ok((stage.until)(&seen, calls.get(calls_before..).unwrap_or_default()).then_some(()))
        });
        let arrived = arrived.await.inspect_err(|error| println!("{}: {error:#}", self.program.name)).is_ok();
        self.wait_for_quiet().await;
        let seen = seen::look(&self.client, &mut self.uids).await?;
        let calls = self.calls()?.split_off(calls_before);
        Ok(StageRecord { name: stage.name, arrived, seen, calls })
    }

    async fn perform(&mut self, edit: &Edit) -> anyhow::Result<()> {
        match edit {
            Edit::Cloud(patch) => {
                edit::merge(&mut self.cloud, patch);
                write_whole(&self.folder.join("state.json"), &self.cloud)?;
            }
            Edit::Kill => self.manager = None,
            Edit::Start => {
                self.manager = Some(run(&self.program, &self.folder, &self.kubeconfig)?);
            }
            _of_the_cluster => edit::perform(&self.client, edit).await?,
        }
        Ok(())
    }

    async fn wait_for_quiet(&self) {
        let changes = async || self.changes().map(Some);
        // A side that does not become quiet is compared as it is.
        Wait::within(UNREST).until_settled("no more changes", QUIET, changes).await.ok();
    }

    /// How much was changed: successful calls to the cloud, and writes that are no notes and say something.
    fn changes(&self) -> anyhow::Result<(usize, usize)> {
        let calls = self.calls()?.iter().filter(|call| !call.failed).count();
        let counts = |line: &&Audited| line.write.resource != "events" && !line.is_empty;
        Ok((calls, self.audit()?.iter().filter(counts).count()))
    }

    fn calls(&self) -> anyhow::Result<Vec<Call>> {
        let text = fs::read_to_string(self.folder.join("calls.jsonl"))?;
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _half)| whole);
        whole.lines().map(|line| serde_json::from_str(line).context(line.to_owned())).collect()
    }

    fn audit(&self) -> anyhow::Result<Vec<Audited>> {
        let text = match fs::read_to_string(self.cluster.audit_log()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text?,
        };
        let whole = text.rsplit_once('\n').map_or("", |(whole, _half)| whole);
        whole.lines().map(audited).collect()
    }

    /// How often the manager wrote what.
    pub(crate) fn writes(&self) -> anyhow::Result<BTreeMap<Write, usize>> {
        let mut writes = BTreeMap::new();
        for line in self.audit()? {
            *writes.entry(line.write).or_default() += 1;
        }
        Ok(writes)
    }

    /// The events of the manager.
    pub(crate) async fn events(&self) -> anyhow::Result<BTreeMap<String, i32>> {
        seen::events(&self.client, &self.uids).await
    }

    /// The last lines of the manager's log.
    pub(crate) fn log_tail(&self) -> String {
        format!("--- the last lines of {}\n{}", self.program.name, tail(&self.folder.join("log")))
    }
}

fn run(program: &Program, folder: &Path, kubeconfig: &Path) -> anyhow::Result<Process> {
    Manager::new(&program.path)
        .flags(program.flags.iter().copied())
        .cloud_config(&folder.join("cloud.json"))
        .kubeconfig(kubeconfig)
        .start(folder.join("log"))
}

/// A reader sees the whole old or the whole new file.
fn write_whole(path: &Path, content: &Value) -> anyhow::Result<()> {
    let aside = path.with_extension("new");
    fs::write(&aside, content.to_string())?;
    Ok(fs::rename(aside, path)?)
}
