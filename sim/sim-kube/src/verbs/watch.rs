//! Watches: what a stream begins with and what a change means to one watcher. The stream itself is in `serve`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::list::Filter;
use super::presented;
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::resource::{BucketKey, Resource};
use crate::shape::{self, Shape};
use crate::status::{ApiError, FieldError};
use crate::store::{Change, Compacted};

/// Everything a running watch needs.
#[derive(Debug)]
pub(crate) struct WatchSpec {
    pub(crate) resource: Arc<Resource>,
    pub(crate) bucket: BucketKey,
    filter: Filter,
    shape: Shape,
    /// Changes up to this version have been told.
    pub(crate) version: u64,
    pub(crate) bookmarks: bool,
    pub(crate) timeout: Duration,
    /// Told before any change.
    pub(crate) first: VecDeque<Frame>,
    pub(crate) changed: Arc<Notify>,
    pub(crate) epoch: u64,
    /// The table's columns were told.
    columns_told: bool,
}

/// One line of the stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    kind: &'static str,
    object: Value,
    /// Nothing follows.
    pub(crate) last: bool,
}

impl Frame {
    fn new(kind: &'static str, object: Value) -> Self {
        Self { kind, object, last: false }
    }

    /// An ERROR, after which the stream ends.
    pub(crate) fn error(error: &ApiError) -> Self {
        Self { kind: "ERROR", object: error.body(), last: true }
    }

    /// The line as it is sent.
    pub(crate) fn line(&self) -> bytes::Bytes {
        let mut text = json!({"type": self.kind, "object": self.object}).to_string();
        text.push('\n');
        text.into()
    }
}

impl Core {
    pub(crate) fn watch(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        check_options(call)?;
        let options = call.options;
        let bucket = call.resource.bucket();
        let text = options.resource_version.as_str();
        let wanted: u64 = if text.is_empty() {
            0
        } else {
            text.parse().map_err(|_| ApiError::internal(super::list::bad_version(text).to_string()))?
        };
        let initial = options.send_initial_events.unwrap_or(wanted == 0);
        if options.send_initial_events == Some(true) && wanted > self.store.version() {
            return Err(ApiError::too_large_resource_version(wanted, self.store.version()));
        }
        let default = self.config.watch_timeout;
        let mut spec = WatchSpec {
            changed: self.store.notifier(&bucket),
            resource: Arc::clone(&call.resource),
            filter: Filter::of(call)?,
            shape: call.shape,
            // Without initial events and without a version the watch begins with what comes next.
            version: if initial || wanted == 0 { self.store.version() } else { wanted },
            bookmarks: options.allow_watch_bookmarks,
            timeout: options.timeout_seconds.map_or(default, Duration::from_secs),
            first: VecDeque::new(),
            epoch: self.watch_epoch,
            columns_told: false,
            bucket,
        };
        if initial {
            self.add_existing(&mut spec);
        }
        if options.send_initial_events == Some(true) && spec.bookmarks {
            let frame = self.bookmark(&mut spec, true);
            spec.first.push_back(frame);
        }
        Ok(Outcome::Watch(Box::new(spec)))
    }

    fn add_existing(&self, spec: &mut WatchSpec) {
        let chosen: Vec<Arc<Value>> = self
            .store
            .objects(&spec.bucket)
            .filter(|(key, object)| spec.filter.matches(&key.0, object))
            .map(|(_, object)| Arc::clone(object))
            .collect();
        for object in chosen {
            let frame = self.frame(spec, "ADDED", &object);
            spec.first.push_back(frame);
        }
    }

    fn frame(&self, spec: &mut WatchSpec, kind: &'static str, stored: &Value) -> Frame {
        let object = presented(&spec.resource, stored);
        let mut shown = spec.shape.one(&spec.resource, object, self.now());
        if let (Shape::Table(_), true) = (spec.shape, spec.columns_told) {
            object::map_of(&mut shown).insert("columnDefinitions".into(), Value::Null);
        }
        spec.columns_told = true;
        Frame::new(kind, shown)
    }

    /// A bookmark at the watch's version.
    pub(crate) fn bookmark(&self, spec: &mut WatchSpec, ends_initial: bool) -> Frame {
        let mut meta = json!({"resourceVersion": spec.version.to_string()});
        if ends_initial {
            object::map_of(&mut meta)
                .insert("annotations".into(), json!({"k8s.io/initial-events-end": "true"}));
        }
        let object = json!({
            "kind": spec.resource.kind, "apiVersion": spec.resource.api_version(), "metadata": meta,
        });
        let object = match spec.shape {
            Shape::Whole => object,
            Shape::Metadata => shape::partial(&object),
            Shape::Table(_) => spec.shape.one(&spec.resource, object, self.now()),
        };
        Frame::new("BOOKMARK", object)
    }

    /// What the watch has not been told yet.
    pub(crate) fn news(&self, spec: &mut WatchSpec) -> Vec<Frame> {
        if self.held.contains("*") || self.held.contains(&spec.resource.plural) {
            return Vec::new();
        }
        match self.store.changes_after(&spec.bucket, spec.version) {
            Err(Compacted { oldest }) => {
                let message = format!("too old resource version: {} ({oldest})", spec.version);
                vec![Frame::error(&ApiError::expired(message))]
            }
            Ok(changes) => {
                // A watch may have been started in the future; then it waits for it.
                spec.version = spec.version.max(self.store.version());
                changes.iter().filter_map(|change| self.told(spec, change)).collect()
            }
        }
    }

    /// What one change means to this watcher: objects may begin or cease to match.
    fn told(&self, spec: &mut WatchSpec, change: &Change) -> Option<Frame> {
        let namespace = object::namespace(&change.new).to_owned();
        let was = change.old.as_ref().is_some_and(|old| spec.filter.matches(&namespace, old));
        let is = !change.deleted && spec.filter.matches(&namespace, &change.new);
        match (was, is) {
            (false, false) => None,
            (false, true) => Some(self.frame(spec, "ADDED", &change.new)),
            (true, true) => Some(self.frame(spec, "MODIFIED", &change.new)),
            (true, false) => {
                // The object as it last matched, with the version at which it ceased to.
                let mut last = change.old.as_deref().cloned().unwrap_or_default();
                object::meta(&mut last).insert("resourceVersion".into(), json!(change.version.to_string()));
                Some(self.frame(spec, "DELETED", &last))
            }
        }
    }
}

fn check_options(call: &Call<'_>) -> Result<(), ApiError> {
    let options = call.options;
    let forbidden = |field: &str, why: &str| {
        Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &[FieldError::forbidden(field, why)]))
    };
    if !options.continue_token.is_empty() {
        return forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden when continue is provided",
        );
    }
    match (options.send_initial_events, options.resource_version_match.as_str()) {
        (None, "") | (Some(_), "NotOlderThan") => Ok(()),
        (None, _) => forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (Some(_), "") => forbidden(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (Some(_), other) => {
            let error = FieldError::not_supported("resourceVersionMatch", other, &["NotOlderThan"]);
            Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &[error]))
        }
    }
}
