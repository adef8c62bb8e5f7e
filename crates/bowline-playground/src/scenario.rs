//! Incidents: what happened to others, replayed, so that one sees the rail hold. Each checks by itself that it did.
//!
//! This file has the table and plays it; what is played is below.

mod balancers;
mod clusters;
mod identity;
mod limits;
mod nodes;
mod right_to_act;

use anyhow::{Context, bail};
use bowline_manager::signals::Signals;
use futures::future::BoxFuture;
use serde_json::json;

use crate::folder::Folder;
use crate::stage::{House, Setting, Stage};
use crate::terminal::Tone;

/// What every manager in a scenario is told: minutes become seconds.
const FLAGS: [&str; 3] =
    ["--node-monitor-period=500ms", "--load-balancer-repair-period=2s", "--second-look-delay=1s"];

/// What a scenario plays; the answer says what Bowline did.
type Play = for<'a> fn(&'a mut Stage, &'a Folder) -> BoxFuture<'a, anyhow::Result<String>>;

/// An incident.
pub(crate) struct Scenario {
    /// Its name on the command line.
    name: &'static str,
    /// The rail that answers it, and who had the incident.
    rail: &'static str,
    /// What happens.
    happens: &'static str,
    /// What a manager without the rail does.
    naive: &'static str,
    /// How many nodes there are.
    nodes: usize,
    /// More flags.
    flags: &'static [&'static str],
    play: Play,
}

