//! `bowline cleanup`: removes what a cluster that is no more left in the cloud. Asks the cloud, shows the plan, asks the person,
//! performs. What is decided is the provider's (`bowline_openstack::cleanup`), what is said is in `words`.

mod users;
mod words;

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use bowline_cloud::CloudConfig;
use bowline_openstack::cleanup::{CleanupPlan, Done, Kind, LeftAlone, Removal, Request, observe, perform};
use bowline_openstack::cloud::{OpenStackCloud, Surroundings};
use openstack_client::Client;

use self::words::{Report, show};

/// Something failed, or nobody agreed.
const FAILED: u8 = 1;
/// The command line does not say enough.
const USAGE: u8 = 2;
/// All went well, and something looks like the cluster's and was left alone.
const LEFT_ALONE: u8 = 4;

/// What to remove, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The `--cluster-name` that the cluster had
    #[arg(long, value_name = "NAME")]
    cluster: String,
    /// The UID of its namespace kube-system, where several clusters had that name
    #[arg(long, value_name = "UID")]
    cluster_uid: Option<String>,
    /// Remove also what bears OCCM's tags of this name and none of Bowline's. Other clusters of the same name have the same tags
    #[arg(long)]
    include_occm_tags: bool,
    /// List what would be removed, and end
    #[arg(long)]
    dry_run: bool,
    /// The cloud.conf of the cluster
    #[arg(long, value_name = "FILE")]
    cloud_config: Option<PathBuf>,
    /// A cluster that lives: what its Services use stays. Without it no API server is asked
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Remove without asking
    #[arg(long, short = 'y')]
    yes: bool,
    /// How to say it
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// How things are said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Output {
    /// Lines for people.
    Text,
    /// One JSON object at the end.
    Json,
}

/// Why it ends early.
#[derive(Debug)]
struct Ending {
    code: u8,
    why: String,
}

impl Ending {
    fn failed(why: impl std::fmt::Display) -> Self {
        Self { code: FAILED, why: why.to_string() }
    }
}

/// Runs it.
pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    match try_run(&arguments).await {
        Ok(code) => ExitCode::from(code),
        Err(Ending { code, why }) => {
            eprintln!("error: {why}");
            ExitCode::from(code)
        }
    }
}

async fn try_run(arguments: &Arguments) -> Result<u8, Ending> {
    let client = client(arguments).await?;
    let users = match &arguments.kubeconfig {
        Some(path) => users::of(path).await.map_err(Ending::failed)?,
        None => Vec::new(),
    };
    let request = Request {
        cluster: arguments.cluster.clone(),
        cluster_uid: arguments.cluster_uid.clone(),
        users,
        occm_tags: arguments.include_occm_tags,
    };
    let found = observe(&client).await.map_err(Ending::failed)?;
    let plan = CleanupPlan::of(&request, &found)
        .map_err(|several| Ending { code: USAGE, why: several.to_string() })?;
    let mut report = Report::new(&arguments.cluster, found.project.as_str(), arguments.dry_run, &plan);
    show(arguments.output, || words::listing(&arguments.cluster, found.project.as_str(), &plan));
    if !arguments.dry_run && !plan.remove.is_empty() {
        if !arguments.yes && !agreed(plan.remove.len()) {
            return Err(Ending::failed("nothing was removed: nobody said yes (--yes says it)"));
        }
        remove(&client, &plan, arguments.output, &mut report).await;
    }
    if arguments.output == Output::Json {
        let text = serde_json::to_string_pretty(&report).map_err(Ending::failed)?;
        println!("{text}");
    }
    Ok(code(&report))
}

async fn client(arguments: &Arguments) -> Result<Client, Ending> {
    let text = match &arguments.cloud_config {
        None => None,
        Some(path) => Some(std::fs::read_to_string(path).map_err(|error| Ending {
            code: USAGE,
            why: format!("--cloud-config={}: {error}", path.display()),
        })?),
    };
    let config = CloudConfig::new(text).with_path(arguments.cloud_config.clone());
    let around = Surroundings::of_process(env!("CARGO_PKG_VERSION"));
    let cloud = OpenStackCloud::from_config(&config, around).await;
    cloud.map(|cloud| cloud.client()).map_err(|error| Ending { code: USAGE, why: error.to_string() })
}

/// Asks the person at the terminal.
fn agreed(count: usize) -> bool {
    eprint!("Remove {count} things? Type yes to go on: ");
    // Who cannot be asked does not agree.
    std::io::stderr().flush().ok();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).is_ok() && answer.trim() == "yes"
}

/// Removes one thing after the other. A load balancer whose belongings could not be removed stays: its tags are the only
/// proof of whose they are.
async fn remove(client: &Client, plan: &CleanupPlan, output: Output, report: &mut Report) {
    let mut kept: BTreeSet<&String> = BTreeSet::new();
    for removal in &plan.remove {
        let Removal { thing, .. } = removal;
        let outcome =
            if thing.kind == Kind::LoadBalancer && thing.services.iter().any(|one| kept.contains(one)) {
                Err("not tried: something that belongs to it is still there".to_owned())
            } else {
                perform(client, removal).await.map_err(|error| error.to_string())
            };
        match outcome {
            Ok(Done::Removed) => {
                show(output, || format!("removed {}", words::line(thing)));
                report.removed.push(thing.id.clone());
            }
            Ok(Done::LeftAlone(why)) => {
                show(output, || format!("left alone {}: {why}", words::line(thing)));
                kept.extend(&thing.services);
                report.left_alone.push(LeftAlone { thing: thing.clone(), why });
            }
            Err(why) => {
                eprintln!("error: {} could not be removed: {why}", words::line(thing));
                kept.extend(&thing.services);
                report.failed.push(words::Failed { id: thing.id.clone(), why });
            }
        }
    }
}

fn code(report: &Report) -> u8 {
    match (report.failed.is_empty(), report.left_alone.is_empty()) {
        (false, _) => FAILED,
        (true, false) => LEFT_ALONE,
        (true, true) => 0,
    }
}
