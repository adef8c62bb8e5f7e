//! What kube-controller-manager does after a write, done at once: garbage collection, the end of namespaces, and
//! serving what CustomResourceDefinitions define. Must not know requests.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::core::Core;
use crate::object;
use crate::resource::{BucketKey, from_crd};
use crate::store::{ObjectKey, owner_uids};
use crate::strategy::{self, crd};

impl Core {
    /// Stores an object and does what follows from it.
    pub(crate) fn commit(&mut self, bucket: &BucketKey, key: &ObjectKey, object: Value) -> Arc<Value> {
        let old = self.store.get(bucket, key);
        let stored = self.store.put(bucket, key, object);
        self.allocations.note(bucket, old.as_deref(), Some(&stored));
        if is_crd(bucket) {
            return self.establish(bucket, key, &stored);
        }
        if is_event(bucket) {
            let version = object::resource_version(&stored);
            self.young_events.push_back((self.now(), version, key.clone()));
        }
        self.settle(bucket, key, &stored);
        stored
    }

    /// Forgets Events that nobody has changed for their time to live.
    pub(crate) fn expire_events(&mut self) {
        let bucket = (String::new(), "events".to_owned());
        let oldest = self.now().checked_sub(self.config.event_ttl).unwrap_or(jiff::Timestamp::MIN);
        while self.young_events.front().is_some_and(|(changed, _, _)| *changed <= oldest) {
            let Some((_, version, key)) = self.young_events.pop_front() else { break };
            let same = |event: Arc<Value>| object::resource_version(&event) == version;
            if self.store.get(&bucket, &key).is_some_and(same) {
                self.erase(&bucket, &key);
            }
        }
    }

    /// Removes an object and does what follows from it.
    pub(crate) fn erase(&mut self, bucket: &BucketKey, key: &ObjectKey) -> Option<Arc<Value>> {
        let last = self.store.remove(bucket, key)?;
        self.allocations.note(bucket, Some(&last), None);
        if is_crd(bucket) {
            let (group, plural) = crd::bucket(&last);
            self.registry.remove(&group, &plural);
        }
        if self.config.collect_garbage {
            self.collect_dependents(object::uid(&last));
            // The last dependent of an owner that waits for it, or of a namespace that ends.
            for owner in owner_uids(&last) {
                self.revisit_owner(&owner);
            }
        }
        self.finish_definition(bucket);
        if !key.0.is_empty() {
            self.finish_namespace(&key.0);
        }
        Some(last)
    }

    fn settle(&mut self, bucket: &BucketKey, key: &ObjectKey, stored: &Arc<Value>) {
        if is_namespace(bucket) && object::is_deleting(stored) {
            self.empty_namespace(&key.1);
            self.finish_namespace(&key.1);
            return;
        }
        if !self.config.collect_garbage {
            return;
        }
        if object::is_deleting(stored) {
            self.work_on_deleting_owner(bucket, key, stored);
        } else if !owner_uids(stored).is_empty() {
            self.collect_if_orphaned(bucket, key);
        }
    }

    /// Foreground and orphan deletion: deals with dependents, then lets the owner go.
    fn work_on_deleting_owner(&mut self, bucket: &BucketKey, key: &ObjectKey, owner: &Arc<Value>) {
        let uid = object::uid(owner).to_owned();
        let finalizers = object::finalizers(owner);
        if finalizers.iter().any(|finalizer| finalizer == "orphan") {
            for (bucket, key) in self.store.dependents(&uid) {
                self.drop_owner(&bucket, &key, &uid);
            }
            self.remove_finalizer(bucket, key, "orphan");
        } else if finalizers.iter().any(|finalizer| finalizer == "foregroundDeletion") {
            for (bucket, key) in self.store.dependents(&uid) {
                self.delete_dependent(&bucket, &key);
            }
            self.revisit_owner(&uid);
        }
    }

    /// Ends a foreground deletion once no dependent blocks it.
    fn revisit_owner(&mut self, uid: &str) {
        let Some((bucket, key)) = self.store.by_uid(uid).cloned() else { return };
        let Some(owner) = self.store.get(&bucket, &key) else { return };
        let waits = object::is_deleting(&owner)
            && object::finalizers(&owner).iter().any(|finalizer| finalizer == "foregroundDeletion");
        if waits && !self.store.dependents(uid).iter().any(|place| self.blocks(place, uid)) {
            self.remove_finalizer(&bucket, &key, "foregroundDeletion");
        }
    }

    fn blocks(&self, (bucket, key): &(BucketKey, ObjectKey), owner: &str) -> bool {
        let Some(dependent) = self.store.get(bucket, key) else { return false };
        object::list(&dependent, &["metadata", "ownerReferences"]).iter().any(|reference| {
            object::text(reference, &["uid"]) == owner
                && object::at(reference, &["blockOwnerDeletion"]) == Some(&json!(true))
        })
    }

    fn collect_dependents(&mut self, uid: &str) {
        for (bucket, key) in self.store.dependents(uid) {
            self.collect_if_orphaned(&bucket, &key);
        }
    }

    /// Deletes an object all of whose owners are gone; forgets the owners that are gone otherwise.
    fn collect_if_orphaned(&mut self, bucket: &BucketKey, key: &ObjectKey) {
        let Some(dependent) = self.store.get(bucket, key) else { return };
        let owners = owner_uids(&dependent);
        let gone: Vec<&String> = owners.iter().filter(|uid| self.store.by_uid(uid).is_none()).collect();
        if gone.len() == owners.len() {
            self.delete_dependent(bucket, key);
        } else {
            for uid in gone.into_iter().cloned().collect::<Vec<_>>() {
                self.drop_owner(bucket, key, &uid);
            }
        }
    }

