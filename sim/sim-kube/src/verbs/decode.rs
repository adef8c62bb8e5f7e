//! From a request's body to an object of the right kind. Must not look at what is stored.

use serde_json::{Value, json};

use crate::core::Call;
use crate::object;
use crate::patch::PatchKind;
use crate::protobuf::{self, ProtobufError};
use crate::resource::Resource;
use crate::status::{ApiError, FieldError};
use crate::strategy::event;
use crate::typed;

const ACCEPTED: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The object in the body, checked against what the path expects, in the form in which it is stored.
pub(crate) fn object(call: &Call<'_>) -> Result<(Value, Vec<String>), ApiError> {
    let value = document(call).map_err(|error| match error.code {
        400 => unrecognized(&call.resource, &call.request.body, &error.message),
        _ => error,
    })?;
    if !value.is_object() {
        let found = crate::patch::go_kind(&value);
        let why = format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ \
             APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        );
        let hexadecimal: String = call.request.body.iter().map(|byte| format!("{byte:02x}")).collect();
        return Err(unrecognized(&call.resource, hexadecimal.as_bytes(), &why));
    }
    if !call.resource.builtin && object::text(&value, &["kind"]).is_empty() {
        let body = String::from_utf8_lossy(&call.request.body);
        let why = format!("Object 'Kind' is missing in '{body}'");
        return Err(unrecognized(&call.resource, &call.request.body, &why));
    }
    let value = expected_kind(&call.resource, value)?;
    stored_form(call, value)
}

/// The body as a JSON or YAML document.
pub(crate) fn document(call: &Call<'_>) -> Result<Value, ApiError> {
    let body = &call.request.body;
    match call.request.media_type() {
        "application/json" | "" | "*/*" => serde_json::from_slice(body).map_err(|error| {
            ApiError::bad_request(format!("couldn't get version/kind; json parse error: {}", in_go(&error)))
        }),
        "application/yaml" => yaml(body),
        "application/vnd.kubernetes.protobuf" => protobuf::object(body).map_err(|error| match error {
            ProtobufError::UnknownKind(_) | ProtobufError::UnknownField { .. } => {
                let mut refusal = ApiError::unsupported_media_type(ACCEPTED);
                refusal.message = format!("{}; {error}", refusal.message);
                refusal
            }
            other => ApiError::bad_request(other.to_string()),
        }),
        _ => Err(ApiError::unsupported_media_type(ACCEPTED)),
    }
}

/// What is wrong with a JSON document, in Go's words where we know them.
fn in_go(error: &serde_json::Error) -> String {
    if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() }
}

/// The error of a body that is no object of the kind: with the body, as the real server shows it.
fn unrecognized(resource: &Resource, body: &[u8], why: &str) -> ApiError {
    let shown =
        if body.is_empty() { "<empty>".to_owned() } else { String::from_utf8_lossy(body).into_owned() };
    let kind = &resource.kind;
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({shown})"
    ))
}

/// A patch: JSON, or YAML, which the real server takes as well.
///
/// # Errors
/// Why it is neither, in Go's words.
fn json_or_yaml(body: &[u8]) -> Result<Value, String> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        Some(b'{' | b'[' | b'"') => serde_json::from_slice(body).map_err(|error| in_go(&error)),
        _ => yaml(body).map_err(|error| error.message),
    }
}

/// The body of a patch.
///
/// # Errors
/// If it is neither JSON nor YAML. The real server does not say why an RFC 6902 patch is not JSON.
pub(crate) fn patch(kind: PatchKind, body: &[u8]) -> Result<Value, ApiError> {
    json_or_yaml(body).map_err(|why| {
        ApiError::bad_request(match kind {
            PatchKind::Json => "invalid JSON patch".to_owned(),
            _ => format!("error decoding patch: {why}"),
        })
    })
}

/// A YAML (or JSON) document as a value.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, ApiError> {
    let text = std::str::from_utf8(body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    serde_saphyr::from_str(text)
        .map_err(|error| ApiError::bad_request(format!("error converting YAML to JSON: {error}")))
}

/// Fills in a missing kind and refuses a wrong one.
fn expected_kind(resource: &Resource, mut value: Value) -> Result<Value, ApiError> {
    let (api_version, kind) =
        (object::text(&value, &["apiVersion"]).to_owned(), object::text(&value, &["kind"]).to_owned());
    if !kind.is_empty() && kind != resource.kind && !resource.builtin {
        let why = format!("must be {}", resource.kind);
        let error = FieldError::invalid("kind", kind.as_str(), why);
        return Err(ApiError::invalid(&resource.group, &kind, object::name(&value), &[error]));
    }
    if !kind.is_empty() && kind != resource.kind {
        return Err(ApiError::bad_request(format!(
            "{kind} in version \"{api_version}\" cannot be handled as a {}: converting (v1.{kind}) to ({}.{}): unknown conversion",
            resource.kind,
            if resource.group.is_empty() { "core" } else { resource.group.as_str() },
            resource.kind
        )));
    }
    if !api_version.is_empty() && api_version != resource.api_version() {
        return Err(ApiError::bad_request(format!(
            "{kind} in version \"{}\" cannot be handled as a {kind}: no kind \"{kind}\" is registered for version \
             \"{api_version}\" in scheme \"pkg/runtime/scheme.go:111\"",
            resource.version
        )));
    }
    let map = object::map_of(&mut value);
    map.insert("apiVersion".into(), json!(resource.api_version()));
    map.insert("kind".into(), json!(resource.kind));
    Ok(value)
}

/// Typed kinds lose what the type does not have; the names of what was lost become warnings or an error.
pub(crate) fn stored_form(call: &Call<'_>, value: Value) -> Result<(Value, Vec<String>), ApiError> {
    let resource = &call.resource;
    let normal = typed::normalised(resource, value).map_err(|why| cannot_be_handled(resource, &why))?;
    let unknown: Vec<String> =
        normal.unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect();
    if call.options.field_validation == "Strict" && !unknown.is_empty() {
        let why = format!("strict decoding error: {}", unknown.join(", "));
        return Err(cannot_be_handled(resource, &why));
    }
    let warnings = if call.options.field_validation == "Ignore" { Vec::new() } else { unknown };
    let mut value = normal.value;
    if resource.stored_in_core {
        event::to_core_api(&mut value);
    }
    Ok((value, warnings))
}

fn cannot_be_handled(resource: &Resource, why: &str) -> ApiError {
    let (kind, version) = (&resource.kind, &resource.version);
    ApiError::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
}
