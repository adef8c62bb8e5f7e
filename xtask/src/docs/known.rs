//! What there is: flags, commands, keys of cloud.conf, annotations and metrics, as the generated pages list them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::page::Page;

/// What may be mentioned.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Of `bowline ccm`.
    pub(crate) manager_flags: BTreeSet<String>,
    /// By command, such as `bowline operator flags`: its flags.
    pub(crate) commands: BTreeMap<String, BTreeSet<String>>,
    /// By section of cloud.conf, in lower case.
    pub(crate) keys: BTreeMap<String, BTreeSet<String>>,
    /// Every word of code on a generated page.
    pub(crate) words: BTreeSet<String>,
}

impl Known {
    /// Reads the generated pages.
    pub(crate) fn read(flags: &Page, commands: &Page, cloud_conf: &Page, others: &[&Page]) -> Self {
        let words = [flags, commands, cloud_conf].into_iter().chain(others.iter().copied());
        Self {
            manager_flags: flags.code.iter().filter_map(|code| flag(&code.text)).collect(),
            commands: of_commands(commands),
            keys: of_cloud_conf(&cloud_conf.text),
            words: words.flat_map(|page| words_of(&page.text)).collect(),
        }
    }

    /// Whether any program of ours has the flag.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.manager_flags.contains(flag) || self.commands.values().any(|flags| flags.contains(flag))
    }

    /// Whether this is a command, or begins one.
    pub(crate) fn has_command(&self, path: &str) -> bool {
        self.commands.contains_key(path)
    }

    /// Whether the command has commands of its own.
    pub(crate) fn has_more(&self, path: &str) -> bool {
        let beginning = format!("{path} ");
        self.commands.keys().any(|name| name.starts_with(&beginning))
    }
}

/// The name of a flag such as `--flag=value`.
pub(crate) fn flag(word: &str) -> Option<String> {
    let name = word.strip_prefix("--")?;
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(name.len());
    let name = name.get(..end).unwrap_or_default();
    (!name.is_empty()).then(|| format!("--{name}"))
}

/// A heading names each command, and a block shows its help.
fn of_commands(page: &Page) -> BTreeMap<String, BTreeSet<String>> {
    let headings = page.text.lines().enumerate().filter_map(|(number, line)| {
        let name = line.strip_prefix("## `")?.strip_suffix('`')?;
        Some((number + 1, name.to_owned()))
    });
    let headings: Vec<(usize, String)> = headings.collect();
    let help = |line: usize| page.fences.iter().find(|fence| fence.line > line);
    let flags = |text: &str| -> BTreeSet<String> {
        text.split_whitespace().filter_map(|word| flag(word.trim_start_matches('['))).collect()
    };
    headings
        .into_iter()
        .map(|(line, name)| (name, help(line).map_or_else(BTreeSet::new, |fence| flags(&fence.text))))
        .collect()
}

/// A heading names each section, and a row of its table begins with each key.
fn of_cloud_conf(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## `[") {
            section = name.split([']', ' ']).next().unwrap_or_default().to_lowercase();
        } else if let Some(row) = line.strip_prefix("| `")
            && let Some((key, _rest)) = row.split_once('`')
        {
            keys.entry(section.clone()).or_default().insert(key.to_lowercase());
        }
    }
    keys
}

/// Words in which names of annotations and metrics can be.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ['.', '/', '-', '_'].contains(&c);
    text.split(move |c: char| !is_part(c))
        .map(|word| word.trim_end_matches(['.', '/', '-']).to_owned())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_flags_are_read_from_their_help() {
        let page = Page::parse(
            "## `bowline sim`\n```text\nCommands: kube\n```\n## `bowline sim kube`\n```text\n  --listen <A>\n  --seed\n```\n",
        );
        let known = Known::read(&Page::default(), &page, &Page::default(), &[]);
        assert!(known.has_command("bowline sim kube") && known.has_more("bowline sim"));
        assert!(known.has_flag("--listen") && !known.has_flag("--list"));
    }

    #[test]
    fn keys_are_read_by_section() {
        let keys = of_cloud_conf(
            "## `[Global]`\n| `Auth-URL` | text |\n## `[LoadBalancerClass \"name\"]`\n| `subnet-id` † | x |\n",
        );
        assert!(keys["global"].contains("auth-url") && keys["loadbalancerclass"].contains("subnet-id"));
    }

    #[test]
    fn a_flag_is_read_without_its_value() {
        assert_eq!(flag("--v=2"), Some("--v".to_owned()));
        assert_eq!(flag("--shadow`,"), Some("--shadow".to_owned()));
        assert_eq!((flag("--"), flag("-v")), (None, None));
    }
}
