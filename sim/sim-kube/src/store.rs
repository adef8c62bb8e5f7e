//! The objects, their versions and a bounded memory of changes. Knows no kinds, no rules and no HTTP.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::object;
use crate::resource::BucketKey;

#[cfg(test)]
mod tests;

/// Namespace ("" for cluster scope) and name.
pub(crate) type ObjectKey = (String, String);
/// Objects by [`path`].
type Objects = BTreeMap<String, (ObjectKey, Arc<Value>)>;

/// One change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    /// Before; `None` for a creation.
    pub(crate) old: Option<Arc<Value>>,
    /// After, or the last state with the deletion's version.
    pub(crate) new: Arc<Value>,
    pub(crate) deleted: bool,
    /// About how many bytes `new` has as JSON.
    bytes: usize,
}

#[derive(Debug, Default)]
struct Bucket {
    objects: Objects,
    history: VecDeque<Change>,
    /// What the history weighs.
    bytes: usize,
    /// Everything up to this version may be forgotten.
    compacted: u64,
    changed: Arc<Notify>,
}

/// All objects of all resources under one version counter.
#[derive(Debug, Default)]
pub(crate) struct Store {
    version: u64,
    history_limit: usize,
    history_bytes: usize,
    buckets: BTreeMap<BucketKey, Bucket>,
    dependents: BTreeMap<String, BTreeSet<(BucketKey, ObjectKey)>>,
    uids: BTreeMap<String, (BucketKey, ObjectKey)>,
}

/// The asked version is no longer remembered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Compacted {
    /// The oldest version that can still be asked for.
    pub(crate) oldest: u64,
}

impl Store {
    pub(crate) fn new(history_limit: usize, history_bytes: usize) -> Self {
        Self { version: 1, history_limit, history_bytes, ..Self::default() }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, bucket: &BucketKey, key: &ObjectKey) -> Option<Arc<Value>> {
        self.buckets.get(bucket)?.objects.get(&path(key)).map(|(_, object)| Arc::clone(object))
    }

    /// All objects, in etcd's order.
    pub(crate) fn objects(&self, bucket: &BucketKey) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        self.inside(bucket, "")
    }

    /// The objects of a namespace; "" is all. Looks at no others.
    pub(crate) fn inside(
        &self,
        bucket: &BucketKey,
        namespace: &str,
    ) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        let span = Span::new(namespace, None);
        let found = self.buckets.get(bucket).map(|found| found.objects.range::<str, _>(span.bounds()));
        found.into_iter().flatten().map(|(_, (key, object))| (key, object))
    }

    pub(crate) fn bucket_keys(&self) -> Vec<BucketKey> {
        self.buckets.keys().cloned().collect()
    }

    /// Where the object with this uid is.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<&(BucketKey, ObjectKey)> {
        self.uids.get(uid)
    }

    /// Objects that name this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(BucketKey, ObjectKey)> {
        self.dependents.get(uid).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// Stores an object under the next version and answers what was stored.
    pub(crate) fn put(&mut self, bucket: &BucketKey, key: &ObjectKey, mut object: Value) -> Arc<Value> {
        self.version += 1;
        stamp(&mut object, self.version);
        let new = Arc::new(object);
        let entry = (key.clone(), Arc::clone(&new));
        let objects = &mut self.buckets.entry(bucket.clone()).or_default().objects;
        let old = objects.insert(path(key), entry).map(|(_, old)| old);
        self.index(bucket, key, old.as_deref(), Some(&new));
        let bytes = weight(&new);
        let change = Change { version: self.version, old, new: Arc::clone(&new), deleted: false, bytes };
        self.record(bucket, change);
        new
    }

    /// Removes an object and answers its last state, with the version of the removal.
    pub(crate) fn remove(&mut self, bucket: &BucketKey, key: &ObjectKey) -> Option<Arc<Value>> {
        let (_, old) = self.buckets.get_mut(bucket)?.objects.remove(&path(key))?;
        self.version += 1;
        let mut last = Value::clone(&old);
        stamp(&mut last, self.version);
        let new = Arc::new(last);
        self.index(bucket, key, Some(&old), None);
        let bytes = weight(&new);
        let change =
            Change { version: self.version, old: Some(old), new: Arc::clone(&new), deleted: true, bytes };
        self.record(bucket, change);
        Some(new)
    }

    fn record(&mut self, bucket: &BucketKey, change: Change) {
        let (limit, byte_limit) = (self.history_limit, self.history_bytes);
        let bucket = self.buckets.entry(bucket.clone()).or_default();
        bucket.bytes += change.bytes;
        bucket.history.push_back(change);
        while bucket.history.len() > limit || bucket.bytes > byte_limit {
            let Some(forgotten) = bucket.history.pop_front() else { break };
            bucket.bytes -= forgotten.bytes;
            bucket.compacted = forgotten.version;
        }
        bucket.changed.notify_waiters();
    }

    fn index(&mut self, bucket: &BucketKey, key: &ObjectKey, old: Option<&Value>, new: Option<&Value>) {
        let place = (bucket.clone(), key.clone());
        if let Some(old) = old {
            self.uids.remove(object::uid(old));
            for owner in owner_uids(old) {
                if let Some(places) = self.dependents.get_mut(&owner) {
                    places.remove(&place);
                    if places.is_empty() {
                        self.dependents.remove(&owner);
                    }
                }
            }
        }
        if let Some(new) = new {
            self.uids.insert(object::uid(new).to_owned(), place.clone());
            for owner in owner_uids(new) {
                self.dependents.entry(owner).or_default().insert(place.clone());
            }
        }
    }

    /// Forgets all changes so far, as etcd's compaction: who is behind gets 410, who is up to date goes on.
    pub(crate) fn compact(&mut self) {
        for bucket in self.buckets.values_mut() {
            if let Some(last) = bucket.history.back() {
                bucket.compacted = last.version;
            }
            bucket.history.clear();
            bucket.bytes = 0;
        }
    }

    /// Makes every version known so far too old, so that running watches and resumed ones get 410.
    pub(crate) fn expire(&mut self) {
        self.version += 1;
        for bucket in self.buckets.values_mut() {
            bucket.history.clear();
            bucket.bytes = 0;
            bucket.compacted = self.version;
            bucket.changed.notify_waiters();
        }
    }

    /// Wakes every watch.
    pub(crate) fn wake_all(&self) {
        self.buckets.values().for_each(|bucket| bucket.changed.notify_waiters());
    }

    /// What wakes the watches of a bucket.
    pub(crate) fn notifier(&mut self, bucket: &BucketKey) -> Arc<Notify> {
        Arc::clone(&self.buckets.entry(bucket.clone()).or_default().changed)
    }

    /// The changes after a version.
    pub(crate) fn changes_after(&self, bucket: &BucketKey, version: u64) -> Result<Vec<Change>, Compacted> {
        let Some(bucket) = self.buckets.get(bucket) else { return Ok(Vec::new()) };
        if version < bucket.compacted {
            return Err(Compacted { oldest: bucket.compacted });
        }
        let first = bucket.history.partition_point(|change| change.version <= version);
        Ok(bucket.history.range(first..).cloned().collect())
    }

    /// A part of the bucket as it was at a version: the namespace ("" for all) after a key.
    pub(crate) fn view_at(
        &self,
        bucket: &BucketKey,
        version: u64,
        namespace: &str,
        after: Option<&ObjectKey>,
    ) -> Result<View<'_>, Compacted> {
        let mut undone = BTreeMap::new();
        for change in self.changes_after(bucket, version)?.into_iter().rev() {
            let key = (object::namespace(&change.new).to_owned(), object::name(&change.new).to_owned());
            undone.insert(path(&key), change.old.map(|old| (key, old)));
        }
        let objects = self.buckets.get(bucket).map(|found| &found.objects);
        Ok(View { objects, undone, span: Span::new(namespace, after) })
    }
}

