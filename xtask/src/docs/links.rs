//! Whether links lead somewhere: files that are there, headings that they have, and every page in the table of contents.
//!
//! Addresses of the network are not asked: a check must not depend on who is up.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::page::Page;

/// The pages by their path from the root of the workspace.
pub(crate) type Pages = BTreeMap<PathBuf, Page>;

/// The table of contents.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// What is wrong with the links. `exists` says whether there is a file or folder at a path from the root.
pub(crate) fn problems(pages: &Pages, exists: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, page) in pages {
        for link in &page.links {
            if let Some(why) = judge(pages, path, page, &link.text, exists) {
                problems.push(format!("{}:{}: {why}", path.display(), link.line));
            }
        }
    }
    problems
}

fn judge(
    pages: &Pages,
    path: &Path,
    page: &Page,
    target: &str,
    exists: &dyn Fn(&Path) -> bool,
) -> Option<String> {
    if ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let (place, page) = if file.is_empty() {
        (path.to_owned(), Some(page))
    } else {
        let place = resolve(path, file);
        let page = pages.get(&place);
        (place, page)
    };
    if page.is_none() && !exists(&place) {
        return Some(format!("the link {target} leads to {}, which is not there", place.display()));
    }
    match page {
        _ if anchor.is_empty() => None,
        Some(page) if page.anchors.contains(anchor) => None,
        _ => {
            Some(format!("the link {target} leads to #{anchor}, and {} has no such heading", place.display()))
        }
    }
}

/// Where a link of a page leads, from the root.
pub(crate) fn resolve(page: &Path, file: &str) -> PathBuf {
    let mut place: PathBuf = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::Normal(name) => place.push(name),
            _ => {}
        }
    }
    place
}

/// What is wrong with the table of contents: every page of `docs/` is there once.
pub(crate) fn contents(pages: &Pages) -> Vec<String> {
    let summary = Path::new(SUMMARY);
    let Some(contents) = pages.get(summary) else { return vec![format!("{SUMMARY} is not there")] };
    let listed: Vec<PathBuf> = contents.links.iter().map(|link| resolve(summary, &link.text)).collect();
    let ours = pages.keys().filter(|path| path.starts_with("docs") && *path != summary);
    ours.filter_map(|path| match listed.iter().filter(|one| *one == path).count() {
        1 => None,
        0 => Some(format!("{} is not in {SUMMARY}", path.display())),
        times => Some(format!("{} is in {SUMMARY} {times} times", path.display())),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(texts: &[(&str, &str)]) -> Pages {
        texts.iter().map(|(path, text)| (PathBuf::from(path), Page::parse(text))).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_told_with_its_place() {
        let pages = pages(&[
            ("docs/a.md", "# A\n[b](guides/b.md#there) [c](../LICENSE) [d](#a) [e](https://example.org)\n"),
            ("docs/guides/b.md", "## There\n[x](../c.md) [y](../a.md#b)\n"),
        ]);
        let found = problems(&pages, &|path| path == Path::new("LICENSE"));
        assert_eq!(
            found,
            [
                "docs/guides/b.md:2: the link ../c.md leads to docs/c.md, which is not there",
                "docs/guides/b.md:2: the link ../a.md#b leads to #b, and docs/a.md has no such heading",
            ]
        );
    }

    #[test]
    fn every_page_is_in_the_contents_once() {
        let pages = pages(&[
            (SUMMARY, "[a](a.md)\n[b](b.md)\n[b](b.md)\n"),
            ("docs/a.md", ""),
            ("docs/b.md", ""),
            ("docs/c.md", ""),
            ("README.md", ""),
        ]);
        let found = contents(&pages);
        assert_eq!(found, ["docs/b.md is in docs/SUMMARY.md 2 times", "docs/c.md is not in docs/SUMMARY.md"]);
    }
}
