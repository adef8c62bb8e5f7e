//! Access without HTTP, as the cluster's admin: no interceptor and no log, the same rules.

use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ListableResource, Metadata};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::SimKube;
use crate::core::Outcome;
use crate::object;
use crate::request::path::route;
use crate::request::{ApiRequest, Route};
use crate::resource::Resource;
use crate::status::ApiError;
use crate::store::ObjectKey;

/// Direct access did not work out.
#[derive(Debug, thiserror::Error)]
pub enum DirectError {
    /// The server refused, as it would have refused a client.
    #[error("the server answered {code}: {message}")]
    Refused {
        /// HTTP status code.
        code: u16,
        /// The Status' message.
        message: String,
    },
    /// The object does not fit the Rust type, or cannot be written as JSON.
    #[error("an object does not fit its type: {0}; check its fields")]
    Shape(#[from] serde_json::Error),
    /// No such resource is served.
    #[error("no resource {api_version} {kind} is served; create its CustomResourceDefinition first")]
    NoResource {
        /// `apiVersion` that was asked for.
        api_version: String,
        /// `kind` that was asked for.
        kind: String,
    },
}

/// Objects of one kind in one namespace ("" for cluster scope).
#[derive(Debug, Clone)]
pub struct Objects<K> {
    server: SimKube,
    namespace: String,
    kind: PhantomData<fn() -> K>,
}

impl SimKube {
    /// The objects of a typed kind; `namespace` is "" for cluster-scoped kinds, and for `list` of all namespaces.
    #[must_use]
    pub fn objects<K>(&self, namespace: &str) -> Objects<K> {
        Objects { server: self.clone(), namespace: namespace.to_owned(), kind: PhantomData }
    }

    /// Sends a request past interceptor and log. Answers status code and body.
    pub fn request(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        self.request_as(method, path, "application/json", body)
    }

    /// As [`request`](Self::request), with a content type for patches.
    pub fn request_as(&self, method: Method, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut request = ApiRequest::internal(method, path.to_owned(), bytes);
        request.query = query.to_owned();
        request.content_type = content_type.to_owned();
        match self.handle(&request) {
            Outcome::Json { code, body, .. } => (code, body),
            Outcome::List(listing) => (200, listing.body()),
            Outcome::Text { code, body } => (code, json!(body)),
            other @ (Outcome::Watch(_) | Outcome::Empty { .. } | Outcome::Review(_)) => {
                (other.code(), Value::Null)
            }
        }
    }

    /// Stores an object as it is, status included, with a uid, times and allocations where it has none. Replaces an
    /// object of the same name.
    ///
    /// # Errors
    /// When its kind is not served.
    pub fn seed(&self, object: Value) -> Result<Value, DirectError> {
        let mut core = self.core();
        let (api_version, kind) = (object::text(&object, &["apiVersion"]), object::text(&object, &["kind"]));
        let Some(resource) = core.registry.find_kind(api_version, kind) else {
            return Err(DirectError::NoResource { api_version: api_version.into(), kind: kind.into() });
        };
        let stored = core
            .seed(&resource, object)
            .map_err(|error| DirectError::Refused { code: error.code, message: error.message })?;
        Ok(crate::verbs::presented(&resource, &stored))
    }

    /// Removes the object at this path at once, whatever its finalizers say. Answers whether it was there.
    pub fn remove(&self, path: &str) -> bool {
        let Route::Resource(target) = route(path) else { return false };
        let mut core = self.core();
        let found = core.registry.find(&target.group, &target.version, &target.plural);
        found.is_some_and(|resource| {
            core.erase(&resource.bucket(), &(target.namespace, target.name)).is_some()
        })
    }

    /// Every stored object of a resource, all namespaces.
    #[must_use]
    pub fn stored(&self, group: &str, plural: &str) -> Vec<Value> {
        let bucket = (group.to_owned(), plural.to_owned());
        self.core().store.objects(&bucket).map(|(_, object)| Value::clone(object)).collect()
    }
}

impl crate::core::Core {
    fn seed(&mut self, resource: &Resource, mut object: Value) -> Result<Arc<Value>, ApiError> {
        let key: ObjectKey = (object::namespace(&object).to_owned(), object::name(&object).to_owned());
        self.check_place(resource, &key)?;
        let bucket = resource.bucket();
        if let Some(old) = self.store.get(&bucket, &key)
            && object::uid(&old) != object::uid(&object)
        {
            // Another object takes the name: who watches sees the old one go.
            self.erase(&bucket, &key);
        }
        let status = object.get("status").cloned();
        crate::strategy::default_seeded(resource, &mut object);
        self.allocate_new(resource, &mut object)?;
        if let Some(status) = status {
            object::map_of(&mut object).insert("status".into(), status);
        }
        let (uid, now) = (self.new_uid(), crate::verbs::seconds(self.now()));
        let meta = object::meta(&mut object);
        meta.entry("uid").or_insert_with(|| json!(uid));
        meta.entry("creationTimestamp").or_insert_with(|| json!(now));
        if resource.has_generation {
            meta.entry("generation").or_insert_with(|| json!(1));
        }
        Ok(self.commit(&bucket, &key, object))
    }

