//! Keeps the tables of upstream's test cases honest: every test they name must exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::run::workspace_root;

const TABLES: [&str; 2] = ["tests/upstream-cases.md", "tests/operator-cases.md"];

/// Looks for every test that the tables name.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut known = BTreeSet::new();
    for folder in ["crates", "examples", "sim", "tests"] {
        functions(&workspace_root().join(folder), &mut known)?;
    }
    TABLES.iter().try_for_each(|path| check_table(path, &known))
}

fn check_table(path: &str, known: &BTreeSet<String>) -> anyhow::Result<()> {
    let table = fs::read_to_string(workspace_root().join(path)).with_context(|| format!("read {path}"))?;
    let named = named_tests(&table);
    let unknown: Vec<_> = named.iter().filter(|name| !known.contains(**name)).collect();
    ensure!(unknown.is_empty(), "{path} names tests that do not exist: {unknown:?}. Were they renamed?");
    println!("      {path}: all {} tests exist", named.len());
    Ok(())
}

/// What stands between backticks and reads like a function: words joined by `_`, perhaps after modules.
fn named_tests(table: &str) -> BTreeSet<&str> {
    let quoted = table.split('`').skip(1).step_by(2);
    let last = quoted.filter_map(|text| text.rsplit("::").next());
    let is_word = |c: char| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit();
    last.filter(|name| name.contains('_') && name.chars().all(is_word)).collect()
}

/// The names of all functions in the Rust files below a folder.
fn functions(folder: &Path, names: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            functions(&path, names)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            let after_fn = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            names.extend(after_fn.map(str::to_owned));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_from_paths_and_words() {
        let table = "| `upstream::a_b` and `c_2` | not `crates/x_y` or `Test_Z` or `word` |";
        assert_eq!(named_tests(table), BTreeSet::from(["a_b", "c_2"]));
    }

    #[test]
    fn the_tables_name_only_tests_that_exist() {
        check().unwrap();
    }
}
