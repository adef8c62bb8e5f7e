//! What may be edited on a Service while it lives, one thing after the other.

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, condition, load_balancer_id, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::{Harness, Whole};
use crate::scenario::Stage;

const PREFIX: &str = "loadbalancer.openstack.org";

/// An edit, and what is seen then.
struct Edit {
    what: &'static str,
    patch: Value,
    seen: fn(&Value, &Whole) -> bool,
}

/// Annotations, without their prefix, are set or taken away.
fn annotated(what: &'static str, values: &Value, seen: fn(&Value, &Whole) -> bool) -> Edit {
    let values = values.as_object().into_iter().flatten();
    let keys: serde_json::Map<String, Value> =
        values.map(|(key, value)| (format!("{PREFIX}/{key}"), value.clone())).collect();
    Edit { what, patch: json!({"metadata": {"annotations": keys}}), seen }
}

fn specified(what: &'static str, spec: &Value, seen: fn(&Value, &Whole) -> bool) -> Edit {
    Edit { what, patch: json!({"spec": spec}), seen }
}

pub(super) async fn amphora(stage: &Stage<'_>) -> anyhow::Result<()> {
    // The certificates are not looked for: this cloud has no key manager.
    let conf = format!("{}container-store = external\n", stage.provider.conf());
    let site = Harness::start(stage, &Conf::new(conf)).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let before = created(&site).await?;
    let edits: Vec<Edit> =
        [everywhere(), with_amphora(), monitors_of_amphora()].into_iter().flatten().collect();
    perform(stage, &site, &edits, &before).await?;
    mistakes_are_told(&site).await?;
    site.services.delete("web").await?;
    site.nothing_left().await
}

pub(super) async fn ovn(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let before = created(&site).await?;
    let edits: Vec<Edit> = [everywhere(), monitors_of_ovn()].into_iter().flatten().collect();
    perform(stage, &site, &edits, &before).await?;
    what_ovn_lacks_is_told(&site).await?;
    mistakes_are_told(&site).await?;
    site.services.delete("web").await?;
    site.nothing_left().await
}

async fn created(site: &Harness<'_>) -> anyhow::Result<Value> {
    site.services.create(&service("web", &[], &json!({}))).await?;
    site.services.until_ready("web").await
}

async fn perform(
    stage: &Stage<'_>,
    site: &Harness<'_>,
    edits: &[Edit],
    before: &Value,
) -> anyhow::Result<()> {
    let began = std::time::Instant::now();
    for edit in edits {
        site.services.edit("web", &edit.patch).await.with_context(|| edit.what)?;
        let (web, _) = site.until_both("web", edit.what, |web, whole| (edit.seen)(web, whole)).await?;
        ensure!(load_balancer_id(&web)? == load_balancer_id(before)?, "{}: another load balancer", edit.what);
    }
    let each = began.elapsed().as_secs_f64() / f64::from(u32::try_from(edits.len())?);
    stage.note(format!("{} edits, {each:.1} s each", edits.len()));
    site.until_served("web", "all is as it was", &site.servers()).await?;
    Ok(())
}

/// What both providers do.
fn everywhere() -> Vec<Edit> {
    vec![
        annotated("a limit of connections", &json!({"connection-limit": "500"}), |_, whole| {
            whole.listener(80)["connection_limit"] == 500
        }),
        annotated("no limit of connections", &json!({"connection-limit": null}), |_, whole| {
            whole.listener(80)["connection_limit"] == -1
        }),
        specified("affinity of clients", &json!({"sessionAffinity": "ClientIP"}), |_, whole| {
            whole.pool(80)["session_persistence"]["type"] == "SOURCE_IP"
        }),
        specified("no affinity of clients", &json!({"sessionAffinity": "None"}), |_, whole| {
            whole.pool(80)["session_persistence"].is_null()
        }),
        annotated(
            "Nodes are selected",
            &json!({"node-selector": "kubernetes.io/hostname=node-1"}),
            |_, whole| whole.nodes(80).iter().eq(["node-1"]),
        ),
        annotated("Nodes are selected no more", &json!({"node-selector": null}), |_, whole| {
            whole.nodes(80).len() == 3
        }),
        annotated("a host name is shown", &json!({"hostname": "web.example.org"}), |web, _| {
            address(web) == Some("web.example.org")
        }),
        annotated("the address is shown again", &json!({"hostname": null}), |web, _| {
            web["status"]["loadBalancer"]["ingress"][0]["ip"].is_string()
        }),
        annotated("a health monitor", &json!({"enable-health-monitor": "true"}), |_, whole| {
            is_monitor(whole, "TCP", [5, 3, 1, 3])
        }),
        annotated(
            "values of the monitor",
            &json!({
                "health-monitor-delay": "7", "health-monitor-timeout": "4",
                "health-monitor-max-retries": "3", "health-monitor-max-retries-down": "4",
            }),
            |_, whole| is_monitor(whole, "TCP", [7, 4, 3, 4]),
        ),
    ]
}