    /// Seeded objects need a name and, where their kind does, a namespace that is there.
    fn check_place(&self, resource: &Resource, (namespace, name): &ObjectKey) -> Result<(), ApiError> {
        if name.is_empty() {
            return Err(ApiError::bad_request("a seeded object needs metadata.name"));
        }
        let namespaces = (String::new(), "namespaces".to_owned());
        let known = self.store.get(&namespaces, &(String::new(), namespace.clone())).is_some();
        if resource.namespaced && !known {
            return Err(ApiError::not_found(&crate::strategy::namespace::resource(), namespace));
        }
        Ok(())
    }
}

impl<K> Objects<K>
where
    K: ListableResource + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned,
{
    fn path(&self, name: &str) -> String {
        let root = if K::GROUP.is_empty() { "/api".to_owned() } else { format!("/apis/{}", K::GROUP) };
        let place =
            if self.namespace.is_empty() { String::new() } else { format!("/namespaces/{}", self.namespace) };
        let tail = if name.is_empty() { String::new() } else { format!("/{name}") };
        format!("{root}/{}{place}/{}{tail}", K::VERSION, K::URL_PATH_SEGMENT)
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> Result<Value, DirectError> {
        match self.server.request(method, path, body) {
            (200..300, body) => Ok(body),
            (code, body) => {
                let message = match object::text(&body, &["message"]) {
                    "" => body.to_string(),
                    message => message.to_owned(),
                };
                Err(DirectError::Refused { code, message })
            }
        }
    }

    /// The object, or `None`.
    ///
    /// # Errors
    /// When it does not fit its type.
    pub fn get(&self, name: &str) -> Result<Option<K>, DirectError> {
        match self.send(Method::GET, &self.path(name), &Value::Null) {
            Ok(body) => Ok(Some(serde_json::from_value(body)?)),
            Err(DirectError::Refused { code: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects.
    ///
    /// # Errors
    /// When one does not fit its type.
    pub fn list(&self) -> Result<Vec<K>, DirectError> {
        let body = self.send(Method::GET, &self.path(""), &Value::Null)?;
        let mut items = object::list(&body, &["items"]).to_vec();
        for item in &mut items {
            let map = object::map_of(item);
            map.insert("apiVersion".into(), json!(K::API_VERSION));
            map.insert("kind".into(), json!(K::KIND));
        }
        Ok(items.into_iter().map(serde_json::from_value).collect::<Result<_, _>>()?)
    }

    /// Creates an object as a user would.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn create(&self, object: &K) -> Result<K, DirectError> {
        let body = self.send(Method::POST, &self.path(""), &serde_json::to_value(object)?)?;
        Ok(serde_json::from_value(body)?)
    }

    /// Edits an object as a user would; the status is written too where it changed.
    ///
    /// # Errors
    /// When it is missing or the server refuses.
    pub fn edit(&self, name: &str, change: impl FnOnce(&mut K)) -> Result<K, DirectError> {
        let path = self.path(name);
        let before = self.send(Method::GET, &path, &Value::Null)?;
        let mut typed: K = serde_json::from_value(before.clone())?;
        change(&mut typed);
        let wanted = serde_json::to_value(&typed)?;
        let mut after = self.send(Method::PUT, &path, &wanted)?;
        if wanted.get("status") != before.get("status") && wanted.get("status").is_some() {
            let mut status = after.clone();
            object::copy_key(&wanted, &mut status, "status");
            after = match self.send(Method::PUT, &format!("{path}/status"), &status) {
                // Kinds without the subresource took the status with the rest.
                Err(DirectError::Refused { code: 404, .. }) => after,
                other => other?,
            };
        }
        Ok(serde_json::from_value(after)?)
    }

    /// Deletes an object as a user would.
    ///
    /// # Errors
    /// When it is missing or the server refuses.
    pub fn delete(&self, name: &str) -> Result<(), DirectError> {
        self.send(Method::DELETE, &self.path(name), &Value::Null).map(drop)
    }
}
