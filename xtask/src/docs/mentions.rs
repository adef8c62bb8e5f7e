//! Whether what a page mentions exists: commands and flags of `bowline`, annotations, metrics, keys of cloud.conf. Pure.

use std::path::Path;

use super::known::{Known, flag, words_of};
use super::page::{Fence, Page};

/// Flags of other programs that our pages speak of by name alone.
const FOREIGN_FLAGS: &[&str] =
    &["--hostname-override", "--node-ip", "--provider-id", "--release", "--ignore-daemonsets"];

/// Names that end in what is no annotation.
const NO_ANNOTATIONS: &[&str] = &["bowline.dev/v1alpha1"];

const ANNOTATION_PREFIXES: &[&str] = &[
    "loadbalancer.openstack.org/",
    "loadbalancer.bowline.dev/",
    "bowline.dev/",
    "service.beta.kubernetes.io/",
];

/// Pages that also speak of flags of cargo, xtask and tests.
const FOR_DEVELOPERS: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/adr",
    "docs/explanation/performance.md",
    "docs/explanation/reliability.md",
];

/// What a page mentions and is not there, with its line.
pub(crate) fn problems(path: &Path, page: &Page, known: &Known) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    let is_judged =
        |code: &str| !code.starts_with("--") || !FOR_DEVELOPERS.iter().any(|theirs| path.starts_with(theirs));
    for code in page.code.iter().filter(|code| is_judged(&code.text)) {
        problems.extend(of_inline(&code.text, known).map(|why| (code.line, why)));
    }
    problems.extend(page.fences.iter().flat_map(|fence| of_fence(fence, known)));
    for (number, line) in page.text.lines().enumerate().map(|(number, line)| (number + 1, line)) {
        problems.extend(of_words(line, known).map(|why| (number, why)));
    }
    problems
}

fn of_inline(code: &str, known: &Known) -> Option<String> {
    if code.starts_with("--") {
        let name = code.split([' ', '=', ',']).next().and_then(flag)?;
        let is_known = known.has_flag(&name) || FOREIGN_FLAGS.contains(&name.as_str());
        return (!is_known).then(|| format!("nothing has the flag {name}"));
    }
    of_command(&words(code), known)
}

fn of_fence(fence: &Fence, known: &Known) -> Vec<(usize, String)> {
    match fence.language() {
        "sh" | "console" => of_shell(fence, known),
        "ini" => of_cloud_conf(fence, known),
        _ => Vec::new(),
    }
}

fn of_shell(fence: &Fence, known: &Known) -> Vec<(usize, String)> {
    let joined = fence.text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.split(" #").next().unwrap_or_default());
    let lines = lines.filter_map(|line| match fence.language() {
        "console" => line.strip_prefix("$ "),
        _ => Some(line),
    });
    let commands = lines.flat_map(|line| line.split(['|', ';', '&', '(', ')']));
    commands.filter_map(|command| of_command(&words(command), known)).map(|why| (fence.line, why)).collect()
}

/// The words of a command, without what a shell would set before it.
fn words(command: &str) -> Vec<&str> {
    let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'', '`']));
    words.skip_while(|word| word.contains('=') && !word.starts_with('-')).collect()
}

/// What is wrong with a command, if it is one of ours.
fn of_command(words: &[&str], known: &Known) -> Option<String> {
    let words = match words {
        ["bowline", rest @ ..] | ["kubectl", "bowline", rest @ ..] => rest,
        ["cargo", "run", rest @ ..] if !rest.contains(&"-p") || rest.contains(&"bowline") => {
            rest.split(|word| *word == "--").nth(1)?
        }
        _ => return None,
    };
    let mut path = "bowline".to_owned();
    let mut rest = words.iter();
    for word in rest.by_ref() {
        if word.starts_with('-') || word.contains(['…', '<', '[']) || *word == "NAME" {
            break;
        }
        let next = format!("{path} {word}");
        if known.has_command(&next) {
            path = next;
        } else if known.has_more(&path) {
            return Some(format!("there is no command `{next}`"));
        } else {
            break;
        }
    }
    let flags = words.iter().filter_map(|word| flag(word)).filter(|name| name != "--help");
    let is_known = |name: &String| match path.as_str() {
        "bowline ccm" => known.manager_flags.contains(name),
        _ => known.commands.get(&path).is_some_and(|flags| flags.contains(name)),
    };
    let wrong = flags.into_iter().find(|name| !is_known(name))?;
    Some(format!("`{path}` has no flag {wrong}"))
}

