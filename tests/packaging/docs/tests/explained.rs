//! Every block of commands in `docs/` is run, or says why not.

#![expect(clippy::unwrap_used, reason = "a page that cannot be read fails the test, as it should")]

use std::fs;
use std::path::{Path, PathBuf};

use docs_tests::unexplained;

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages = entries.flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] });
    pages.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect()
}

#[test]
fn every_block_of_commands_is_run_or_says_why_not() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs");
    let mut found = Vec::new();
    for path in pages(&docs) {
        let name = path.strip_prefix(&docs).unwrap().display().to_string();
        let lines = unexplained(&fs::read_to_string(&path).unwrap());
        found.extend(lines.iter().map(|line| format!("docs/{name}:{line}")));
    }
    assert!(
        found.is_empty(),
        "say `run=SETUP` or `unrun=REASON` behind the fence, as tests/packaging/docs/src/lib.rs lists them: {}",
        found.join(", ")
    );
}
