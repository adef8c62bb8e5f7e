//! The site, made of `docs/` by mdBook, which is installed on first use.
//!
//! Links that leave `docs/` lead to files of the repository, which the site does not have: there they are text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::links::resolve;
use crate::cargo_tool::CargoTool;
use crate::run::{run, workspace_root};

const MDBOOK: CargoTool = CargoTool {
    name: "mdbook",
    version: "0.5.4",
    features: Some("search"),
    usually: "about two minutes on two cores",
};

/// Builds the site of these files, given by their path from the root of the workspace; answers where it is.
pub(crate) fn build(files: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let program = MDBOOK.ensure()?;
    let source = workspace_root().join("target/docs-source");
    if source.exists() {
        fs::remove_dir_all(&source).with_context(|| format!("remove {}", source.display()))?;
    }
    for file in files {
        let place = source.join(file.strip_prefix("docs")?);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        let from = workspace_root().join(file);
        if file.extension().is_some_and(|kind| kind == "md") {
            let text = fs::read_to_string(&from).with_context(|| format!("read {}", from.display()))?;
            fs::write(&place, within_the_site(file, &text))
                .with_context(|| format!("write {}", place.display()))?;
        } else {
            fs::copy(&from, &place).with_context(|| format!("copy {}", from.display()))?;
        }
    }
    let site = workspace_root().join("target/docs");
    run(Command::new(program).arg("build").arg("--dest-dir").arg(&site).arg(&source))?;
    Ok(site)
}

/// The page with text in place of links that leave `docs/`.
fn within_the_site(page: &Path, text: &str) -> String {
    let mut inside_code = false;
    let lines = text.lines().map(|line| {
        inside_code ^= line.trim_start().starts_with("```");
        if inside_code { line.to_owned() } else { without_links_out(page, line) }
    });
    lines.map(|line| line + "\n").collect()
}

fn without_links_out(page: &Path, line: &str) -> String {
    let (mut done, mut rest) = (String::new(), line);
    while let Some(middle) = rest.find("](") {
        let end = rest.get(middle..).and_then(|from| from.find(')')).map(|end| middle + end);
        let start = rest.get(..middle).and_then(|before| before.rfind('['));
        let (Some(start), Some(end)) = (start, end) else { break };
        let (words, target) = (rest.get(start + 1..middle), rest.get(middle + 2..end));
        let (Some(words), Some(target)) = (words, target) else { break };
        done.push_str(rest.get(..start).unwrap_or_default());
        done.push_str(&kept(page, words, target));
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    done + rest
}

fn kept(page: &Path, words: &str, target: &str) -> String {
    let file = target.split('#').next().unwrap_or_default();
    let place = resolve(page, file);
    if target.contains("://") || file.is_empty() || place.starts_with("docs") {
        return format!("[{words}]({target})");
    }
    let place = place.display().to_string();
    if words.contains(&place) { words.to_owned() } else { format!("{words} (`{place}`)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_site_become_text() {
        let page = Path::new("docs/guides/a.md");
        let site = |text: &str| within_the_site(page, text);
        assert_eq!(site("see [b](b.md#x) and [c](../d.md)"), "see [b](b.md#x) and [c](../d.md)\n");
        assert_eq!(
            site("[roles](../../deploy/rbac.yaml), [x](y.md)"),
            "roles (`deploy/rbac.yaml`), [x](y.md)\n"
        );
        assert_eq!(site("[`deploy/a.yaml`](../../deploy/a.yaml)"), "`deploy/a.yaml`\n");
        assert_eq!(site("[web](https://example.org)"), "[web](https://example.org)\n");
        assert_eq!(site("```md\n[a](../../b)\n```"), "```md\n[a](../../b)\n```\n");
    }
}
