//! Makes load balancers in OCCM's form with OpenStack's own client: one call of it for many commands, as it reads them from its
//! standard input. It takes such a line apart twice: what has spaces in it is quoted twice.

use std::fmt::Write as _;
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::shapes::{NODES, Shape};
use crate::harness::Harness;
use crate::openstack::Api::LoadBalancer;
use crate::scenario::{Provider, Stage};

/// Makes what OCCM would have made for these Services.
pub(super) async fn make(
    stage: &Stage<'_>,
    site: &Harness<'_>,
    shapes: &[Shape],
    services: &[Value],
) -> anyhow::Result<()> {
    let mut commands = String::new();
    for (shape, service) in shapes.iter().zip(services) {
        balancer_and_all(&mut commands, stage.provider, site, shape, service)?;
    }
    run(stage, &commands).await?;
    let mut commands = String::new();
    for (shape, service) in
        shapes.iter().zip(services).filter(|(shape, _)| !shape.internal && shape.on.is_none())
    {
        let made =
            balancer(site, shape, service).await?.with_context(|| format!("{} is not made", shape.name))?;
        let port = made["vip_port_id"].as_str().context("no port")?;
        let network = &site.world.about().estate.external_network;
        let description = description(site, shape);
        writeln!(
            commands,
            "floating ip create --description \"'Floating IP for {description}'\" --port {port} {network}"
        )?;
    }
    run(stage, &commands).await
}

fn description(site: &Harness<'_>, shape: &Shape) -> String {
    format!("Kubernetes external service shop/{} from cluster {}", shape.name, site.name)
}

/// The name that OCCM gives the load balancer of a Service, and its tag.
fn tag(site: &Harness<'_>, service: &str) -> String {
    format!("kube_service_{}_shop_{service}", site.name)
}

/// The name of the load balancer that a Service is on.
fn name(site: &Harness<'_>, shape: &Shape, service: &Value) -> String {
    if shape.legacy {
        let uid = service["metadata"]["uid"].as_str().unwrap_or_default().replace('-', "");
        return format!("a{}", uid.get(..31).unwrap_or(&uid));
    }
    tag(site, shape.on.unwrap_or(shape.name))
}

fn balancer_and_all(
    text: &mut String,
    provider: Provider,
    site: &Harness<'_>,
    shape: &Shape,
    service: &Value,
) -> anyhow::Result<()> {
    let (balancer, own) = (name(site, shape, service), tag(site, shape.name));
    let subnet = &site.world.about().estate.subnet;
    let (who, description) = (provider.name(), description(site, shape));
    let tagged = if shape.legacy { String::new() } else { format!("--tag {own}") };
    if shape.on.is_some() {
        writeln!(text, "loadbalancer set {tagged} --wait {balancer}")?;
    } else {
        writeln!(
            text,
            "loadbalancer create --name {balancer} --description \"'{description}'\" --vip-subnet-id {subnet} \
             --provider {who} {tagged} --wait"
        )?;
    }
    // OVN takes no ranges.
    let open = if provider == Provider::Amphora { "--allowed-cidr 0.0.0.0/0" } else { "" };
    let method = if provider == Provider::Amphora { "ROUND_ROBIN" } else { "SOURCE_IP_PORT" };
    for (place, (number, protocol)) in shape.ports.iter().enumerate() {
        let pool = format!("pool_{place}_{own}");
        writeln!(
            text,
            "loadbalancer listener create --name listener_{place}_{own} --protocol {protocol} --protocol-port {number} \
             --connection-limit -1 {open} {tagged} --wait {balancer}"
        )?;
        writeln!(
            text,
            "loadbalancer pool create --name {pool} --listener listener_{place}_{own} --protocol {protocol} \
             --lb-algorithm {method} --wait"
        )?;
        let node_port = service["spec"]["ports"][place]["nodePort"].as_u64().context("no node port")?;
        for server in site.servers().into_iter().take(NODES) {
            let (node, address) = (&server.name, &server.address);
            writeln!(
                text,
                "loadbalancer member create --name {node} --address {address} --protocol-port {node_port} \
                 --subnet-id {subnet} --wait {pool}"
            )?;
        }
        if let Some([delay, timeout, up, down]) = shape.monitor {
            writeln!(
                text,
                "loadbalancer healthmonitor create --name monitor_{place}_{own} --type {protocol} --delay {delay} \
                 --timeout {timeout} --max-retries {up} --max-retries-down {down} --wait {pool}"
            )?;
        }
    }
    Ok(())
}

/// Has the client perform commands, one after the other.
async fn run(stage: &Stage<'_>, commands: &str) -> anyhow::Result<()> {
    let about = stage.world.about();
    let member = &about.accounts.member;
    let mut child = Command::new(&about.client)
        .env("OS_AUTH_URL", &about.auth_url)
        .env("OS_REGION_NAME", &about.region)
        .env("OS_IDENTITY_API_VERSION", "3")
        .env("OS_USERNAME", &member.user)
        .env("OS_PASSWORD", &member.password)
        .env("OS_PROJECT_NAME", &member.project)
        .env("OS_USER_DOMAIN_NAME", &member.domain)
        .env("OS_PROJECT_DOMAIN_NAME", &member.domain)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("start the openstack client")?;
    let mut input = child.stdin.take().context("no input")?;
    input.write_all(commands.as_bytes()).await?;
    input.shutdown().await?;
    drop(input);
    let output = child.wait_with_output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    let shown = String::from_utf8_lossy(&output.stdout);
    // Its status is 1 even when it was told nothing but `quit`: what went wrong is what it says.
    let is_well = output.status.code().is_some() && said.trim().is_empty();
    ensure!(is_well, "{commands}\n{} {said}\n{shown}", output.status);
    Ok(())
}

/// The load balancer that was made for a Service.
pub(super) async fn balancer(
    site: &Harness<'_>,
    shape: &Shape,
    service: &Value,
) -> anyhow::Result<Option<Value>> {
    let path = format!("loadbalancers?name={}", name(site, shape, service));
    let mut rows = site.world.member.list(LoadBalancer, &path, "loadbalancers").await?;
    ensure!(rows.len() <= 1, "there are two: {rows:#?}");
    Ok(rows.pop())
}

/// By which address a load balancer is reached.
pub(super) async fn address(site: &Harness<'_>, balancer: &Value) -> anyhow::Result<String> {
    let floating = site.floating_ip_of(balancer).await?;
    let shown =
        floating.as_ref().map_or(&balancer["vip_address"], |floating| &floating["floating_ip_address"]);
    Ok(shown.as_str().context("no address")?.to_owned())
}
