//! Decides what is written for an event: a new Event, a higher count on an earlier one, or nothing. Pure: callers pass the time.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use bowline_core::{EventKind, TokenBucket};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use serde_json::{Value, json};

use super::bounded::BoundedMap;

/// The maximum number of entries of each map of the correlator.
const MEMORY: usize = 4096;
/// The API server keeps an Event for an hour after its last write; later repeats start a new one.
const EVENT_LIFE: Duration = Duration::from_secs(3_600);
/// How many different messages with one reason about one object are written. Further ones are combined until the interval has passed
/// without any.
const SIMILAR_SHOWN: usize = 10;
const SIMILAR_INTERVAL: Duration = Duration::from_secs(600);
const COMBINED: &str = "(combined from similar events): ";
/// The burst of events about one object; after that, one every five minutes. Unlike client-go, warnings have a budget of their own: two
/// dozen edits in a row must not suppress the warning about the last one.
const SPAM_BURST: u32 = 25;
const SPAM_PER_SECOND: f64 = 1.0 / 300.0;
/// The longest message, in bytes.
const MESSAGE_LIMIT: usize = 1024;
/// How many bytes of the object's name are used in an Event's name: 253, less a dot and 16 digits.
const NAME_LIMIT: usize = 236;

/// A recorded event.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The object that the event is about.
    pub object: ObjectReference,
    /// Normal or warning.
    pub kind: EventKind,
    /// The reason: one word in `CamelCase`.
    pub reason: String,
    /// The message.
    pub message: String,
    /// When it happened.
    pub at: Timestamp,
}

/// What is written for an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Create this Event.
    Create(Box<Event>),
    /// Write `count`, `lastTimestamp` and `message` of this Event to the existing one of that name. If that no longer exists, create it.
    Patch(Box<Event>),
    /// Write nothing: there were too many events about this object.
    Drop,
}

/// The state of the events of one component.
#[derive(Debug)]
pub struct EventCorrelator {
    component: String,
    host: String,
    /// The rate limits, by object and kind of event.
    budgets: BoundedMap<Digest, TokenBucket>,
    /// By group: the digests of the messages that were written.
    similar: BoundedMap<Digest, Vec<Digest>>,
    /// By group and text.
    written: BoundedMap<Digest, Written>,
    last_suffix: u64,
}

/// The hash of a subject, a group of events, or a text. Thousands are kept, and the values themselves would take a kilobyte each. The
/// probability that two of [`MEMORY`] collide is about one in a trillion; a collision would add up the counts of two Events.
type Digest = u64;

/// Events that differ only in their message.
#[derive(Hash)]
struct Group<'e> {
    subject: Subject<'e>,
    kind: EventKind,
    reason: &'e str,
}

/// The object that an event is about.
#[derive(Clone, Copy, Hash)]
struct Subject<'e> {
    api_version: Option<&'e str>,
    kind: Option<&'e str>,
    namespace: Option<&'e str>,
    name: Option<&'e str>,
    uid: Option<&'e str>,
    field_path: Option<&'e str>,
}

#[derive(Clone, Copy, Hash)]
enum Text<'e> {
    Exactly(&'e str),
    Combined,
}

/// An Event that was written earlier, or that was about to be written.
#[derive(Debug)]
struct Written {
    name: String,
    count: i32,
    first: Timestamp,
}

impl EventCorrelator {
    /// A correlator without any events.
    #[must_use]
    pub fn new(component: &str, host: &str) -> Self {
        Self {
            component: component.to_owned(),
            host: host.to_owned(),
            budgets: BoundedMap::new(MEMORY),
            similar: BoundedMap::new(MEMORY),
            written: BoundedMap::new(MEMORY),
            last_suffix: 0,
        }
    }