fn is_monitor(whole: &Whole, kind: &str, [delay, timeout, retries, down]: [u64; 4]) -> bool {
    let monitor = whole.monitor(80);
    monitor["type"] == kind
        && monitor["delay"] == delay
        && monitor["timeout"] == timeout
        && monitor["max_retries"] == retries
        && monitor["max_retries_down"] == down
}

/// Whether the members are asked on the port where Nodes tell of their pods.
fn asked_by_http(web: &Value, whole: &Whole) -> bool {
    let port = &web["spec"]["healthCheckNodePort"];
    let monitor = whole.monitor(80);
    monitor["type"] == "HTTP"
        && monitor["url_path"] == "/healthz"
        && port.is_u64()
        && whole.members(80).iter().all(|member| member["monitor_port"] == *port)
}

fn monitors_of_amphora() -> Vec<Edit> {
    vec![
        specified("traffic stays local", &json!({"externalTrafficPolicy": "Local"}), asked_by_http),
        specified("traffic is passed on", &json!({"externalTrafficPolicy": "Cluster"}), |_, whole| {
            is_monitor(whole, "TCP", [7, 4, 3, 4])
                && whole.members(80).iter().all(|member| member["monitor_port"].is_null())
        }),
        without_monitor(),
    ]
}

fn monitors_of_ovn() -> Vec<Edit> {
    vec![
        // OVN asks by TCP only, and on the port that gets the traffic.
        specified("traffic stays local", &json!({"externalTrafficPolicy": "Local"}), |web, whole| {
            web["spec"]["healthCheckNodePort"].is_u64()
                && is_monitor(whole, "TCP", [7, 4, 3, 4])
                && whole.members(80).iter().all(|member| member["monitor_port"].is_null())
        }),
        specified("traffic is passed on", &json!({"externalTrafficPolicy": "Cluster"}), |_, whole| {
            is_monitor(whole, "TCP", [7, 4, 3, 4])
        }),
        without_monitor(),
    ]
}

fn without_monitor() -> Edit {
    let none = json!({
        "enable-health-monitor": null, "health-monitor-delay": null, "health-monitor-timeout": null,
        "health-monitor-max-retries": null, "health-monitor-max-retries-down": null,
    });
    annotated("no monitor any more", &none, |_, whole| whole.monitors.is_empty())
}

fn with_amphora() -> Vec<Edit> {
    let timeouts = json!({
        "timeout-client-data": "60000", "timeout-member-connect": "6000", "timeout-member-data": "70000",
        "timeout-tcp-inspect": "5",
    });
    let no_timeouts = json!({
        "timeout-client-data": null, "timeout-member-connect": null, "timeout-member-data": null,
        "timeout-tcp-inspect": null,
    });
    let certificate = "http://127.0.0.1:9311/v1/secrets/5e7d3a52-4b1f-4f0e-9d7e-6a7c2c1f0b11";
    vec![
        annotated("timeouts", &timeouts, |_, whole| times(whole) == [60_000, 6_000, 70_000, 5]),
        annotated("no timeouts", &no_timeouts, |_, whole| times(whole) == [50_000, 5_000, 50_000, 0]),
        annotated("another method", &json!({"lb-method": "LEAST_CONNECTIONS"}), |_, whole| {
            whole.pool(80)["lb_algorithm"] == "LEAST_CONNECTIONS"
        }),
        annotated("the method as before", &json!({"lb-method": null}), |_, whole| {
            whole.pool(80)["lb_algorithm"] == "ROUND_ROBIN"
        }),
        annotated("PROXY", &json!({"proxy-protocol": "true"}), |web, whole| {
            speaks(whole, "TCP", "PROXY") && web["status"]["loadBalancer"]["ingress"][0]["ipMode"] == "Proxy"
        }),
        annotated("PROXY, version 2", &json!({"proxy-protocol": "v2"}), |_, whole| {
            speaks(whole, "TCP", "PROXYV2")
        }),
        annotated(
            "X-Forwarded-For",
            &json!({"proxy-protocol": null, "x-forwarded-for": "true"}),
            |_, whole| {
                speaks(whole, "HTTP", "HTTP")
                    && whole.listener(80)["insert_headers"]["X-Forwarded-For"] == "true"
            },
        ),
        annotated(
            "TLS",
            &json!({"x-forwarded-for": null, "default-tls-container-ref": certificate}),
            |_, whole| speaks(whole, "TERMINATED_HTTPS", "HTTP"),
        ),
        annotated("plain TCP", &json!({"default-tls-container-ref": null}), |web, whole| {
            speaks(whole, "TCP", "TCP") && web["status"]["loadBalancer"]["ingress"][0]["ipMode"] == "VIP"
        }),
        specified(
            "source ranges",
            &json!({"loadBalancerSourceRanges": ["192.0.2.0/24", "10.0.0.0/8"]}),
            |_, whole| cidrs(whole) == ["10.0.0.0/8", "192.0.2.0/24"],
        ),
        specified("no source ranges", &json!({"loadBalancerSourceRanges": null}), |_, whole| {
            cidrs(whole) == ["0.0.0.0/0"]
        }),
    ]
}

