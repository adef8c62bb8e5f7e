//! Lists a cloud of many servers and prints what it took: `cargo bench -p bowline-bench --bench list_servers`.

use bowline_bench::server_list;
use clap::Parser;

/// Lists all servers of a simulated cloud over loopback, page by page
#[derive(Parser)]
struct Arguments {
    /// How many servers the cloud has; 100000 unless it is said
    #[arg(long)]
    servers: Option<usize>,
    /// Given by `cargo bench`, and not by `cargo test --benches`, for which a few pages are enough
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let servers = arguments.servers.unwrap_or(if arguments.bench { 100_000 } else { 1_000 });
    let list = server_list::of(servers)?;
    println!("servers listed            {:>12}", list.servers);
    println!("pages                     {:>12}", list.pages);
    println!("requests for pages        {:>12}", list.list_requests);
    println!("requests in all           {:>12}", list.requests);
    println!("bytes received            {:>12}", list.received_bytes);
    println!("peak bytes of the client  {:>12}", list.peak_bytes);
    println!("seconds                   {:>12.1}", list.took.as_secs_f64());
    Ok(())
}
