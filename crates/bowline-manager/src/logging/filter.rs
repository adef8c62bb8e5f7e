//! What each verbosity lets through, as the text of an `EnvFilter`. Pure.

use std::collections::BTreeSet;

use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};

/// Every crate of this project begins so.
const OURS: &str = "bowline";

/// Crates that speak of every request and every handshake: until somebody looks for just that, only their warnings.
const CHATTY: [&str; 6] = ["h2", "hyper", "kube", "rustls", "tokio_rustls", "tower"];

/// Modules of others that log what the API server answered: kube's client the whole text of what it cannot decode, at WARN, and its
/// watcher the errors of it. An answer may be a Secret or a token. What matters of it is logged by our own code.
const SHOW_ANSWERS: [&str; 2] = ["kube_client::client", "kube_runtime::watcher"];

/// Whether what this module says may hold an answer of the API server. It is dropped, whatever `-v` and `--vmodule` say.
pub(super) fn shows_answers(target: &str) -> bool {
    SHOW_ANSWERS.contains(&target)
}

/// From this verbosity on, everything is wanted.
const EVERYTHING: u8 = 6;

/// The filter for `-v` and `--vmodule`.
///
/// | `-v` | our crates | others | HTTP, TLS and the Kubernetes client |
/// |---|---|---|---|
/// | 0, 1 | info | info | warn |
/// | 2, 3 | debug | info | warn |
/// | 4, 5 | debug | debug | warn |
/// | 6 and more | trace | debug | debug |
///
/// None of our crates logs at `trace`, and release builds contain no trace events at all (the workspace's `Cargo.toml`). No directive
/// asks for more than the build contains, because `EnvFilter` writes a warning to standard error for each that does.
///
/// `--vmodule` only ever adds: a module that `-v` lets say more than its own number would, may.
/// A pattern that can match no module adds nothing.
#[must_use]
pub fn directives(verbosity: u8, vmodule: &[(String, u8)]) -> String {
    directives_within(STATIC_MAX_LEVEL, verbosity, vmodule)
}

/// The same for a build that contains events up to `built_in`.
pub(super) fn directives_within(built_in: LevelFilter, verbosity: u8, vmodule: &[(String, u8)]) -> String {
    let matching = vmodule.iter().filter(|(pattern, _)| names_modules(pattern));
    let modules: Vec<(&str, u8)> = matching.map(|(pattern, level)| (prefix(pattern), *level)).collect();
    // The longest target that fits decides alone, so each must carry what the shorter ones would add.
    let level = |target: &str| {
        let added =
            modules.iter().filter(|(module, _)| target.starts_with(module)).map(|(_, v)| level_of_module(*v));
        added.fold(level_by_verbosity(target, verbosity), LevelFilter::max).min(built_in)
    };
    let mut targets: BTreeSet<&str> = CHATTY.into_iter().chain([OURS]).collect();
    targets.extend(modules.iter().map(|(module, _)| *module).filter(|module| !module.is_empty()));
    let targets = targets.into_iter().map(|target| format!(",{target}={}", level(target)));
    format!("{}{}", level(""), targets.collect::<String>())
}

/// The filter that lets through everything that the build contains.
pub(super) fn everything() -> String {
    STATIC_MAX_LEVEL.to_string()
}

/// Whether a pattern of `--vmodule` is the beginning of a module's path. Those written for Go's names of files, such as
/// `*loadbalancer*` or `pkg/x`, are not.
pub(crate) fn names_modules(pattern: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    !pattern.is_empty() && prefix(pattern).chars().all(fits)
}

/// A filter compares beginnings, which is all that a `*` at the end means.
fn prefix(pattern: &str) -> &str {
    pattern.strip_suffix('*').unwrap_or(pattern)
}

fn level_by_verbosity(target: &str, verbosity: u8) -> LevelFilter {
    let chatty = CHATTY.iter().any(|prefix| target.starts_with(prefix));
    match verbosity {
        EVERYTHING.. if target.starts_with(OURS) => LevelFilter::TRACE,
        EVERYTHING.. => LevelFilter::DEBUG,
        _ if chatty => LevelFilter::WARN,
        4.. => LevelFilter::DEBUG,
        2.. if target.starts_with(OURS) => LevelFilter::DEBUG,
        _ => LevelFilter::INFO,
    }
}

/// Who names a module wants to hear it, so every crate counts as ours.
fn level_of_module(verbosity: u8) -> LevelFilter {
    level_by_verbosity(OURS, verbosity)
}
