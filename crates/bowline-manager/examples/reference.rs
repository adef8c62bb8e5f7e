//! Prints a generated file to standard output: `cargo xtask gen` puts it into its place.
//!
//! Makes nothing of its own; each comes from the table that the manager itself uses.

use std::process::ExitCode;

use bowline_manager::flags::{FlagTable, reference_markdown};
use bowline_manager::rbac;

/// The ServiceAccount that the shipped manifests are for.
const ACCOUNT: (&str, &str) = ("kube-system", "cloud-controller-manager");

/// The ServiceAccount of shadow mode.
const SHADOW_ACCOUNT: &str = "bowline-shadow";

fn main() -> ExitCode {
    let (namespace, account) = ACCOUNT;
    let page = match std::env::args().nth(1).unwrap_or_default().as_str() {
        "flags" => Ok(reference_markdown(&FlagTable::common())),
        "rbac" => rbac::manifest(namespace, account).map_err(|error| error.to_string()),
        "rbac-service-account-credentials" => {
            rbac::service_account_credentials_manifest(namespace, account).map_err(|error| error.to_string())
        }
        "rbac-shadow" => {
            rbac::shadow_manifest(namespace, SHADOW_ACCOUNT, account).map_err(|error| error.to_string())
        }
        "rbac-viewer" => rbac::viewer_manifest(namespace).map_err(|error| error.to_string()),
        other => Err(format!(
            "unknown file {other:?}; accepted are: flags, rbac, rbac-service-account-credentials, rbac-shadow, rbac-viewer"
        )),
    };
    match page {
        Ok(page) => {
            print!("{page}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
