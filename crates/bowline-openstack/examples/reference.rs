//! Prints a generated file to standard output: `cargo xtask gen` puts it into its place.
//!
//! Makes nothing of its own; it comes from the tables that the provider itself uses.

use std::process::ExitCode;

use bowline_openstack::{config::keys, loadbalancer::annotations};

fn main() -> ExitCode {
    let page = match std::env::args().nth(1).unwrap_or_default().as_str() {
        "cloud-conf" => keys::reference_markdown(),
        "annotations" => annotations::reference_markdown(),
        other => {
            eprintln!("unknown file {other:?}; accepted are: cloud-conf, annotations");
            return ExitCode::FAILURE;
        }
    };
    print!("{page}");
    ExitCode::SUCCESS
}