/// All of them.
const ALL: [Scenario; 20] = [
    Scenario {
        name: "incident-empty-cloud",
        rail: "SR-2, node deletion budget (kubernetes/kubernetes #28901)",
        happens: "The control plane loses its kubelets for a moment, and in that moment Nova lists no server at all and \
                  answers 404 for each.",
        naive: "deletes every Node within a minute; all pods go with them.",
        nodes: 6,
        flags: &["--node-deletion-breaker-recovery=2s"],
        play: |stage, _| Box::pin(nodes::empty_cloud(stage)),
    },
    Scenario {
        name: "incident-proxy-404",
        rail: "SR-1, unknown is not gone",
        happens: "The proxy before Nova is misconfigured: it answers 404 with a page of its own while kubelets are unheard.",
        naive: "takes 404 for \"this server does not exist\" and deletes the Nodes.",
        nodes: 3,
        flags: &[],
        play: |stage, _| Box::pin(nodes::proxy_404(stage)),
    },
    Scenario {
        name: "incident-half-gone",
        rail: "SR-2, node deletion budget: the breaker",
        happens: "Half of the project's servers are really gone at once: somebody deleted the wrong stack.",
        naive: "deletes the Nodes of half the cluster before anybody can look.",
        nodes: 8,
        flags: &[],
        play: |stage, _| Box::pin(nodes::half_gone(stage)),
    },
    Scenario {
        name: "incident-mass-disappearance",
        rail: "SR-2, node deletion budget: a few at a time",
        happens: "Six of twenty servers disappear: fewer than open the breaker.",
        naive: "deletes all six Nodes at once.",
        nodes: 20,
        flags: &[],
        play: |stage, _| Box::pin(nodes::mass_disappearance(stage)),
    },
    Scenario {
        name: "incident-server-deleted",
        rail: "the other direction (cloud-provider-openstack #2999, #3114; cloud-provider-vsphere #680)",
        happens: "One server is deleted, and its Node has to go: rails must not stop what is right.",
        naive: "with a careless rail keeps the Node for ever.",
        nodes: 3,
        flags: &[],
        play: |stage, _| Box::pin(nodes::server_deleted(stage)),
    },
    Scenario {
        name: "incident-namesake",
        rail: "SR-5, identity preconditions (kubernetes/kubernetes #93287; cloud-provider-vsphere #397)",
        happens: "A server is deleted; while Nova takes its time to say so, a new one of the same name registers its Node.",
        naive: "deletes the new Node, because it has the name of the old one.",
        nodes: 3,
        flags: &[],
        play: |stage, _| Box::pin(nodes::namesake(stage)),
    },
    Scenario {
        name: "incident-foreign-node",
        rail: "SR-4, claim before control (cloud-provider #35; hcloud #7; cloud-provider-vsphere #538)",
        happens: "A bare-metal Node with the provider ID of another system joins the cluster, and is not ready.",
        naive: "finds no server for it and deletes it.",
        nodes: 3,
        flags: &[],
        play: |stage, _| Box::pin(nodes::foreign_node(stage)),
    },
    Scenario {
        name: "incident-wrong-project",
        rail: "SR-3, read-only on auth loss",
        happens: "The project's name comes to stand for a new, empty project, while kubelets are unheard.",
        naive: "sees a cloud without servers and load balancers: deletes Nodes, and makes every load balancer once more.",
        nodes: 3,
        flags: &[],
        play: |stage, _| Box::pin(identity::wrong_project(stage)),
    },
    Scenario {
        name: "incident-wrong-password",
        rail: "SR-3, read-only on auth loss (cloud-provider-vsphere #479, #642)",
        happens: "The password in the cloud is changed, and cloud.conf follows later; meanwhile kubelets are unheard.",
        naive: "takes the failed look-ups for missing machines and deletes the Nodes.",
        nodes: 3,
        flags: &[],
        play: |stage, folder| Box::pin(identity::wrong_password(stage, folder)),
    },
    Scenario {
        name: "incident-lb-deleted",
        rail: "SR-9 and SR-10: the address stays, and one load balancer is made, not many",
        happens: "Somebody deletes the load balancer of a Service in the cloud.",
        naive: "notices at the next edit of the Service, or makes it anew with another address.",
        nodes: 3,
        flags: &[],
        play: |stage, _| Box::pin(balancers::deleted(stage)),
    },
    Scenario {
        name: "incident-lb-edited",
        rail: "drift is repaired (SR-7 looks twice before a large removal)",
        happens: "Somebody deletes a member of a load balancer in the cloud, and then its listener.",
        naive: "leaves it so: traffic is lost until somebody touches the Service.",
        nodes: 3,
        flags: &[],
        play: |stage, _| Box::pin(balancers::edited(stage)),
    },
    Scenario {
        name: "incident-lost-reply",
        rail: "SR-10, create budget (SovereignCloudStack #179; CAPO #1114)",
        happens: "Octavia makes the load balancer, and Neutron the address, and both answers are lost on the way.",
        naive: "asks again, and again: load balancers and floating IPs until the quota is gone.",
        nodes: 3,
        flags: &[],
        play: |stage, _| Box::pin(balancers::lost_reply(stage)),
    },
    Scenario {
        name: "incident-octavia-down",
        rail: "SR-11, isolation (cloud-provider-openstack #2704)",
        happens: "Octavia answers nothing but 503 while new nodes join.",
        naive: "does not start, or keeps nodes waiting for the load balancers.",
        nodes: 2,
        flags: &[],
        play: |stage, _| Box::pin(balancers::octavia_down(stage)),
    },
    Scenario {
        name: "incident-two-clusters",
        rail: "SR-8, ownership by identity (DigitalOcean CCM #916; cloud-provider-openstack #1371, #2682)",
        happens: "A second cluster of the same name is set up in the same project, with a Service of the same name.",
        naive: "finds the first cluster's load balancer by its name, takes it over, and deletes it with the Service.",
        nodes: 2,
        flags: &[],
        play: |stage, folder| Box::pin(clusters::two_of_one_name(stage, folder)),
    },
    Scenario {
        name: "incident-lost-right",
        rail: "SR-6, right to act (cloud-provider-openstack #3225)",
        happens: "With an update the manager's role loses the right to delete Nodes; a server is deleted, and its Node has to go.",
        naive: "says nothing but a line in its log, and the Node stays for ever.",
        nodes: 4,
        flags: &["--new-node-grace-period=1s"],
        play: |stage, _| Box::pin(right_to_act::lost_right(stage)),
    },
    Scenario {
        name: "incident-excluded-nodes",
        rail: "SR-7, second look (cloud-provider-openstack #2699; kubernetes/kubernetes #45126)",
        happens: "By mistake somebody excludes all nodes from load balancers at once; later three of four are meant.",
        naive: "takes all members out at once: nothing is reached any more.",
        nodes: 4,
        flags: &["--second-look-delay=5s"],
        play: |stage, _| Box::pin(balancers::excluded_nodes(stage)),
    },
    Scenario {
        name: "incident-crowd",
        rail: "SR-12, call budget (hcloud #661; cloud-provider-openstack #2089)",
        happens: "Twenty Services are created at once, and Octavia says that this is too much: 429, with a pause of three seconds.",
        naive: "asks again at once, for each of them, until the cloud refuses it altogether.",
        nodes: 3,
        flags: &["--cloud-api-qps=10", "--cloud-api-burst=20"],
        play: |stage, _| Box::pin(limits::crowd(stage)),
    },
    Scenario {
        name: "incident-lost-lease",
        rail: "SR-13, fence (load balancers made twice while two managers worked)",
        happens: "While a load balancer is being made, somebody else takes the Lease and leads.",
        naive: "goes on with what it has begun, beside the other one: two of everything.",
        nodes: 2,
        flags: &["--leader-elect-retry-period=500ms"],
        play: |stage, _| Box::pin(right_to_act::lost_lease(stage)),
    },
    Scenario {
        name: "incident-young-node",
        rail: "SR-14, new nodes (kubernetes/kubernetes #58334)",
        happens: "A Node joins, not ready yet, before Nova knows its server: it says that there is none.",
        naive: "finds no server for it and deletes it; its kubelet does not register again.",
        nodes: 4,
        flags: &["--new-node-grace-period=5m"],
        play: |stage, _| Box::pin(nodes::young_node(stage)),
    },
    Scenario {
        name: "incident-pause",
        rail: "SR-15, pause (cloud-provider-openstack #2596)",
        happens: "During work on the cloud a person pauses the manager, for the whole cluster and then for one Service.",
        naive: "knows no pause: it is scaled down to nothing, or works against the person.",
        nodes: 4,
        flags: &["--leader-elect-retry-period=500ms", "--new-node-grace-period=1s"],
        play: |stage, _| Box::pin(right_to_act::paused(stage)),
    },
];

