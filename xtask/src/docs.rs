//! The documentation: `docs --check` says what is wrong with it, `docs` makes a site of it in `target/docs`.
//!
//! The check reads files and nothing else, so that it can be run after every sentence. Commands in the pages are run by
//! the tests in `tests/packaging/docs`.

mod known;
mod links;
mod mentions;
mod page;
mod site;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use self::known::Known;
use self::links::Pages;
use self::page::Page;
use crate::run::workspace_root;

/// Pages that are not part of the site, and have links all the same.
const BESIDE: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
/// May be there.
const ALSO_BESIDE: [&str; 3] = ["SECURITY.md", "deploy/README.md", "deploy/chart/README.md"];
/// The generated pages; what they say exists.
const REFERENCE: &str = "docs/reference";

/// Fails if a link leads nowhere, a page is not in the contents, or something is mentioned that does not exist.
pub(crate) fn check() -> anyhow::Result<()> {
    let pages = read(&files()?)?;
    let mut problems = links::problems(&pages, &|path| workspace_root().join(path).exists());
    problems.extend(links::contents(&pages));
    let known = known(&pages)?;
    for (path, page) in pages.iter().filter(|(path, _page)| !path.starts_with(REFERENCE)) {
        let found = mentions::problems(path, page, &known);
        problems.extend(found.iter().map(|(line, why)| format!("{}:{line}: {why}", path.display())));
    }
    if !problems.is_empty() {
        bail!("{} problems in the documentation:\n{}", problems.len(), problems.join("\n"));
    }
    let links: usize = pages.values().map(|page| page.links.len()).sum();
    println!(
        "      {} pages, {links} links: all lead somewhere, and all that is mentioned exists",
        pages.len()
    );
    Ok(())
}

/// Checks, and builds the site.
pub(crate) fn build() -> anyhow::Result<()> {
    check()?;
    let files: Vec<PathBuf> = files()?.into_iter().filter(|path| path.starts_with("docs")).collect();
    let site = site::build(&files)?;
    println!("      the site is in {}: open index.html", site.display());
    Ok(())
}

/// The files of `docs/` and the pages beside it, from the root of the workspace.
fn files() -> anyhow::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = BESIDE.iter().map(PathBuf::from).collect();
    let there = ALSO_BESIDE.iter().map(PathBuf::from).filter(|path| workspace_root().join(path).exists());
    files.extend(there);
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(workspace_root().join(&folder))
            .with_context(|| format!("read {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn read(files: &[PathBuf]) -> anyhow::Result<Pages> {
    let pages = files.iter().filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    pages
        .map(|path| {
            let text = fs::read_to_string(workspace_root().join(path));
            Ok((path.clone(), Page::parse(&text.with_context(|| format!("read {}", path.display()))?)))
        })
        .collect()
}

fn known(pages: &Pages) -> anyhow::Result<Known> {
    let page = |name: &str| {
        let path = Path::new(REFERENCE).join(name);
        pages.get(&path).with_context(|| format!("{} is not there; run `cargo xtask gen`", path.display()))
    };
    let others: Vec<&Page> =
        pages.iter().filter(|(path, _page)| path.starts_with(REFERENCE)).map(|(_path, page)| page).collect();
    Ok(Known::read(page("flags.md")?, page("commands.md")?, page("cloud-conf.md")?, &others))
}
