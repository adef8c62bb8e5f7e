//! What a release of the binary consists of, as SPDX 2.3 in JSON: each package with version, licence, source and checksum, as cargo resolves
//! them for one target. Made of `cargo tree` and Cargo.lock; tests and build tools are not in it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::run::{cargo, workspace_root};

/// A package of the binary.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    /// Empty for what names none.
    licence: String,
    /// The checksum in Cargo.lock; none for the crates of this workspace.
    checksum: Option<String>,
}

/// Writes the SBOM of the binary for a target.
pub(crate) fn sbom(target: &str, place: &Path) -> anyhow::Result<()> {
    let packages = packages(target)?;
    let created = created();
    fs::write(place, document(target, &created, &packages))
        .with_context(|| format!("write {}", place.display()))?;
    println!("      {}: {} packages", place.display(), packages.len());
    Ok(())
}

/// The time that a reproducible build pretends to be made at; without one, that of the last commit.
fn created() -> String {
    let seconds = std::env::var("SOURCE_DATE_EPOCH").ok();
    let mut command = std::process::Command::new(if seconds.is_some() { "date" } else { "git" });
    command.current_dir(workspace_root());
    match &seconds {
        Some(seconds) => command.args(["--utc", &format!("--date=@{seconds}"), "+%Y-%m-%dT%H:%M:%SZ"]),
        None => command
            .args(["log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"])
            .env("TZ", "UTC"),
    };
    let said = command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    said.ok().filter(|said| !said.is_empty()).unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned())
}

fn packages(target: &str) -> anyhow::Result<Vec<Package>> {
    let format = "{p}\t{l}";
    let mut tree = cargo(&[
        "tree",
        "--locked",
        "--package",
        "bowline",
        "--no-default-features",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    let output = tree.args(["--target", target, "--format", format]).output()?;
    if !output.status.success() {
        bail!("cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    }
    let checksums = checksums(&fs::read_to_string(workspace_root().join("Cargo.lock"))?);
    let mut all: Vec<Package> =
        String::from_utf8(output.stdout)?.lines().filter_map(|line| package(line, &checksums)).collect();
    all.sort();
    all.dedup();
    Ok(all)
}

/// A line of `cargo tree`: `name v1.2.3 (…)`, and the licence behind a tab.
fn package(line: &str, checksums: &BTreeMap<(String, String), String>) -> Option<Package> {
    let (package, licence) = line.split_once('\t')?;
    let mut words = package.split_whitespace();
    let (name, version) = (words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned());
    let checksum = checksums.get(&(name.clone(), version.clone())).cloned();
    // A slash is how licences were written before SPDX.
    let words: Vec<&str> = licence.trim_end_matches(" (*)").split('/').map(str::trim).collect();
    Some(Package { name, version, licence: words.join(" OR "), checksum })
}

/// The checksums of Cargo.lock by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, name: &str| {
        let prefix = format!("{name} = \"");
        block.lines().find_map(|line| line.strip_prefix(&prefix)?.strip_suffix('"').map(str::to_owned))
    };
    let blocks = lock.split("[[package]]").skip(1);
    blocks
        .filter_map(|block| {
            Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?))
        })
        .collect()
}

fn document(target: &str, created: &str, packages: &[Package]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "{{\n  \"spdxVersion\": \"SPDX-2.3\",\n  \"dataLicense\": \"CC0-1.0\",\n  \"SPDXID\": \"SPDXRef-DOCUMENT\",\n  \
         \"name\": \"bowline-{version}-{target}\",\n  \
         \"documentNamespace\": \"https://spdx.org/spdxdocs/bowline-{version}-{target}\",\n  \
         \"creationInfo\": {{\"created\": {}, \"creators\": [\"Tool: cargo-xtask-sbom\"]}},\n  \"packages\": [\n",
        quoted(created)
    );
    let described: Vec<String> = packages.iter().map(described).collect();
    text.push_str(&described.join(",\n"));
    text.push_str("\n  ],\n  \"relationships\": [\n");
    let root = packages.iter().find(|package| package.name == "bowline").map_or_else(String::new, id);
    let mut relations = vec![relation("SPDXRef-DOCUMENT", "DESCRIBES", &root)];
    relations.extend(
        packages
            .iter()
            .filter(|package| package.name != "bowline")
            .map(|package| relation(&root, "CONTAINS", &id(package))),
    );
    text.push_str(&relations.join(",\n"));
    text.push_str("\n  ]\n}\n");
    text
}

