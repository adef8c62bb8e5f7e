//! Watches: what a stream begins with and what a change means to one watcher. The stream itself is in `server::stream`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::list::Filter;
use crate::config::Clock;
use crate::core::{Call, Core, Outcome};
use crate::fault::{EventInfo, WatchInfo};
use crate::listing::event_line;
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
    /// Ages in tables are told by it.
    clock: Clock,
    /// Who watches.
    pub(crate) info: WatchInfo,
}

/// One line of the stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    kind: &'static str,
    content: Content,
    /// Nothing follows.
    pub(crate) last: bool,
}

/// What a line is about.
#[derive(Debug, Clone, PartialEq)]
enum Content {
    /// A stored object, which is written when the line is sent; `columns`: with those of its table.
    Stored { object: Arc<Value>, columns: bool },
    /// Something else.
    Ready(Value),
}

impl Frame {
    /// An ERROR, after which the stream ends.
    pub(crate) fn error(error: &ApiError) -> Self {
        Self { kind: "ERROR", content: Content::Ready(error.body()), last: true }
    }

    /// What an interceptor sees of it.
    pub(crate) fn info(&self) -> EventInfo {
        let object = match &self.content {
            Content::Ready(object) => object,
            Content::Stored { object, .. } => object,
        };
        EventInfo {
            kind: self.kind,
            namespace: object::namespace(object).to_owned(),
            name: object::name(object).to_owned(),
            resource_version: object::resource_version(object),
        }
    }

    /// The line as it is sent.
    pub(crate) fn line(&self, spec: &WatchSpec) -> bytes::Bytes {
        let mut text = match &self.content {
            Content::Ready(object) => json!({"type": self.kind, "object": object}).to_string(),
            Content::Stored { object, columns } => {
                let now = spec.clock.now();
                event_line(self.kind, &spec.resource, spec.shape, object, now, *columns)
            }
        };
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
        self.watches += 1;
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
            clock: self.config.clock.clone(),
            info: WatchInfo {
                id: self.watches,
                user: call.request.user.name.clone(),
                user_agent: call.request.user_agent.clone(),
                group: call.path.group.clone(),
                resource: call.path.plural.clone(),
                namespace: call.path.namespace.clone(),
            },
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
            .inside(&spec.bucket, &spec.filter.namespace)
            .filter(|(key, object)| spec.filter.matches(&key.0, object))
            .map(|(_, object)| Arc::clone(object))
            .collect();
        spec.first = chosen.into_iter().map(|object| spec.frame("ADDED", object)).collect();
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
        Frame { kind: "BOOKMARK", content: Content::Ready(object), last: false }
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
                changes.iter().filter_map(|change| spec.told(change)).collect()
            }
        }
    }
}

impl WatchSpec {
    fn frame(&mut self, kind: &'static str, object: Arc<Value>) -> Frame {
        let columns = !std::mem::replace(&mut self.columns_told, true);
        Frame { kind, content: Content::Stored { object, columns }, last: false }
    }

    /// What one change means to this watcher: objects may begin or cease to match.
    fn told(&mut self, change: &Change) -> Option<Frame> {
        let namespace = object::namespace(&change.new).to_owned();
        let was = change.old.as_ref().is_some_and(|old| self.filter.matches(&namespace, old));
        let is = !change.deleted && self.filter.matches(&namespace, &change.new);
        match (was, is) {
            (false, false) => None,
            (false, true) => Some(self.frame("ADDED", Arc::clone(&change.new))),
            (true, true) => Some(self.frame("MODIFIED", Arc::clone(&change.new))),
            (true, false) => {
                // The object as it last matched, with the version at which it ceased to.
                let mut last = change.old.as_deref().cloned().unwrap_or_default();
                object::meta(&mut last).insert("resourceVersion".into(), json!(change.version.to_string()));
                Some(self.frame("DELETED", Arc::new(last)))
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
