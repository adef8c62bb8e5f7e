//! What each verbosity lets through, as the text of an `EnvFilter`. Pure.

use std::collections::BTreeSet;

use tracing::level_filters::LevelFilter;

/// Every crate of this project begins so.
const OURS: &str = "bowline";

/// Crates that speak of every request and every handshake: until somebody looks for just that, only their warnings.
const CHATTY: [&str; 6] = ["h2", "hyper", "kube", "rustls", "tokio_rustls", "tower"];

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
/// None of our crates says anything at `trace`, and in a release the traces of others are not built in (the workspace's `Cargo.toml`).
///
/// `--vmodule` only ever adds: a module that `-v` lets say more than its own number would, may.
/// A pattern that can match no module adds nothing.
#[must_use]
pub fn directives(verbosity: u8, vmodule: &[(String, u8)]) -> String {
    let matching = vmodule.iter().filter(|(pattern, _)| names_modules(pattern));
    let modules: Vec<(&str, u8)> = matching.map(|(pattern, level)| (prefix(pattern), *level)).collect();
    // The longest target that fits decides alone, so each must carry what the shorter ones would add.
    let level = |target: &str| {
        let added =
            modules.iter().filter(|(module, _)| target.starts_with(module)).map(|(_, v)| level_of_module(*v));
        added.fold(level_by_verbosity(target, verbosity), LevelFilter::max)
    };
    let mut targets: BTreeSet<&str> = CHATTY.into_iter().chain([OURS]).collect();
    targets.extend(modules.iter().map(|(module, _)| *module).filter(|module| !module.is_empty()));
    let targets = targets.into_iter().map(|target| format!(",{target}={}", level(target)));
    format!("{}{}", level(""), targets.collect::<String>())
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
