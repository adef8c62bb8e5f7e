//! Prints a generated file to standard output: `cargo xtask gen` puts it into its place.
//!
//! Makes nothing of its own; each comes from the table that the manager itself uses.

use std::process::ExitCode;

use bowline_manager::flags::{FlagTable, reference_markdown};

fn main() -> ExitCode {
    let page = std::env::args().nth(1).unwrap_or_default();
    match page.as_str() {
        "flags" => print!("{}", reference_markdown(&FlagTable::common())),
        "rbac" => match bowline_manager::rbac::manifest("kube-system", "cloud-controller-manager") {
            Ok(manifest) => print!("{manifest}"),
            Err(error) => {
                eprintln!("cannot write the manifest: {error}");
                return ExitCode::FAILURE;
            }
        },
        other => {
            eprintln!("unknown file {other:?}; accepted are: flags, rbac");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
