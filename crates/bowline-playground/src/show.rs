//! What a newcomer sees: nodes join and become usable, Services get their addresses. With many of both, how far it is; with a seed,
//! what goes wrong then.

use std::time::Duration;

use anyhow::bail;
use bowline_manager::signals::Signals;
use serde_json::json;
use sim_openstack::Latencies;
use tokio::time::{Instant, interval, sleep};

use crate::chaos;
use crate::cluster::INGRESS;
use crate::command::Arguments;
use crate::folder::Folder;
use crate::news::Standing;
use crate::next_steps::{Files, called, next_steps};
use crate::stage::{House, LOG, Setting, Stage};
use crate::terminal::{Tone, bar};

/// From so many on, each of them is no longer told.
const MANY: usize = 20;

/// From so many nodes on, only a few of them take traffic: a load balancer with thousands of members is nobody's wish.
const FEW_TAKE_TRAFFIC: usize = 50;

/// How often the status line is written.
const STATUS: Duration = Duration::from_millis(150);

/// How often a line tells how far it is, where there is no status line.
const PROGRESS: Duration = Duration::from_secs(2);

/// So long nothing happens before that is told.
const CALM: Duration = Duration::from_secs(1);

/// What is waited for each node and Service, beside the patience for all.
const EACH: Duration = Duration::from_millis(300);

/// How long things take in the cloud once the first Services have their address: enough to be seen.
fn leisurely() -> Latencies {
    Latencies {
        server_build: Duration::from_secs(2),
        server_delete: Duration::from_millis(500),
        amphora_create: Duration::from_secs(3),
        amphora_change: Duration::from_millis(300),
        amphora_delete: Duration::from_secs(1),
        ..Latencies::none()
    }
}

/// Plays until a signal, or until everything was seen.
pub(crate) async fn play(
    arguments: &Arguments,
    house: &House,
    folder: &Folder,
    signals: &Signals,
) -> anyhow::Result<()> {
    let size = Size::of(arguments);
    house
        .terminal
        .heading("Bowline's playground: a Kubernetes API and an OpenStack in memory, and the real manager.");
    let mut stage = Stage::build(house, folder, &setting(&size, arguments.chaos.is_some())).await?;
    stage.tell(&format!(
        "the Kubernetes API is on http://{}, the OpenStack on http://{}",
        stage.cluster.address, stage.cloud.address
    ));
    stage.tell(&stage.command());
    let played = {
        let show = show(&mut stage, &size, arguments, folder);
        tokio::select! {
            shown = show => shown,
            _ = signals.received() => Ok(()),
        }
    };
    stage.terminal().status("");
    stage.end().await;
    played
}

/// How large it is.
struct Size {
    nodes: usize,
    services: usize,
}

impl Size {
    fn of(arguments: &Arguments) -> Self {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Self { nodes: number(arguments.nodes), services: number(arguments.services) }
    }

    fn is_large(&self) -> bool {
        self.nodes > MANY || self.services > MANY
    }

    fn patience(&self) -> Duration {
        let each = EACH.saturating_mul(u32::try_from(self.nodes + self.services).unwrap_or(u32::MAX));
        crate::stage::PATIENCE + each
    }
}

fn setting(size: &Size, has_chaos: bool) -> Setting {
    let mut flags = Vec::new();
    if has_chaos {
        flags.extend(chaos::FLAGS.iter().map(|&flag| flag.to_owned()));
    } else if !size.is_large() {
        // What somebody does to a load balancer behind the manager's back is put right while they look.
        flags.extend(["--load-balancer-repair-period=10s", "--node-monitor-period=1s"].map(str::to_owned));
    }
    Setting { nodes: size.nodes, few_take_traffic: size.nodes > FEW_TAKE_TRAFFIC, flags, has_page: true }
}

async fn show(stage: &mut Stage, size: &Size, arguments: &Arguments, folder: &Folder) -> anyhow::Result<()> {
    stage.news.quiet(size.is_large());
    arrive(stage, size).await?;
    stage.news.quiet(false);
    stage.cloud.take_time(leisurely());
    let searched = std::env::var_os("PATH").unwrap_or_default();
    let files = Files {
        program: called(
            &std::env::current_exe()?,
            &std::env::current_dir()?,
            std::env::split_paths(&searched),
        ),
        kubeconfig: folder.file("kubeconfig"),
        clouds_yaml: folder.file("clouds.yaml"),
        conf: folder.file("cloud.conf"),
        log: folder.file(LOG),
    };
    stage.terminal().write("");
    let page = stage.page.map(|page| format!("http://{page}/bowline"));
    stage.terminal().write(&next_steps(&files, size.nodes, page.as_deref()));
    stage.terminal().write("");
    match arguments.chaos {
        Some(seed) => chaos::play(stage, seed, arguments.once).await?,
        None if arguments.once => {}
        None => stage.terminal().write("Ctrl-C ends all of it."),
    }
    if !arguments.once {
        stay(stage).await?;
    }
    Ok(())
}

