//! `bowline cleanup`: removes what a cluster that is no more left in the cloud. Asks the cloud, shows the plan, asks the person,
//! performs. What is decided is the provider's (`bowline_openstack::cleanup`), what is said is in `words`.

mod users;
mod words;

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use bowline_cli::output::{Format, Output, say};
use bowline_cli::session::cloud::given;
use bowline_cli::terminal::one_line;
use bowline_openstack::cleanup::{CleanupPlan, Done, Kind, LeftAlone, Removal, Request, observe, perform};
use bowline_openstack::cloud::{OpenStackCloud, Surroundings};
use openstack_client::Client;

use self::words::{Report, show};

/// Something could not be removed, or nobody agreed.
const FAILED: u8 = 1;
/// It could not be looked at, or the command line does not say enough.
const NOT_LOOKED: u8 = 2;
/// All went well, and something looks like the cluster's and was left alone.
const LEFT_ALONE: u8 = 4;

/// What it says of its exit codes.
const CODES: &str = "Exit codes:\n  0  nothing is left, or all of it was removed\n  1  something could not be removed, or nobody said yes\n  2  it could not be looked at, or the command line is wrong\n  4  something that looks like the cluster's was left alone";

/// What to remove, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = CODES)]
pub(crate) struct Arguments {
    /// The `--cluster-name` that the cluster had
    #[arg(long, value_name = "NAME", alias = "cluster")]
    cluster_name: String,
    /// The UID of its namespace kube-system, where several clusters had that name
    #[arg(long, value_name = "UID")]
    cluster_uid: Option<String>,
    /// Remove also what bears OCCM's tags of this name and none of Bowline's. Other clusters of the same name have the same tags
    #[arg(long)]
    include_occm_tags: bool,
    /// List what would be removed, and end
    #[arg(long)]
    dry_run: bool,
    /// Remove without asking
    #[arg(long, short = 'y')]
    yes: bool,
    /// The cloud.conf of the cluster; without it --os-cloud or the OS_* variables
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    cloud_config: Option<PathBuf>,
    /// An entry of clouds.yaml; also OS_CLOUD
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    os_cloud: Option<String>,
    /// A cluster that lives: what its Services use stays. Without it and --context no API server is asked
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    kubeconfig: Option<PathBuf>,
    /// Another context of it than the current one; without --kubeconfig, of KUBECONFIG or the one at home
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    context: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Why it ends early.
#[derive(Debug)]
struct Ending {
    code: u8,
    why: String,
}

impl Ending {
    fn not_looked(why: impl std::fmt::Display) -> Self {
        Self { code: NOT_LOOKED, why: why.to_string() }
    }
}

/// Runs it.
pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    match try_run(&arguments).await {
        Ok(code) => ExitCode::from(code),
        Err(Ending { code, why }) => {
            eprintln!("error: {}", one_line(&why));
            ExitCode::from(code)
        }
    }
}

async fn try_run(arguments: &Arguments) -> Result<u8, Ending> {
    let client = client(arguments).await?;
    let Arguments { kubeconfig, context, .. } = arguments;
    let users = match (kubeconfig, context) {
        (None, None) => Vec::new(),
        _ => users::of(kubeconfig.as_deref(), context.as_deref()).await.map_err(Ending::not_looked)?,
    };
    let (cluster, format) = (&arguments.cluster_name, arguments.output.format);
    let request = Request {
        cluster: cluster.clone(),
        cluster_uid: arguments.cluster_uid.clone(),
        users,
        occm_tags: arguments.include_occm_tags,
    };
    let found = observe(&client).await.map_err(Ending::not_looked)?;
    let plan = CleanupPlan::of(&request, &found).map_err(Ending::not_looked)?;
    let mut report = Report::new(cluster, found.project.as_str(), arguments.dry_run, &plan);
    show(format, || words::listing(cluster, found.project.as_str(), &plan));
    if !arguments.dry_run && !plan.remove.is_empty() {
        if !arguments.yes && !agreed(plan.remove.len()) {
            let why = "nothing was removed: nobody said yes (--yes says it)".to_owned();
            return Err(Ending { code: FAILED, why });
        }
        remove(&client, &plan, format, &mut report).await;
    }
    say(&mut std::io::stdout(), format, &report).map_err(Ending::not_looked)
}

async fn client(arguments: &Arguments) -> Result<Client, Ending> {
    let settings = given(arguments.cloud_config.as_deref(), arguments.os_cloud.as_deref());
    let why = "no configuration of the cloud: neither --cloud-config, --os-cloud nor OS_AUTH_URL is given";
    let settings = settings.ok_or_else(|| Ending::not_looked(why))?;
    let around = Surroundings::of_process(env!("CARGO_PKG_VERSION"));
    let cloud = OpenStackCloud::from_config(&settings.config, around).await;
    cloud
        .map(|cloud| cloud.client())
        .map_err(|error| Ending::not_looked(format!("{}: {error}", settings.from)))
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
async fn remove(client: &Client, plan: &CleanupPlan, format: Format, report: &mut Report) {
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
                show(format, || format!("removed {}", words::line(thing)));
                report.removed.push(thing.id.clone());
            }
            Ok(Done::LeftAlone(why)) => {
                show(format, || format!("left alone {}: {}", words::line(thing), one_line(&why)));
                kept.extend(&thing.services);
                report.left_alone.push(LeftAlone { thing: thing.clone(), why });
            }
            Err(why) => {
                eprintln!("error: {} could not be removed: {}", words::line(thing), one_line(&why));
                kept.extend(&thing.services);
                report.failed.push(words::Failed { id: thing.id.clone(), why });
            }
        }
    }
}
