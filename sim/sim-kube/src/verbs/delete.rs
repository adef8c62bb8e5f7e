//! DELETE of one object or of many. What follows from a deletion elsewhere is in `controllers`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::decode;
use super::list::Filter;
use super::seconds;
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::resource::Resource;
use crate::status::{self, ApiError};
use crate::strategy;

/// What becomes of dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// DeleteOptions of body and query.
struct DeleteOptions {
    uid: Option<String>,
    resource_version: Option<String>,
    propagation: Option<Propagation>,
    dry_run: bool,
}

impl Core {
    pub(crate) fn delete(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        let options = delete_options(call)?;
        let old = self.stored(call)?;
        let (left, gone) = self.delete_object(&call.resource, &old, &options)?;
        if gone && !call.resource.returns_deleted {
            let body = status::deleted(&call.resource, object::name(&old), object::uid(&old));
            return Ok(Outcome::json(200, body));
        }
        Ok(self.answer(call, 200, &left))
    }

    pub(crate) fn delete_collection(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        if call.resource.namespaced && call.path.namespace.is_empty() {
            return Err(ApiError::method_not_allowed());
        }
        let options = delete_options(call)?;
        let filter = Filter::of(call)?;
        let bucket = call.resource.bucket();
        let chosen: Vec<Arc<Value>> = self
            .store
            .inside(&bucket, &call.path.namespace)
            .filter(|(key, object)| filter.matches(&key.0, object))
            .map(|(_, object)| Arc::clone(object))
            .collect();
        for old in &chosen {
            self.delete_object(&call.resource, old, &options)?;
        }
        let meta = json!({"resourceVersion": self.store.version().to_string()});
        Ok(self.listed(call, chosen, meta))
    }

    /// Removes the object, or marks it when something holds it. Answers what is left and whether it is gone.
    fn delete_object(
        &mut self,
        resource: &Resource,
        old: &Arc<Value>,
        options: &DeleteOptions,
    ) -> Result<(Arc<Value>, bool), ApiError> {
        check_preconditions(resource, old, options)?;
        strategy::check_delete(resource, old)?;
        let mut finalizers = object::finalizers(old);
        if let Some(propagation) = options.propagation {
            finalizers.retain(|finalizer| finalizer != "orphan" && finalizer != "foregroundDeletion");
            match propagation {
                Propagation::Foreground => finalizers.push("foregroundDeletion".into()),
                Propagation::Orphan => finalizers.push("orphan".into()),
                Propagation::Background => {}
            }
        }
        if strategy::crd::is_definition(resource) && !options.dry_run && !self.empty_definition(old) {
            finalizers.push(strategy::crd::CLEANUP.to_owned());
            finalizers.dedup();
        }
        let mut marked = Value::clone(old);
        object::set_finalizers(&mut marked, &finalizers);
        let key = (object::namespace(old).to_owned(), object::name(old).to_owned());
        let bucket = resource.bucket();
        if !strategy::is_held(resource, &marked) {
            if !options.dry_run {
                let last = self.erase(&bucket, &key);
                return Ok((last.unwrap_or_else(|| Arc::clone(old)), true));
            }
            return Ok((Arc::clone(old), true));
        }
        let now = seconds(self.now());
        mark(resource, &mut marked, &now);
        if options.dry_run || marked == **old {
            return Ok((Arc::new(marked), false));
        }
        Ok((self.commit(&bucket, &key, marked), false))
    }

    /// Deletes in the background, as the server's own controllers do.
    pub(crate) fn delete_quietly(&mut self, resource: &Resource, old: &Arc<Value>) {
        let options = DeleteOptions { uid: None, resource_version: None, propagation: None, dry_run: false };
        // Nothing that the store has can fail here without preconditions except protected namespaces,
        // which are not dependents of anything.
        drop(self.delete_object(resource, old, &options));
    }
}

/// Notes that the object is to go as soon as nothing holds it.
fn mark(resource: &Resource, object: &mut Value, now: &str) {
    if object::is_deleting(object) {
        return;
    }
    let meta = object::meta(object);
    meta.insert("deletionTimestamp".into(), json!(now));
    if strategy::crd::is_definition(resource) {
        strategy::crd::end(object, now);
        return;
    }
    // A namespace's deletion is its own and has no grace period.
    if !resource.is("", "namespaces") {
        meta.insert("deletionGracePeriodSeconds".into(), json!(0));
    }
    if let Some(generation) = meta.get("generation").and_then(Value::as_i64) {
        meta.insert("generation".into(), json!(generation + 1));
    }
    if resource.is("", "namespaces") {
        object::map_at(object, &["status"]).insert("phase".into(), json!("Terminating"));
    }
}

fn check_preconditions(resource: &Resource, old: &Value, options: &DeleteOptions) -> Result<(), ApiError> {
    let name = object::name(old);
    let has = object::uid(old);
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != has) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({has}). The object might have been \
             deleted and then recreated"
        );
        return Err(ApiError::precondition(resource, name, &why));
    }
    let has = object::text(old, &["metadata", "resourceVersion"]);
    if let Some(wanted) = options.resource_version.as_deref().filter(|wanted| *wanted != has) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({has}). The \
             object might have been modified"
        );
        return Err(ApiError::precondition(resource, name, &why));
    }
    Ok(())
}

fn delete_options(call: &Call<'_>) -> Result<DeleteOptions, ApiError> {
    let body = if call.request.body.is_empty() { json!({}) } else { decode::document(call)? };
    let kind = object::text(&body, &["kind"]);
    if !kind.is_empty() && kind != "DeleteOptions" {
        let version = object::text(&body, &["apiVersion"]);
        return Err(ApiError::bad_request(format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    let owned = |path: &[&str]| object::at(&body, path).and_then(Value::as_str).map(str::to_owned);
    let policy = match object::text(&body, &["propagationPolicy"]) {
        "" => call.options.propagation_policy.as_str(),
        policy => policy,
    };
    let orphan =
        object::at(&body, &["orphanDependents"]).and_then(Value::as_bool).or(call.options.orphan_dependents);
    if let (false, Some(_)) = (policy.is_empty(), orphan) {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        let error = status::FieldError::invalid("propagationPolicy", policy, why);
        return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
    }
    let propagation = match (policy, orphan) {
        ("Foreground", _) => Some(Propagation::Foreground),
        ("Orphan", _) | ("", Some(true)) => Some(Propagation::Orphan),
        ("Background", _) | ("", Some(false)) => Some(Propagation::Background),
        ("", None) => None,
        (other, _) => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            let error = status::FieldError::not_supported("propagationPolicy", other, &known);
            return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
        }
    };
    Ok(DeleteOptions {
        uid: owned(&["preconditions", "uid"]),
        resource_version: owned(&["preconditions", "resourceVersion"]),
        propagation,
        dry_run: call.dry_run() || !object::list(&body, &["dryRun"]).is_empty(),
    })
}