    fn delete_dependent(&mut self, bucket: &BucketKey, key: &ObjectKey) {
        let found = self.store.get(bucket, key);
        if let (Some(object), Some(resource)) = (found, self.registry.of_bucket(bucket)) {
            self.delete_quietly(&resource, &object);
        }
    }

    fn drop_owner(&mut self, bucket: &BucketKey, key: &ObjectKey, uid: &str) {
        let Some(dependent) = self.store.get(bucket, key) else { return };
        let mut changed = Value::clone(&dependent);
        let mut owners = object::list(&changed, &["metadata", "ownerReferences"]).to_vec();
        owners.retain(|owner| object::text(owner, &["uid"]) != uid);
        if owners.is_empty() {
            object::meta(&mut changed).remove("ownerReferences");
        } else {
            object::meta(&mut changed).insert("ownerReferences".into(), json!(owners));
        }
        self.commit(bucket, key, changed);
    }

    fn remove_finalizer(&mut self, bucket: &BucketKey, key: &ObjectKey, finalizer: &str) {
        let Some(found) = self.store.get(bucket, key) else { return };
        let mut finalizers = object::finalizers(&found);
        finalizers.retain(|name| name != finalizer);
        let mut changed = Value::clone(&found);
        object::set_finalizers(&mut changed, &finalizers);
        let Some(resource) = self.registry.of_bucket(bucket) else { return };
        if strategy::is_held(&resource, &changed) {
            self.commit(bucket, key, changed);
        } else {
            self.erase(bucket, key);
        }
    }

    /// Deletes everything inside of a namespace.
    fn empty_namespace(&mut self, namespace: &str) {
        if !self.config.finish_namespaces {
            return;
        }
        for bucket in self.store.bucket_keys() {
            let inside: Vec<ObjectKey> = self
                .store
                .inside(&bucket, namespace)
                .filter(|(key, object)| key.0 == namespace && !object::is_deleting(object))
                .map(|(key, _)| key.clone())
                .collect();
            inside.iter().for_each(|key| self.delete_dependent(&bucket, key));
        }
    }

    /// Lets a terminating namespace go once it is empty.
    fn finish_namespace(&mut self, namespace: &str) {
        if !self.config.finish_namespaces {
            return;
        }
        let bucket = (String::new(), "namespaces".to_owned());
        let key = (String::new(), namespace.to_owned());
        let Some(found) = self.store.get(&bucket, &key) else { return };
        if !object::is_deleting(&found) {
            return;
        }
        let is_empty = self
            .store
            .bucket_keys()
            .iter()
            .all(|bucket| self.store.inside(bucket, namespace).next().is_none());
        if !is_empty {
            return;
        }
        let mut changed = Value::clone(&found);
        object::map_at(&mut changed, &["spec"]).remove("finalizers");
        if object::finalizers(&changed).is_empty() {
            self.erase(&bucket, &key);
        } else if changed != *found {
            self.store.put(&bucket, &key, changed);
        }
    }

    /// Serves what a definition defines, and says so in its status.
    fn establish(&mut self, bucket: &BucketKey, key: &ObjectKey, stored: &Arc<Value>) -> Arc<Value> {
        let (group, plural) =
            (object::text(stored, &["spec", "group"]), object::text(stored, &["spec", "names", "plural"]));
        self.registry.remove(group, plural);
        from_crd(stored).into_iter().for_each(|resource| self.registry.add(resource));
        if object::is_deleting(stored) {
            self.settle(bucket, key, stored);
            return Arc::clone(stored);
        }
        match crd::established(stored, self.now()) {
            Some(object) => self.store.put(bucket, key, object),
            None => Arc::clone(stored),
        }
    }

    /// Deletes a definition's objects and answers whether all are gone: finalizers hold them.
    pub(crate) fn empty_definition(&mut self, crd: &Value) -> bool {
        let bucket = crd::bucket(crd);
        let keys: Vec<ObjectKey> = self.store.objects(&bucket).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.delete_dependent(&bucket, key));
        self.store.objects(&bucket).next().is_none()
    }

    /// Lets a definition go that waited for its last object.
    fn finish_definition(&mut self, bucket: &BucketKey) {
        if bucket.0.is_empty() || self.store.objects(bucket).next().is_some() {
            return;
        }
        let definitions = ("apiextensions.k8s.io".to_owned(), "customresourcedefinitions".to_owned());
        let key = (String::new(), format!("{}.{}", bucket.1, bucket.0));
        let waits = self.store.get(&definitions, &key).is_some_and(|found| object::is_deleting(&found));
        if waits {
            self.remove_finalizer(&definitions, &key, crd::CLEANUP);
        }
    }
}

fn is_crd(bucket: &BucketKey) -> bool {
    bucket.0 == "apiextensions.k8s.io" && bucket.1 == "customresourcedefinitions"
}

fn is_event(bucket: &BucketKey) -> bool {
    bucket.0.is_empty() && bucket.1 == "events"
}

fn is_namespace(bucket: &BucketKey) -> bool {
    bucket.0.is_empty() && bucket.1 == "namespaces"
}
