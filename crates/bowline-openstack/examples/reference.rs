//! Prints a generated file to standard output: `cargo xtask gen` puts it into its place.
//!
//! Makes nothing of its own; it comes from the tables that the provider itself uses.

use std::process::ExitCode;

use bowline_openstack::{
    config::keys,
    loadbalancer::{admission, annotations},
};

fn main() -> ExitCode {
    let page = match std::env::args().nth(1).unwrap_or_default().as_str() {
        "cloud-conf" => keys::reference_markdown(),
        "annotations" => annotations::reference_markdown(),
        "admission" => match admission::manifest() {
            Ok(manifest) => manifest,
            Err(error) => {
                eprintln!("the policy cannot be written as YAML: {error}");
                return ExitCode::FAILURE;
            }
        },
        other => {
            eprintln!("unknown file {other:?}; accepted are: cloud-conf, annotations, admission");
            return ExitCode::FAILURE;
        }
    };
    print!("{page}");
    ExitCode::SUCCESS
}
