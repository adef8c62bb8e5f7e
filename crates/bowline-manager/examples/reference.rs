//! Prints a page of the reference to standard output: what `cargo xtask gen` writes into `docs/reference`.
//!
//! Makes no page of its own; each comes from the table that the manager itself uses.

use std::process::ExitCode;

use bowline_manager::flags::{FlagTable, reference_markdown};

fn main() -> ExitCode {
    let page = std::env::args().nth(1).unwrap_or_default();
    match page.as_str() {
        "flags" => print!("{}", reference_markdown(&FlagTable::common())),
        other => {
            eprintln!("unknown page {other:?}; accepted is: flags");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
