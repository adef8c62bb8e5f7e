//! The query parameters of the API.

use percent_encoding::percent_decode_str;

use crate::status::{ApiError, FieldError};

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
    /// Reads a query.
    ///
    /// # Errors
    /// When a number is none.
    pub(crate) fn parse(query: &str) -> Result<Self, ApiError> {
        let mut options = Self::default();
        for (key, value) in pairs(query) {
            let number = matches!(key.as_str(), "limit" | "timeoutSeconds" | "gracePeriodSeconds");
            if number && !value.is_empty() && value.parse::<i64>().is_err() {
                let why = format!("strconv.ParseInt: parsing \"{value}\": invalid syntax");
                return Err(ApiError::bad_request(why));
            }
            options.take(&key, value);
        }
        Ok(options)
    }

    /// Checks what a write may say; `kind` is the name of its options.
    ///
    /// # Errors
    /// Invalid, with every complaint.
    pub(crate) fn check_write(&self, kind: &str, applies: bool) -> Result<(), ApiError> {
        let mut errors = Vec::new();
        if kind == "PatchOptions" && self.force && !applies {
            errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
        }
        if applies && self.field_manager.is_empty() {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        }
        if self.field_manager.len() > 128 {
            errors.push(FieldError::too_long("fieldManager", "may not be more than 128 bytes"));
        }
        if let Some((position, sign)) =
            self.field_manager.chars().enumerate().find(|(_, sign)| sign.is_control())
        {
            let why = format!("invalid character U+{:04X} (at position {position})", u32::from(sign));
            errors.push(FieldError::invalid("fieldManager", self.field_manager.as_str(), why));
        }
        if !self.dry_run.is_empty() && self.dry_run != ["All"] {
            errors.push(FieldError::not_supported("dryRun", serde_json::json!(self.dry_run), &["All"]));
        }
        let known = ["", "Ignore", "Strict", "Warn"];
        if !known.contains(&self.field_validation.as_str()) {
            let found = self.field_validation.as_str();
            errors.push(FieldError::not_supported("fieldValidation", found, &known));
        }
        if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_options(kind, &errors)) }
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