/// Nodes join, then Services are created; all of them become what they shall be.
async fn arrive(stage: &Stage, size: &Size) -> anyhow::Result<()> {
    let began = stage.terminal().elapsed();
    if size.is_large() {
        stage.tell(&format!(
            "{} nodes join, then {} Services ask for a load balancer",
            size.nodes, size.services
        ));
    }
    wait(stage, size, "all nodes are initialised", |stage| stage.news.now().initialised >= size.nodes)
        .await?;
    let annotations = match size.nodes > FEW_TAKE_TRAFFIC {
        true => json!({"loadbalancer.openstack.org/node-selector": format!("{INGRESS}=true")}),
        false => json!({}),
    };
    let nodes_ready = stage.terminal().elapsed();
    for number in 1..=size.services {
        let name = if number == 1 { "web".to_owned() } else { format!("web-{number}") };
        stage.cluster.create_service(&name, &annotations)?;
    }
    wait(stage, size, "all Services have an address", |stage| stage.news.now().addressed >= size.services)
        .await?;
    let all = stage.terminal().elapsed();
    let (asked, writes) = (stage.cloud.asked(), stage.cluster.gate.writes());
    let text = format!(
        "{} nodes initialised in {:.2} s, {} with an address in {:.2} s more; cloud calls {} ({} reads, {} \
         writes); API writes {}, events {}",
        size.nodes,
        (nodes_ready - began).as_secs_f64(),
        match size.services {
            1 => "1 Service".to_owned(),
            more => format!("{more} Services"),
        },
        (all - nodes_ready).as_secs_f64(),
        asked.reads + asked.writes,
        asked.reads,
        asked.writes,
        writes.objects,
        writes.events
    );
    stage.terminal().tell(Tone::Good, "stage", &text);
    Ok(())
}

async fn wait(stage: &Stage, size: &Size, what: &str, is_so: impl Fn(&Stage) -> bool) -> anyhow::Result<()> {
    let progress = async {
        let mut told = Instant::now();
        loop {
            sleep(STATUS).await;
            draw(stage, size);
            if size.is_large() && !stage.terminal().is_live() && told.elapsed() >= PROGRESS {
                told = Instant::now();
                stage.terminal().tell(Tone::Plain, "progress", &stage.standing());
            }
        }
    };
    tokio::select! {
        waited = stage.until_within(size.patience(), what, || is_so(stage)) => waited.map(drop),
        () = progress => Ok(()),
    }
}

fn draw(stage: &Stage, size: &Size) {
    if !size.is_large() {
        stage.terminal().status(&stage.standing());
        return;
    }
    let (now, asked) = (stage.news.now(), stage.cloud.asked());
    stage.terminal().status(&format!(
        "nodes {} {}/{}  Services {} {}/{}  calls {}",
        bar(now.initialised, size.nodes, 12),
        now.initialised,
        size.nodes,
        bar(now.addressed, size.services, 12),
        now.addressed,
        size.services,
        asked.reads + asked.writes
    ));
}

/// Stays, and keeps the status line; where there is none, tells how things stand when they have changed and are calm again.
async fn stay(stage: &mut Stage) -> anyhow::Result<()> {
    let (mut seen, mut since, mut told) = (changes(stage), Instant::now(), changes(stage));
    let mut ticks = interval(STATUS);
    loop {
        tokio::select! {
            ended = stage.manager_ended() => bail!("the manager ended by itself: {ended}"),
            _ = ticks.tick() => {}
        }
        stage.terminal().status(&stage.standing());
        let now = changes(stage);
        if now != seen {
            (seen, since) = (now, Instant::now());
        } else if now != told && since.elapsed() >= CALM && !stage.terminal().is_live() {
            told = now;
            stage.terminal().tell(Tone::Plain, "status", &stage.standing());
        }
    }
}

/// What changes when something happens, and not when the manager only looks.
fn changes(stage: &Stage) -> (Standing, u64, u64) {
    (stage.news.now(), stage.cloud.asked().writes, stage.cluster.gate.writes().objects)
}
