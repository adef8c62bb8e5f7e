//! Maps each verbosity to the text of an `EnvFilter`. Pure.

use std::collections::BTreeSet;

use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};

/// The prefix of this project's crates.
const OURS: &str = "bowline";

/// Crates that log every request and every handshake. Only their warnings are logged, unless the verbosity is very high.
const CHATTY: [&str; 6] = ["h2", "hyper", "kube", "rustls", "tokio_rustls", "tower"];

/// Modules of other crates that log responses of the API server: kube's client logs the whole text of a response that it cannot decode, at
/// WARN, and its watcher logs the resulting errors. A response may contain a Secret or a token. Bowline's own code logs what matters about
/// such responses.
const SHOW_ANSWERS: [&str; 2] = ["kube_client::client", "kube_runtime::watcher"];

/// Whether events of this module may contain a response of the API server. They are dropped whatever `-v` and `--vmodule` are.
pub(super) fn shows_answers(target: &str) -> bool {
    SHOW_ANSWERS.contains(&target)
}

/// The lowest verbosity that logs everything.
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
/// `--vmodule` can only add events: if `-v` allows more for a module than the module's own number, `-v` applies. A pattern that can match
/// no module has no effect.
#[must_use]
pub fn directives(verbosity: u8, vmodule: &[(String, u8)]) -> String {
    directives_within(STATIC_MAX_LEVEL, verbosity, vmodule)
}

/// Like [`directives`], for a build that contains events up to the level `built_in`.
pub(super) fn directives_within(built_in: LevelFilter, verbosity: u8, vmodule: &[(String, u8)]) -> String {
    let matching = vmodule.iter().filter(|(pattern, _)| names_modules(pattern));
    let modules: Vec<(&str, u8)> = matching.map(|(pattern, level)| (prefix(pattern), *level)).collect();
    // Only the longest matching target applies, so each must include what the shorter ones would add.
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

/// The filter that allows everything that the build contains.
pub(super) fn everything() -> String {
    STATIC_MAX_LEVEL.to_string()
}

/// Whether a pattern of `--vmodule` is the prefix of a module path. Patterns for Go file names, such as `*loadbalancer*` or `pkg/x`, are
/// not.
pub(crate) fn names_modules(pattern: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    !pattern.is_empty() && prefix(pattern).chars().all(fits)
}

/// The prefix of a pattern. Filters match prefixes, so a trailing `*` has no further meaning.
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

/// The level of a module that `--vmodule` names. Such a module gets the levels of Bowline's own crates, whatever its crate.
fn level_of_module(verbosity: u8) -> LevelFilter {
    level_by_verbosity(OURS, verbosity)
}