fn of_words(line: &str, known: &Known) -> Option<String> {
    words_of(line).find_map(|word| {
        let is_annotation = ANNOTATION_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        let is_metric = word.starts_with("bowline_") && !word.contains(['/', '.']);
        let is_known = if is_annotation {
            known.words.contains(&word) || NO_ANNOTATIONS.contains(&word.as_str())
        } else {
            !is_metric || is_metric_known(&word, known) || is_crate(&word)
        };
        let what = if is_annotation { "annotation, label or condition" } else { "metric" };
        (!is_known).then(|| format!("there is no {what} {word}"))
    })
}

fn is_metric_known(word: &str, known: &Known) -> bool {
    let plain = ["_total", "_bucket", "_count", "_sum"].iter().find_map(|end| word.strip_suffix(end));
    [Some(word), plain]
        .into_iter()
        .flatten()
        .any(|name| known.words.contains(name) || known.words.contains(&format!("{name}_total")))
}

/// Crates have names like metrics.
fn is_crate(word: &str) -> bool {
    let crates = ["cloud", "controllers", "kube", "manager", "openstack", "operator", "testkit"];
    crates.iter().any(|name| word == format!("bowline_{name}"))
}

fn of_cloud_conf(fence: &Fence, known: &Known) -> Vec<(usize, String)> {
    let (mut section, mut problems) = (String::new(), Vec::new());
    for (number, line) in fence.text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            section = name.split([']', ' ']).next().unwrap_or_default().to_lowercase();
        } else if let Some((key, _value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) {
            let key = key.trim().to_lowercase();
            if !known.keys.get(&section).is_some_and(|keys| keys.contains(&key)) {
                problems
                    .push((fence.line + number + 1, format!("[{section}] of cloud.conf has no key {key}")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let flags = Page::parse("`--cloud-config` `--shadow` `bowline.dev/paused`\n");
        let commands = Page::parse(
            "## `bowline`\n```text\n```\n## `bowline ccm`\n```text\n```\n## `bowline sim`\n```text\n```\n\
             ## `bowline sim kube`\n```text\n--listen\n```\n",
        );
        let conf = Page::parse("## `[Global]`\n| `auth-url` | x |\n");
        let other =
            Page::parse("`bowline_paused` `loadbalancer.openstack.org/class` `bowline_nodes_deleted`\n");
        Known::read(&flags, &commands, &conf, &[&other])
    }

    fn told(text: &str) -> Vec<String> {
        problems(Path::new("docs/guides/a.md"), &Page::parse(text), &known())
            .into_iter()
            .map(|(line, why)| format!("{line}: {why}"))
            .collect()
    }

    #[test]
    fn what_exists_may_be_mentioned() {
        let text = "`--shadow` `bowline sim kube --listen=x` `loadbalancer.openstack.org/class` bowline_nodes_deleted_total\n\
            `bowline.dev/paused` `kubectl get --watch` `apiVersion: bowline.dev/v1alpha1` `bowline sim …`\n\
            ```sh\nX=1 bowline ccm --cloud-config=f \\\n  --shadow | jq --raw\ncargo run -p bowline -- sim kube\n```\n\
            ```ini\n[Global]\nauth-url = x  # y\n```\n";
        assert_eq!(told(text), [""; 0]);
    }

    #[test]
    fn what_does_not_exist_is_told_with_its_line() {
        let text = "`--shadwo`\n`bowline sim cloud` \nbowline_pause loadbalancer.openstack.org/clas\n\
            ```sh\nbowline ccm --listen\n```\n```ini\n[Global]\nurl=x\n```\n";
        assert_eq!(
            told(text),
            [
                "1: nothing has the flag --shadwo",
                "2: there is no command `bowline sim cloud`",
                "4: `bowline ccm` has no flag --listen",
                "9: [global] of cloud.conf has no key url",
                "3: there is no metric bowline_pause",
            ]
        );
    }

    #[test]
    fn pages_for_developers_may_speak_of_other_flags_alone() {
        let page = Page::parse("`--seed` `bowline ccm --seed`\n");
        let found = problems(Path::new("docs/adr/0001.md"), &page, &known());
        assert_eq!(found, [(1, "`bowline ccm` has no flag --seed".to_owned())]);
    }
}
