//! The query parameters of the API.

use percent_encoding::percent_decode_str;

/// Every parameter that means something here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) watch: bool,
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) limit: Option<usize>,
    pub(crate) continue_token: String,
    pub(crate) resource_version: String,
    pub(crate) resource_version_match: String,
    pub(crate) allow_watch_bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) dry_run: Vec<String>,
    pub(crate) field_manager: String,
    pub(crate) field_validation: String,
    pub(crate) force: bool,
    pub(crate) propagation_policy: String,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) include_object: String,
}

impl Options {
    pub(crate) fn parse(query: &str) -> Self {
        let mut options = Self::default();
        for (key, value) in pairs(query) {
            options.take(&key, value);
        }
        options
    }

    fn take(&mut self, key: &str, value: String) {
        match key {
            "watch" => self.watch = truth(&value),
            "labelSelector" => self.label_selector = value,
            "fieldSelector" => self.field_selector = value,
            "limit" => self.limit = value.parse().ok().filter(|limit| *limit > 0),
            "continue" => self.continue_token = value,
            "resourceVersion" => self.resource_version = value,
            "resourceVersionMatch" => self.resource_version_match = value,
            "allowWatchBookmarks" => self.allow_watch_bookmarks = truth(&value),
            "sendInitialEvents" => self.send_initial_events = Some(truth(&value)),
            "timeoutSeconds" => self.timeout_seconds = value.parse().ok().filter(|seconds| *seconds > 0),
            "dryRun" => self.dry_run.push(value),
            "fieldManager" => self.field_manager = value,
            "fieldValidation" => self.field_validation = value,
            "force" => self.force = truth(&value),
            "propagationPolicy" => self.propagation_policy = value,
            "orphanDependents" => self.orphan_dependents = Some(truth(&value)),
            "gracePeriodSeconds" => self.grace_period_seconds = value.parse().ok(),
            "includeObject" => self.include_object = value,
            _ => {}
        }
    }
}

/// The decoded pairs of a query.
fn pairs(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key), decoded(value))
    })
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// A flag without a value is set, as in the real server's query conversion.
fn truth(value: &str) -> bool {
    !matches!(value, "false" | "0" | "False" | "FALSE" | "f" | "F")
}
