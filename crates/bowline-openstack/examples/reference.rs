//! Prints a generated file to standard output: `cargo xtask gen` puts it into its place.
//!
//! Makes nothing of its own; it comes from the table that the provider itself uses.

use std::process::ExitCode;

use bowline_openstack::config::keys::reference_markdown;

fn main() -> ExitCode {
    match std::env::args().nth(1).unwrap_or_default().as_str() {
        "cloud-conf" => {
            print!("{}", reference_markdown());
            ExitCode::SUCCESS
        }
        other => {
            eprintln!("unknown file {other:?}; accepted is: cloud-conf");
            ExitCode::FAILURE
        }
    }
}
