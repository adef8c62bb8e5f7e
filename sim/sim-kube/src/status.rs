//! The errors of the API in the words of the real server, as `Status` objects. Must not decide when they apply.

use serde_json::{Value, json};

use crate::resource::Resource;

mod field;

pub(crate) use field::FieldError;

/// An answer that is not a success: what becomes a `Status` object.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason, "" where the real server gives none.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// `details` of the Status, if any.
    pub details: Option<Value>,
}

impl ApiError {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        self.details = Some(details(group, kind, name));
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified())).about(
            &resource.group,
            &resource.plural,
            name,
        )
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", resource.qualified())).about(
            &resource.group,
            &resource.plural,
            name,
        )
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(&resource.group, &resource.plural, name)
    }

    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let subject = if name.is_empty() {
            format!("{} is forbidden: {why}", resource.qualified())
        } else {
            format!("{} \"{name}\" is forbidden: {why}", resource.qualified())
        };
        Self::new(403, "Forbidden", subject).about(&resource.group, &resource.plural, name)
    }

    pub(crate) fn terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = Self::forbidden(resource, name, &why);
        error.add_causes(json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]));
        error
    }

    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let kind_and_group = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut words: Vec<String> = Vec::new();
        for error in errors.iter().map(ToString::to_string) {
            if !words.contains(&error) {
                words.push(error);
            }
        }
        let all = match words.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut error = Self::new(422, "Invalid", format!("{kind_and_group} \"{name}\" is invalid: {all}"))
            .about(group, kind, name);
        error.add_causes(errors.iter().map(FieldError::cause).collect());
        error
    }

    pub(crate) fn invalid_object(resource: &Resource, name: &str, errors: &[FieldError]) -> Self {
        // What is stored in the core group is complained about as such.
        let group = if resource.stored_in_core { "" } else { resource.group.as_str() };
        Self::invalid(group, &resource.kind, name, errors)
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let mut error = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        error.details = Some(json!({}));
        error
    }

    /// A path below a group that is served.
    pub(crate) fn no_such_resource() -> Self {
        let mut error = Self::new(404, "NotFound", "the server could not find the requested resource");
        error.details = Some(json!({}));
        error
    }

    /// The options of a request are not ones.
    pub(crate) fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        Self::invalid("meta.k8s.io", kind, "", errors)
    }

    /// A DELETE's precondition does not hold; the real server names the kind here, not the resource.
    pub(crate) fn precondition(resource: &Resource, name: &str, why: &str) -> Self {
        let kind = if resource.group.is_empty() {
            resource.kind.clone()
        } else {
            format!("{}.{}", resource.kind, resource.group)
        };
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {kind} \"{name}\": {why}"))
            .about(&resource.group, &resource.kind, name)
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
                       application/vnd.kubernetes.protobuf, application/json;stream=watch, \
                       application/vnd.kubernetes.protobuf;stream=watch";
        let mut error = Self::new(406, "NotAcceptable", message);
        error.details = Some(json!({}));
        error
    }

    pub(crate) fn too_large_resource_version(wanted: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {wanted}, current: {current}");
        let mut error = Self::new(504, "Timeout", format!("Timeout: {message}"));
        error.details = Some(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }));
        error
    }

    /// The error of a `Status` that another module words.
    pub(crate) fn of_status(status: &Value) -> Self {
        let code = status.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let reason = match crate::object::text(status, &["reason"]) {
            "BadRequest" => "BadRequest",
            "Invalid" => "Invalid",
            "Conflict" => "Conflict",
            "UnsupportedMediaType" => "UnsupportedMediaType",
            _ => "",
        };
        let message = crate::object::text(status, &["message"]).to_owned();
        Self { code: code.unwrap_or(500), reason, message, details: status.get("details").cloned() }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// A fault of the server itself, as the real one words those that it classifies.
    pub(crate) fn internal_error(why: &str) -> Self {
        let mut error = Self::new(500, "InternalError", format!("Internal error occurred: {why}"));
        error.details = Some(json!({"causes": [{"message": why}]}));
        error
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    pub(crate) fn add_causes(&mut self, causes: Value) {
        let details = self.details.get_or_insert_with(|| json!({}));
        crate::object::map_of(details).insert("causes".into(), causes);
    }

    /// The `Status` object of the answer.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": self.message, "code": self.code,
        });
        let map = crate::object::map_of(&mut body);
        if !self.reason.is_empty() {
            map.insert("reason".into(), json!(self.reason));
        }
        if let Some(details) = &self.details {
            map.insert("details".into(), details.clone());
        }
        body
    }
}

/// `details` with the keys that have a value.
pub(crate) fn details(group: &str, kind: &str, name: &str) -> Value {
    let mut details = json!({});
    let map = crate::object::map_of(&mut details);
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            map.insert(key.into(), json!(value));
        }
    }
    details
}

/// The `Status` of a deletion that left nothing behind.
pub(crate) fn deleted(resource: &Resource, name: &str, uid: &str) -> Value {
    let mut details = details(&resource.group, &resource.plural, name);
    crate::object::map_of(&mut details).insert("uid".into(), json!(uid));
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
