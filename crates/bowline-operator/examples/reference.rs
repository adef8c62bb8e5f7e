//! Prints a generated file to standard output: `cargo xtask gen` puts it into its place.
//!
//! Makes nothing of its own; it comes from the types and tables that the operator itself uses.

use std::process::ExitCode;

use bowline_operator::install::Installation;
use bowline_operator::render::Object;
use bowline_operator::{install, reference};

/// The image of the shipped manifest; `bowline operator manifests --image` prints it with another one.
const IMAGE: &str = concat!("bowline:", env!("CARGO_PKG_VERSION"));

fn page(word: &str) -> Result<String, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let note = "by `cargo xtask gen`. Do not edit.\n";
    match word {
        "crd" => {
            let definition = Object::cluster(&install::definition()).map_err(|error| text(&error))?;
            let yaml = install::yaml([&definition]).map_err(|error| text(&error))?;
            Ok(format!("# Generated from crates/bowline-operator/src/api {note}{yaml}"))
        }
        "operator" => {
            let objects = install::objects(&Installation::of_image(IMAGE)).map_err(|error| text(&error))?;
            let yaml = install::yaml(&objects).map_err(|error| text(&error))?;
            let hint = "# With your image: bowline operator manifests --image IMAGE | kubectl apply --server-side -f -\n";
            Ok(format!("# Generated from crates/bowline-operator/src/install {note}{hint}{yaml}"))
        }
        "metrics" => Ok(reference::metrics_page()),
        "events" => Ok(reference::events_page()),
        "conditions" => Ok(reference::conditions_page()),
        "rights" => Ok(reference::rights_page()),
        "resource" => reference::resource_page(),
        other => Err(format!(
            "unknown file {other:?}; accepted are: crd, operator, metrics, events, conditions, rights, resource"
        )),
    }
}

fn main() -> ExitCode {
    match page(&std::env::args().nth(1).unwrap_or_default()) {
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
