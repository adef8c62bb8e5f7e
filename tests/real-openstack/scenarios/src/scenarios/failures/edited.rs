//! Somebody changes parts of a load balancer by hand: they are mended, and it stays the same one with the same address.

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, load_balancer_id, port, service};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::{Harness, Whole, ports_of};
use crate::openstack::Api::LoadBalancer;
use crate::scenario::{Provider, Stage};
use crate::waiting::until;

/// By default load balancers are compared twice a day.
pub(super) const REPAIRS: [&str; 3] =
    ["--load-balancer-repair-period=5s", "--create-limit=100", "--load-balancer-replacement-delay=3s"];

/// Changes something in Octavia by hand, as soon as it can be changed.
pub(super) async fn by_hand(
    site: &Harness<'_>,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> anyhow::Result<()> {
    let what = format!("{method} {path} is accepted");
    until(&what, async || {
        let (status, said) = site.world.member.ask(method.clone(), LoadBalancer, path, body).await?;
        // Busy with what the manager changes.
        if status == StatusCode::CONFLICT {
            return Ok(None);
        }
        ensure!(status.is_success(), "{method} {path}: {status} {said}");
        Ok(Some(()))
    })
    .await
}

/// What is compared, as text: names, ports, algorithms, members, who hangs on whom.
fn shape(whole: &Whole) -> String {
    let pool_name = |id: &Value| {
        let pool = whole.pools.iter().find(|pool| pool["id"] == *id);
        pool.map_or(Value::Null, |pool| pool["name"].clone())
    };
    let mut lines: Vec<String> = Vec::new();
    for listener in &whole.listeners {
        let pool = pool_name(&listener["default_pool_id"]);
        let (name, port) = (&listener["name"], &listener["protocol_port"]);
        lines.push(format!("listener {name} {port} {} {} -> {pool}", listener["protocol"], listener["tags"]));
    }
    for (pool, members) in whole.pools.iter().zip(&whole.members) {
        let (name, protocol) = (&pool["name"], &pool["protocol"]);
        lines
            .push(format!("pool {name} {protocol} {} {}", pool["lb_algorithm"], pool["session_persistence"]));
        for member in members {
            let (address, port) = (&member["address"], &member["protocol_port"]);
            lines.push(format!("member of {name}: {} {address} {port} {}", member["name"], member["weight"]));
        }
    }
    for monitor in &whole.monitors {
        lines.push(format!("monitor {} {} {}", monitor["name"], monitor["type"], monitor["delay"]));
    }
    lines.sort();
    let mut tags: Vec<String> =
        whole.balancer["tags"].as_array().into_iter().flatten().map(Value::to_string).collect();
    tags.sort();
    format!("tags {}\n{}", tags.join(","), lines.join("\n"))
}

/// A change by hand: how it is asked for.
struct Edit {
    what: &'static str,
    method: Method,
    path: String,
    body: Option<Value>,
}

/// Names are not among them: they are for people, nothing is found by the name of a part, and who renames one is left alone.
fn edits(stage: &Stage<'_>, whole: &Whole) -> Vec<Edit> {
    let id = |row: &Value| row["id"].as_str().unwrap_or_default().to_owned();
    let (listener, pool) = (&whole.listeners[0], &whole.pools[0]);
    let member = id(&whole.members[0][0]);
    let (listener, pool, balancer) = (id(listener), id(pool), id(&whole.balancer));
    let edit = |what, method, path: String, body| Edit { what, method, path, body };
    let stranger = json!({"member": {"address": "10.10.3.3", "protocol_port": 3, "name": "stranger"}});
    let mut edits = vec![
        edit("a member is removed", Method::DELETE, format!("pools/{pool}/members/{member}"), None),
        edit("a member is added", Method::POST, format!("pools/{pool}/members"), Some(stranger)),
        edit(
            "the tags are removed",
            Method::PUT,
            format!("loadbalancers/{balancer}"),
            Some(json!({"loadbalancer": {"tags": []}})),
        ),
        edit("a listener is deleted", Method::DELETE, format!("listeners/{listener}"), None),
        edit("a pool is deleted", Method::DELETE, format!("pools/{pool}"), None),
    ];
    if stage.provider == Provider::Amphora {
        let algorithm = json!({"pool": {"lb_algorithm": "LEAST_CONNECTIONS"}});
        edits.push(edit(
            "the algorithm of a pool is changed",
            Method::PUT,
            format!("pools/{pool}"),
            Some(algorithm),
        ));
        let limit = json!({"listener": {"connection_limit": 7}});
        edits.push(edit(
            "the limit of a listener is changed",
            Method::PUT,
            format!("listeners/{listener}"),
            Some(limit),
        ));
    }
    edits
}

pub(super) async fn parts(stage: &Stage<'_>) -> anyhow::Result<()> {
    let conf = format!("{}create-monitor = true\n", stage.provider.conf());
    let site = Harness::start(stage, &Conf::new(conf)).await?;
    let _manager = site.run(&REPAIRS)?;
    site.join_all().await?;
    let two = json!({"ports": [port("http", 80, "TCP"), port("https", 443, "TCP")]});
    site.services.create(&service("web", &[], &two)).await?;
    let good = shape(&site.served_once("web").await?);
    let web = site.services.until_ready("web").await?;
    let id = load_balancer_id(&web)?;
    for number in 0..edits(stage, &site.whole(id).await?).len() {
        // Ids are others after something was made anew.
        let Some(edit) = edits(stage, &site.whole(id).await?).into_iter().nth(number) else { break };
        let began = std::time::Instant::now();
        by_hand(&site, edit.method, &edit.path, edit.body.as_ref()).await.context(edit.what)?;
        let what = format!("{}: mended", edit.what);
        let mended = until(&what, async || {
            let whole = site.whole(id).await?;
            let active =
                whole.balancer["provisioning_status"] == "ACTIVE" && ports_of(&whole.listeners).len() == 2;
            let now = shape(&whole);
            ensure!(!active || now == good, "wanted:\n{good}\nfound:\n{now}");
            Ok(active.then_some(()))
        });
        mended.await.with_context(|| site.tail())?;
        stage.note(format!("{}: mended after {:.1} s", edit.what, began.elapsed().as_secs_f64()));
    }
    let now = site.services.until_ready("web").await?;
    ensure!(load_balancer_id(&now)? == id && address(&now) == address(&web), "{now:#}");
    ensure!(site.nothing_doubled().await? == 1);
    site.services.delete_all().await?;
    site.nothing_left().await
}
