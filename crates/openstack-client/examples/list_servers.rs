//! Lists the servers of a cloud of clouds.yaml page by page, and says how long it took and how much memory it needed.
//!
//! `OS_CLOUD=name cargo run -p openstack-client --example list_servers`

use std::{error::Error, time::Instant};

use openstack_client::{
    Client, ConnectionVariables, Interface, ProxyVariables, Roots, Settings, Transport, TransportOptions,
    clouds_yaml::Search, compute::ServerQuery,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let variable = |name: &str| std::env::var(name).ok();
    let connection = ConnectionVariables::from_variables(variable);
    let entry = Search::usual(variable).load(connection.cloud.as_deref())?;
    let roots = match &entry.ca_file {
        Some(path) => Roots::Pem(std::fs::read(path)?),
        None => Roots::System,
    };
    let options =
        TransportOptions { roots, proxies: ProxyVariables::of_process(), ..TransportOptions::default() };
    let interface = entry.interface.as_deref().unwrap_or_default();
    let settings = Settings::new(entry.auth.resolve()?)
        .region(entry.region.unwrap_or_default())
        .interface(Interface::parse(interface).ok_or("the interface is public, internal or admin")?);
    let client = Client::new(Transport::https(&options)?, settings);

    let since = Instant::now();
    let mut pages = client.compute().servers(&ServerQuery::default());
    let (mut servers, mut read) = (0, 0);
    while let Some(page) = pages.next_page().await? {
        servers += page.len();
        read += 1;
    }
    println!("{servers} servers in {read} pages, {:.1} s, {}", since.elapsed().as_secs_f64(), most_memory());
    Ok(())
}

/// The most memory that this process ever had, where the system tells.
fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or_else(
        || "memory not known".to_owned(),
        |line| line.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}