fn times(whole: &Whole) -> [u64; 4] {
    let keys =
        ["timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"];
    keys.map(|key| whole.listener(80)[key].as_u64().unwrap_or(u64::MAX))
}

fn speaks(whole: &Whole, listener: &str, pool: &str) -> bool {
    whole.listener(80)["protocol"] == listener
        && whole.pool(80)["protocol"] == pool
        && whole.members(80).len() == 3
        && whole.listeners.len() == 1
        && whole.pools.len() == 1
}

fn cidrs(whole: &Whole) -> Vec<&str> {
    let list = whole.listener(80)["allowed_cidrs"].as_array().into_iter().flatten();
    let mut list: Vec<_> = list.filter_map(Value::as_str).collect();
    list.sort_unstable();
    list
}

/// A value that nobody can mean changes nothing, is told, and can be mended.
async fn mistakes_are_told(site: &Harness<'_>) -> anyhow::Result<()> {
    let key = format!("{PREFIX}/connection-limit");
    site.services.annotate("web", &key, Some("many")).await?;
    site.until_warned("web", "connection-limit").await?;
    let web = site
        .services
        .until("web", "is not ready", |web| condition(web)["status"] == "False")
        .await
        .context("a wrong value")?;
    ensure!(address(&web).is_some(), "the address went for a mistake: {web:#}");
    site.until_served("web", "a mistake changes nothing", &site.servers()).await?;
    site.services.annotate("web", &key, None).await?;
    site.services.until_ready("web").await.context("a mended value")?;
    Ok(())
}

async fn what_ovn_lacks_is_told(site: &Harness<'_>) -> anyhow::Result<()> {
    let nodes = site.servers();
    let told = [
        ("lb-method", "LEAST_CONNECTIONS", "SOURCE_IP_PORT"),
        ("timeout-client-data", "60000", "timeout-client-data"),
        ("availability-zone", "az1", "az1"),
    ];
    for (key, value, part) in told {
        let key = format!("{PREFIX}/{key}");
        site.services.annotate("web", &key, Some(value)).await?;
        site.until_warned("web", part).await?;
        site.until_served("web", "it is served as before", &nodes).await?;
        site.services.annotate("web", &key, None).await?;
    }
    site.services.edit("web", &json!({"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24"]}})).await?;
    site.until_warned("web", "open to everybody").await?;
    site.services.edit("web", &json!({"spec": {"loadBalancerSourceRanges": null}})).await?;
    for (key, value) in [("proxy-protocol", "true"), ("x-forwarded-for", "true")] {
        let key = format!("{PREFIX}/{key}");
        site.services.annotate("web", &key, Some(value)).await?;
        site.services.until("web", "is not ready", |web| condition(web)["status"] == "False").await?;
        // It is not worse than before for a wish that cannot be had.
        site.until_served("web", "what OVN refuses harms nothing", &nodes).await.context(key.clone())?;
        site.services.annotate("web", &key, None).await?;
        site.services.until_ready("web").await.context(key)?;
    }
    Ok(())
}