    /// Decides about one event at `now` (time since any fixed start). A dropped event still counts for the next one that is written.
    pub fn observe(&mut self, event: &NewEvent, now: Duration) -> Decision {
        let subject = subject(&event.object);
        let group = digest(&Group { subject, kind: event.kind, reason: &event.reason });
        let text = self.text_for(group, &event.message, now);
        let message = match text {
            Text::Exactly(message) => message.to_owned(),
            Text::Combined => truncate(&format!("{COMBINED}{}", event.message)).to_owned(),
        };
        let fresh_name = self.name_for(event);
        let written = self.written.use_or_make(digest(&(group, text)), now, EVENT_LIFE, || Written {
            name: fresh_name,
            count: 0,
            first: event.at,
        });
        written.count = written.count.saturating_add(1);
        let (name, count, first) = (written.name.clone(), written.count, written.first);
        if !self.may_write(digest(&(subject, event.kind)), now) {
            // The API server has no Event of this name if it was never sent; a later patch gets a 404 and creates it.
            return Decision::Drop;
        }
        let whole = Box::new(self.whole(event, message, name, count, first));
        if count == 1 { Decision::Create(whole) } else { Decision::Patch(whole) }
    }

    /// The message itself, or `Combined` after too many different ones, until [`SIMILAR_INTERVAL`] has passed without any.
    fn text_for<'e>(&mut self, group: Digest, message: &'e str, now: Duration) -> Text<'e> {
        let shown = self.similar.use_or_make(group, now, SIMILAR_INTERVAL, Vec::new);
        let this = digest(message);
        if shown.contains(&this) {
            return Text::Exactly(message);
        }
        if shown.len() < SIMILAR_SHOWN {
            shown.push(this);
            return Text::Exactly(message);
        }
        Text::Combined
    }

    fn may_write(&mut self, of: Digest, now: Duration) -> bool {
        let full = || TokenBucket::new(SPAM_PER_SECOND, SPAM_BURST);
        self.budgets.use_or_make(of, now, Duration::MAX, full).try_take(now)
    }

    /// A name that no other event of this process has.
    fn name_for(&mut self, event: &NewEvent) -> String {
        let nanoseconds = u64::try_from(event.at.as_nanosecond()).unwrap_or(0);
        self.last_suffix = nanoseconds.max(self.last_suffix.saturating_add(1));
        let object = event.object.name.as_deref().unwrap_or("unknown");
        // No part of a name may end in a separator, so trailing separators are removed after truncation.
        let object = cut(object, NAME_LIMIT).trim_end_matches(['.', '-']);
        format!("{object}.{:x}", self.last_suffix)
    }

    fn whole(&self, event: &NewEvent, message: String, name: String, count: i32, first: Timestamp) -> Event {
        let host = (!self.host.is_empty()).then(|| self.host.clone());
        Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(event.object.namespace.clone().unwrap_or_else(|| "default".to_owned())),
                ..ObjectMeta::default()
            },
            involved_object: event.object.clone(),
            type_: Some(event.kind.as_str().to_owned()),
            reason: Some(event.reason.clone()),
            message: Some(message),
            count: Some(count),
            first_timestamp: Some(Time(first)),
            last_timestamp: Some(Time(event.at)),
            source: Some(EventSource { component: Some(self.component.clone()), host: host.clone() }),
            reporting_component: Some(self.component.clone()),
            reporting_instance: host,
            ..Event::default()
        }
    }
}

/// The patch for a repeated event.
pub(super) fn repeat_patch(event: &Event) -> Value {
    json!({"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message})
}

/// Truncates a message to the longest one of an Event.
pub(super) fn truncate(message: &str) -> &str {
    cut(message, MESSAGE_LIMIT)
}

fn cut(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

fn digest(what: &(impl Hash + ?Sized)) -> Digest {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn subject(object: &ObjectReference) -> Subject<'_> {
    Subject {
        api_version: object.api_version.as_deref(),
        kind: object.kind.as_deref(),
        namespace: object.namespace.as_deref(),
        name: object.name.as_deref(),
        uid: object.uid.as_deref(),
        field_path: object.field_path.as_deref(),
    }
}
