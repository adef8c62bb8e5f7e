//! What the pages of `docs/` ask a reader to do, taken out of them, and whether what came of it is what they promise. Pure.
//!
//! A block between fences is for the tests if it says so behind the name of its language:
//!
//! | words | meaning |
//! |---|---|
//! | `sh run=SETUP` | the commands are run, in bash that stops at the first failure, in the surroundings SETUP: `plain`, `cluster`, `kubernetes` or `playground` |
//! | `text output` | what the block before it has to print: these lines, in this order; `…` is anything, other lines may be between |
//! | `yaml file=NAME` | a file of that name is there for the blocks after it |
//! | `sh unrun=REASON` | the commands cannot be run by the tests; why, in a word of [`REASONS`] |
//!
//! Blocks of one page that have the same surroundings share them, also their variables. A block of `sh` is either run or says why not.

/// Why commands are not run, and what that means.
pub const REASONS: [(&str, &str); 6] = [
    ("build", "compiles for minutes"),
    ("other-machine", "is for a node, not for the machine of the reader"),
    ("real-cloud", "needs a service that the simulated cloud or its client does not have"),
    ("real-cluster", "needs pods that run, or a distribution's own API"),
    ("registry", "needs a registry and an identity to sign with"),
    ("serves", "does not end by itself"),
];

/// Something that a page asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The line of its fence, counted from 1.
    pub line: usize,
    /// What it is.
    pub what: What,
}

/// What a block is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Commands for a shell.
    Run {
        /// Where they are run.
        setup: String,
        /// The commands.
        script: String,
        /// What they have to print, if the page says it.
        output: Option<String>,
    },
    /// A file to write.
    File {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
    },
}

/// What a page asks for, in its order.
#[must_use]
pub fn items(page: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for Fence { line, words, text } in fences(page) {
        let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)).map(str::to_owned);
        if let Some(setup) = value("run=") {
            items.push(Item { line, what: What::Run { setup, script: text, output: None } });
        } else if let Some(name) = value("file=") {
            items.push(Item { line, what: What::File { name, text } });
        } else if words.iter().any(|word| word == "output")
            && let Some(Item { what: What::Run { output, .. }, .. }) = items.last_mut()
        {
            *output = Some(text);
        }
    }
    items
}

/// The lines of the blocks of `sh` that are not run and do not say why, with a word that is known.
#[must_use]
pub fn unexplained(page: &str) -> Vec<usize> {
    let is_known = |word: &str| REASONS.iter().any(|(reason, _)| *reason == word);
    let is_explained =
        |word: &String| word.starts_with("run=") || word.strip_prefix("unrun=").is_some_and(is_known);
    fences(page)
        .into_iter()
        .filter(|fence| fence.words.first().is_some_and(|language| language == "sh"))
        .filter(|fence| !fence.words.iter().any(is_explained))
        .map(|fence| fence.line)
        .collect()
}

/// Whether a page has commands to run.
#[must_use]
pub fn has_commands(page: &str) -> bool {
    fences(page).iter().any(|fence| fence.words.iter().any(|word| word.starts_with("run=")))
}

struct Fence {
    line: usize,
    words: Vec<String>,
    text: String,
}

/// The blocks between fences, without the indentation of a list that they are in.
fn fences(page: &str) -> Vec<Fence> {
    let mut found = Vec::new();
    let mut open: Option<(Fence, usize)> = None;
    for (number, line) in page.lines().enumerate() {
        let bare = line.trim_start();
        match &mut open {
            None => {
                if let Some(words) = bare.strip_prefix("```") {
                    let words =
                        words.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
                    let indentation = line.len() - bare.len();
                    open = Some((Fence { line: number + 1, words, text: String::new() }, indentation));
                }
            }
            Some(_) if bare.trim_end() == "```" => found.extend(open.take().map(|(fence, _)| fence)),
            Some((fence, indentation)) => {
                let start = (*indentation).min(line.len() - bare.len());
                fence.text.push_str(line.get(start..).unwrap_or_default());
                fence.text.push('\n');
            }
        }
    }
    found
}

/// The first line that was promised and did not come, if there is one.
#[must_use]
pub fn first_missing(promised: &str, printed: &str) -> Option<String> {
    let mut printed = printed.lines();
    let promised = promised.lines().filter(|line| !line.trim().is_empty() && line.trim() != "…");
    promised.into_iter().find(|line| !printed.by_ref().any(|found| is_like(line, found))).map(str::to_owned)
}

/// Whether a line is the promised one: blanks are all the same, and `…` is anything.
fn is_like(promised: &str, found: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (promised, found) = (plain(promised), plain(found));
    let mut parts = promised.split('…').map(str::trim);
    let Some(first) = parts.next() else { return false };
    let Some(mut rest) = found.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    match last {
        None => rest.is_empty(),
        Some(last) => last.is_empty() || rest.is_empty() || found.ends_with(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\n1. Do:\n\n   ```sh run=cluster\n   kubectl get nodes\n     -o name\n   ```\n\n```text output\nnode/…\n```\n\n\
        ```yaml file=web.yaml\na: b\n```\n\n```sh\nssh node\n```\n";

    #[test]
    fn what_is_to_be_run_is_found_with_what_it_prints_and_the_rest_is_passed_over() {
        let run = What::Run {
            setup: "cluster".into(),
            script: "kubectl get nodes\n  -o name\n".into(),
            output: Some("node/…\n".into()),
        };
        let file = What::File { name: "web.yaml".into(), text: "a: b\n".into() };
        assert_eq!(items(PAGE), [Item { line: 5, what: run }, Item { line: 14, what: file }]);
    }

    #[test]
    fn a_page_has_commands_if_they_are_to_be_run() {
        assert!(has_commands(PAGE));
        assert!(!has_commands("```sh\nssh node\n```\n"));
    }

    #[test]
    fn commands_that_are_not_run_have_to_say_why_in_a_word_that_is_known() {
        assert_eq!(unexplained(PAGE), [18]);
        assert_eq!(unexplained("```sh unrun=other-machine\nssh node\n```\n"), [0; 0]);
        assert_eq!(unexplained("```sh unrun=because\n```\n```text\n```\n```sh run=plain\n```\n"), [1]);
    }

    #[test]
    fn promised_lines_come_in_order_with_others_between() {
        let printed = "NAME    AGE\nnode-1   5s\nnode-2   6s\n";
        assert_eq!(first_missing("NAME AGE\nnode-2 …\n", printed), None);
        assert_eq!(first_missing("…\nnode-2 6s\n", printed), None);
        assert_eq!(first_missing("node-2 …\nnode-1 …\n", printed), Some("node-1 …".to_owned()));
        assert_eq!(first_missing("node-3 …\n", printed), Some("node-3 …".to_owned()));
    }

    #[test]
    fn an_ellipsis_is_anything_and_what_is_around_it_is_not() {
        assert!(is_like("a … c", "a b b c"));
        assert!(is_like("172.24.4.…", "172.24.4.11"));
        assert!(is_like("web … 80:…/TCP …", "web  LoadBalancer 10.0.0.1   80:30322/TCP  5s"));
        assert!(!is_like("a … c", "a b c d"));
        assert!(!is_like("a", "a b"));
        assert!(!is_like("a …", "b a"));
    }
}