/// What there is, as text: two lines for each, what happens and the rail that answers it.
pub(crate) fn list() -> String {
    let width = ALL.iter().map(|scenario| scenario.name.len()).max().unwrap_or_default();
    let lines = |scenario: &Scenario| {
        let Scenario { name, happens, rail, .. } = scenario;
        format!("{name:<width$}  {happens}\n{:<width$}  {rail}", "")
    };
    ALL.iter().map(lines).collect::<Vec<_>>().join("\n")
}

/// The scenario of a name, or all of them.
pub(crate) fn named(name: &str) -> anyhow::Result<Vec<&'static Scenario>> {
    if name == "all" {
        return Ok(ALL.iter().collect());
    }
    match ALL.iter().find(|scenario| scenario.name == name) {
        Some(scenario) => Ok(vec![scenario]),
        None => {
            bail!("--scenario {name:?}: there is no such scenario; `--scenario list` tells which there are")
        }
    }
}

/// Plays one after the other, each on a stage of its own.
pub(crate) async fn play(
    scenarios: &[&Scenario],
    house: &House,
    folder: &Folder,
    signals: &Signals,
) -> anyhow::Result<()> {
    for scenario in scenarios {
        tokio::select! {
            played = scenario.play(house, folder) => played.with_context(|| format!("{}: the rail did not hold", scenario.name))?,
            _ = signals.received() => return Ok(()),
        }
    }
    Ok(())
}

impl Scenario {
    async fn play(&self, house: &House, folder: &Folder) -> anyhow::Result<()> {
        house.terminal.heading(&format!("{}: {}", self.name, self.rail));
        house.terminal.write(&format!("  What happens: {}", self.happens));
        house.terminal.write(&format!("  A naive manager {}", self.naive));
        let flags = FLAGS.iter().chain(self.flags).map(|&flag| flag.to_owned()).collect();
        let setting = Setting { nodes: self.nodes, few_take_traffic: false, flags, has_page: false };
        let house = House { listen: house.listen.anywhere(), ..house.clone() };
        let mut stage = Stage::build(&house, folder, &setting).await?;
        let played = self.play_on(&mut stage, folder).await;
        stage.terminal().status("");
        let terminal = stage.terminal().clone();
        stage.end().await;
        let did = played?;
        terminal.tell(Tone::Good, "held", &format!("Bowline {did}"));
        terminal.write("");
        Ok(())
    }

    async fn play_on(&self, stage: &mut Stage, folder: &Folder) -> anyhow::Result<String> {
        let nodes = self.nodes;
        stage.news.quiet(nodes > 10);
        stage.until("all nodes are initialised", || stage.news.now().initialised >= nodes).await?;
        stage.cluster.create_service("web", &json!({}))?;
        stage.until("the Service web has its address", || stage.cluster.address_of("web").is_some()).await?;
        stage.news.quiet(false);
        stage.tell("the cluster works; now it happens");
        (self.play)(stage, folder).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_a_name_of_its_own_that_says_incident() {
        let mut names: Vec<&str> = ALL.iter().map(|scenario| scenario.name).collect();
        assert!(names.iter().all(|name| name.starts_with("incident-")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn the_list_names_every_incident_with_its_rail() {
        let list = list();
        for scenario in &ALL {
            assert!(list.contains(scenario.name) && list.contains(scenario.rail), "{list}");
        }
    }

    #[test]
    fn every_rail_has_an_incident() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        for rail in (1..=15).map(|number| format!("SR-{number}")) {
            let names = |scenario: &Scenario| scenario.rail.split(|c| !is_word(c)).any(|word| word == rail);
            assert!(ALL.iter().any(names), "{rail}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_refused_with_what_to_do() {
        let refused = named("incident-nothing").err().unwrap().to_string();
        assert!(refused.contains("--scenario list"), "{refused}");
        assert_eq!(named("all").unwrap().len(), ALL.len());
    }
}
