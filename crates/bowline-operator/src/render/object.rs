//! One object of a cluster, as it is going to be applied: who it is, and its JSON. Made of typed values; applies nothing.

use std::collections::BTreeMap;
use std::fmt;

use bowline_kube::objects::PodSpec;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};
use kube::core::ObjectMeta;
use serde::Serialize;
use serde_json::{Value, json};

/// An object that shall exist.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    /// As in manifests: `apps/v1`, or `v1` for the core.
    pub api_version: String,
    /// As in manifests.
    pub kind: String,
    /// Where it is; `None` for what belongs to the cluster.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// All of it, `apiVersion`, `kind` and `metadata` included.
    pub body: Value,
}

/// An object that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// It has no JSON.
    #[error("{kind} cannot be written as JSON: {error}")]
    Json {
        /// What.
        kind: String,
        /// Why.
        error: serde_json::Error,
    },
    /// It does not say who it is.
    #[error("{kind} without {missing}: an object that is applied needs one")]
    Nameless {
        /// What.
        kind: String,
        /// What is missing.
        missing: &'static str,
    },
}

impl Object {
    /// An object in a namespace.
    ///
    /// # Errors
    ///
    /// If it has no name or no namespace, or no JSON.
    pub fn namespaced<T>(value: &T) -> Result<Self, ObjectError>
    where
        T: Resource<Scope = NamespaceResourceScope> + Metadata<Ty = ObjectMeta> + Serialize,
    {
        let namespace = value.metadata().namespace.clone().ok_or_else(|| nameless::<T>("a namespace"))?;
        Self::make(value, Some(namespace))
    }

    /// An object of the cluster.
    ///
    /// # Errors
    ///
    /// If it has no name, or no JSON.
    pub fn cluster<T>(value: &T) -> Result<Self, ObjectError>
    where
        T: Resource<Scope = ClusterResourceScope> + Metadata<Ty = ObjectMeta> + Serialize,
    {
        Self::make(value, None)
    }

    /// An object of a kind that is not built in.
    ///
    /// # Errors
    ///
    /// If it does not say what it is, or has no name.
    pub fn untyped(body: Value) -> Result<Self, ObjectError> {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let missing = |missing| ObjectError::Nameless { kind: text("/kind").unwrap_or_default(), missing };
        Ok(Self {
            api_version: text("/apiVersion").ok_or_else(|| missing("an apiVersion"))?,
            kind: text("/kind").ok_or_else(|| missing("a kind"))?,
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").ok_or_else(|| missing("a name"))?,
            body,
        })
    }

    fn make<T>(value: &T, namespace: Option<String>) -> Result<Self, ObjectError>
    where
        T: Resource + Metadata<Ty = ObjectMeta> + Serialize,
    {
        let name = value.metadata().name.clone().ok_or_else(|| nameless::<T>("a name"))?;
        let body = serde_json::to_value(value)
            .map_err(|error| ObjectError::Json { kind: T::KIND.to_owned(), error })?;
        Ok(Self { api_version: T::API_VERSION.to_owned(), kind: T::KIND.to_owned(), namespace, name, body })
    }

    /// The API group; empty for the core.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The version of its API.
    #[must_use]
    pub fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(&self.api_version, |(_, version)| version)
    }

    /// The kind with group and version, as clients for dynamic objects take it.
    #[must_use]
    pub fn gvk(&self) -> kube::core::GroupVersionKind {
        kube::core::GroupVersionKind::gvk(self.group(), self.version(), &self.kind)
    }

    /// The pods of a workload, as far as they are read; `None` for what has none.
    #[must_use]
    pub fn pod_spec(&self) -> Option<PodSpec> {
        let spec = self.body.pointer("/spec/template/spec")?;
        serde_json::from_value(spec.clone()).ok()
    }

    /// Annotates the pods of a workload; other objects stay as they are.
    pub fn annotate_pods(&mut self, key: &str, value: &str) {
        let Some(template) = self.body.pointer_mut("/spec/template").and_then(Value::as_object_mut) else {
            return;
        };
        let metadata = template.entry("metadata").or_insert_with(|| json!({}));
        let Some(metadata) = metadata.as_object_mut() else { return };
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(key.to_owned(), Value::String(value.to_owned()));
        }
    }

    /// A label's value.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.body.get("metadata")?.get("labels")?.get(key)?.as_str()
    }

    /// Adds labels; those that are there already get the new value.
    pub fn add_labels(&mut self, labels: &BTreeMap<String, String>) {
        let Some(metadata) = self.body.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        let there = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Some(there) = there.as_object_mut() {
            there.extend(labels.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))));
        }
    }
}

/// Who it is; what is in it may be a secret.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({self})")
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

fn nameless<T: Resource>(missing: &'static str) -> ObjectError {
    ObjectError::Nameless { kind: T::KIND.to_owned(), missing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};

    fn named<T: serde::de::DeserializeOwned>(metadata: &Value) -> T {
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn an_object_says_who_it_is_and_has_all_of_its_json() {
        let account: ServiceAccount = named(&json!({ "name": "a", "namespace": "n" }));
        let object = Object::namespaced(&account).unwrap();
        assert_eq!(object.to_string(), "ServiceAccount n/a");
        assert_eq!((object.group(), object.version()), ("", "v1"));
        assert_eq!(object.body["apiVersion"], "v1");
        assert_eq!(object.body["kind"], "ServiceAccount");
        let object = Object::cluster(&named::<Namespace>(&json!({ "name": "n" }))).unwrap();
        assert_eq!(object.to_string(), "Namespace n");
        let body = json!({ "apiVersion": "g/v1", "kind": "K", "metadata": { "name": "x" } });
        let mut object = Object::untyped(body).unwrap();
        assert_eq!((object.group(), object.version(), object.namespace.as_deref()), ("g", "v1", None));
        object.add_labels(&BTreeMap::from([("k".to_owned(), "v".to_owned())]));
        assert_eq!(object.label("k"), Some("v"));
    }

    #[test]
    fn an_object_that_nobody_could_find_again_is_refused() {
        let error = Object::namespaced(&named::<ServiceAccount>(&json!({ "name": "a" }))).unwrap_err();
        assert!(error.to_string().contains("a namespace"), "{error}");
        assert!(Object::cluster(&Namespace::default()).is_err());
        assert!(Object::untyped(json!({ "apiVersion": "v1", "kind": "K", "metadata": {} })).is_err());
        assert!(Object::untyped(json!({ "kind": "K" })).is_err());
    }
}