fn described(package: &Package) -> String {
    let Package { name, version, licence, checksum } = package;
    let licence = if licence.is_empty() { "NOASSERTION" } else { licence };
    let mut text = format!(
        "    {{\"SPDXID\": {}, \"name\": {}, \"versionInfo\": {}, \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": {}, \
         \"copyrightText\": \"NOASSERTION\", \"filesAnalyzed\": false",
        quoted(&id(package)),
        quoted(name),
        quoted(version),
        quoted(licence)
    );
    match checksum {
        Some(checksum) => {
            // Writing to a String cannot fail.
            write!(
                text,
                ", \"downloadLocation\": \"https://crates.io/api/v1/crates/{name}/{version}/download\", \
                 \"checksums\": [{{\"algorithm\": \"SHA256\", \"checksumValue\": {}}}], \
                 \"externalRefs\": [{{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \
                 \"referenceLocator\": \"pkg:cargo/{name}@{version}\"}}]}}",
                quoted(checksum)
            )
            .ok();
        }
        None => text.push_str(", \"downloadLocation\": \"NOASSERTION\"}"),
    }
    text
}

fn id(package: &Package) -> String {
    let text = format!("{}-{}", package.name, package.version);
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '-' };
    format!("SPDXRef-{}", text.chars().map(allowed).collect::<String>())
}

fn relation(from: &str, kind: &str, to: &str) -> String {
    format!(
        "    {{\"spdxElementId\": {}, \"relationshipType\": \"{kind}\", \"relatedSpdxElement\": {}}}",
        quoted(from),
        quoted(to)
    )
}

/// A text in JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a String cannot fail.
                write!(quoted, "\\u{:04x}", u32::from(c)).ok();
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry\"\nchecksum = \"00ff\"\n\n[[package]]\nname = \"bowline\"\nversion = \"0.1.0\"\n";

    #[test]
    fn a_package_has_the_checksum_of_the_lock_file_and_a_crate_of_ours_has_none() {
        let checksums = checksums(LOCK);
        let of_registry = package("a v1.0.0\tMIT / Apache-2.0 (*)", &checksums).unwrap();
        assert_eq!(
            (of_registry.licence.as_str(), of_registry.checksum.as_deref()),
            ("MIT OR Apache-2.0", Some("00ff"))
        );
        let ours = package("bowline v0.1.0 (/somewhere)\tApache-2.0", &checksums).unwrap();
        assert_eq!((ours.version.as_str(), ours.checksum), ("0.1.0", None));
        assert_eq!(package("", &checksums), None);
    }

    #[test]
    fn the_document_describes_the_binary_and_shows_no_path_of_the_machine() {
        let packages = ["a v1.0.0\tMIT", "bowline v0.1.0 (/somewhere)\tApache-2.0"];
        let packages: Vec<Package> =
            packages.iter().filter_map(|line| package(line, &checksums(LOCK))).collect();
        let text = document("x86_64-unknown-linux-musl", "2026-01-01T00:00:00Z", &packages);
        assert!(text.contains("\"relatedSpdxElement\": \"SPDXRef-bowline-0.1.0\""), "{text}");
        assert!(text.contains("pkg:cargo/a@1.0.0") && !text.contains("/somewhere"), "{text}");
    }

    #[test]
    fn texts_are_quoted_as_json_wants_it() {
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
    }
}