/// A part of a bucket at one moment.
#[derive(Debug)]
pub(crate) struct View<'a> {
    objects: Option<&'a Objects>,
    /// What was otherwise then; `None` was not there.
    undone: BTreeMap<String, Option<(ObjectKey, Arc<Value>)>>,
    span: Span,
}

impl View<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        let kept = self.objects.map(|objects| objects.range::<str, _>(self.span.bounds()));
        let mut kept =
            kept.into_iter().flatten().filter(|(path, _)| !self.undone.contains_key(*path)).peekable();
        let past = self.undone.range::<str, _>(self.span.bounds());
        let mut past = past.filter_map(|(path, entry)| Some((path, entry.as_ref()?))).peekable();
        std::iter::from_fn(move || {
            let past_first = match (kept.peek(), past.peek()) {
                (Some((one, _)), Some((other, _))) => other < one,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            let next = if past_first { past.next() } else { kept.next() };
            next.map(|(_, (key, object))| (key, object))
        })
    }
}

/// Where an object is in the order of its bucket: as etcd's keys, byte by byte.
fn path((namespace, name): &ObjectKey) -> String {
    format!("{namespace}/{name}")
}

/// A stretch of paths.
#[derive(Debug)]
struct Span {
    from: Bound<String>,
    to: Bound<String>,
}

impl Span {
    fn new(namespace: &str, after: Option<&ObjectKey>) -> Self {
        let (mut from, mut to) = (Bound::Unbounded, Bound::Unbounded);
        if !namespace.is_empty() {
            from = Bound::Included(format!("{namespace}/"));
            to = Bound::Excluded(format!("{namespace}0")); // the sign after the slash
        }
        let Some(after) = after.map(path) else { return Self { from, to } };
        match &to {
            // Nothing of the namespace is left.
            Bound::Excluded(end) if after >= *end => from = Bound::Included(end.clone()),
            _ if matches!(&from, Bound::Included(start) if after < *start) => {}
            _ => from = Bound::Excluded(after),
        }
        Self { from, to }
    }

    fn bounds(&self) -> (Bound<&str>, Bound<&str>) {
        (self.from.as_ref().map(String::as_str), self.to.as_ref().map(String::as_str))
    }
}

/// About how many bytes a value has as JSON.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => 2 + items.iter().map(weight).sum::<usize>(),
        Value::Object(map) => 2 + map.iter().map(|(key, value)| key.len() + 4 + weight(value)).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 6,
    }
}

fn stamp(object: &mut Value, version: u64) {
    object::meta(object).insert("resourceVersion".into(), json!(version.to_string()));
}

/// The uids of an object's owners.
pub(crate) fn owner_uids(value: &Value) -> Vec<String> {
    object::list(value, &["metadata", "ownerReferences"])
        .iter()
        .map(|owner| object::text(owner, &["uid"]).to_owned())
        .collect()
}
