//! Decides what becomes of an event: a new Event, a count on an earlier one, or nothing. Pure: time is handed in.

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

/// How much each memory holds at most.
const MEMORY: usize = 4096;
/// An Event lives an hour on the server unless it is written again; later repeats start a new one.
const EVENT_LIFE: Duration = Duration::from_secs(3_600);
/// So many different messages of one reason about one object are shown within the interval; more are combined.
const SIMILAR_SHOWN: usize = 10;
const SIMILAR_INTERVAL: Duration = Duration::from_secs(600);
const COMBINED: &str = "(combined from similar events): ";
/// One object may have so many events at once, and then one each five minutes. Warnings are counted by themselves, which client-go
/// does not do: two dozen edits in a row must not leave the warning about the last of them unsaid.
const SPAM_BURST: u32 = 25;
const SPAM_PER_SECOND: f64 = 1.0 / 300.0;
/// The most bytes of a message.
const MESSAGE_LIMIT: usize = 1024;
/// The most bytes of the object's name that go into an Event's name: 253, less a dot and 16 digits.
const NAME_LIMIT: usize = 236;

/// An event as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// What it is about.
    pub object: ObjectReference,
    /// Whether people should worry.
    pub kind: EventKind,
    /// The reason: one word in `CamelCase`.
    pub reason: String,
    /// The message.
    pub message: String,
    /// When it happened.
    pub at: Timestamp,
}

/// What becomes of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Write this new Event.
    Create(Box<Event>),
    /// Write `count`, `lastTimestamp` and `message` of this Event onto the one with its name; if that is gone, write
    /// it whole.
    Patch(Box<Event>),
    /// Nothing: there were too many about this object.
    Drop,
}

/// Remembers the events of one component.
#[derive(Debug)]
pub struct EventCorrelator {
    component: String,
    host: String,
    /// By object and kind.
    budgets: BoundedMap<Digest, TokenBucket>,
    /// By group: the digests of the messages that were shown.
    similar: BoundedMap<Digest, Vec<Digest>>,
    /// By group and text.
    written: BoundedMap<Digest, Written>,
    last_suffix: u64,
}

/// Stands for what an event is about, a group of events, or a text: thousands are remembered, each of which would take a kilobyte. That two of
/// [`MEMORY`] have the same is as likely as one in a trillion, and would add up the counts of two Events.
type Digest = u64;

/// Events that differ in their message only.
#[derive(Hash)]
struct Group<'e> {
    subject: Subject<'e>,
    kind: EventKind,
    reason: &'e str,
}

/// The object an event is about.
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

/// An Event that we wrote earlier, or were about to.
#[derive(Debug)]
struct Written {
    name: String,
    count: i32,
    first: Timestamp,
}

impl EventCorrelator {
    /// Nothing remembered yet.
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

    /// Takes in one event at `now` (time since any fixed start). What is dropped still counts on the next one shown.
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
            // Nothing is on the server under a name that was never sent; the patch that follows finds that out.
            return Decision::Drop;
        }
        let whole = Box::new(self.whole(event, message, name, count, first));
        if count == 1 { Decision::Create(whole) } else { Decision::Patch(whole) }
    }

    /// The message itself, or `Combined` once too many different ones came in a row.
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
        // No part of a name may end in what separates parts, so that a cut there is moved back.
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

/// What changes on the server when an event repeats.
pub(super) fn repeat_patch(event: &Event) -> Value {
    json!({"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message})
}

/// Cuts a message to what an Event may hold.
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
