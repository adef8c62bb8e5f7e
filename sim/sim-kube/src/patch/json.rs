//! RFC 6902, with the liberties that the real server's library takes.
//!
//! Those are: `replace` of a missing key adds it, `test` of a missing key finds null, `copy` of a missing key copies
//! null, and a negative index counts from the end.

use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::{Value, json};

use super::{PatchError, go_kind};

/// As many operations as the real server takes.
const MAX_OPERATIONS: usize = 10_000;

pub(super) fn patched(current: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Array(operations) = patch else {
        return Err(not_a_list_of_operations(patch, "[]handlers.jsonPatchOp"));
    };
    if let Some(stray) = operations.iter().find(|operation| !operation.is_object()) {
        return Err(not_a_list_of_operations(stray, "handlers.jsonPatchOp"));
    }
    if operations.len() > MAX_OPERATIONS {
        let count = operations.len();
        let message =
            format!("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}");
        return Err(PatchError::BadRequest(message));
    }
    let mut document = current.clone();
    for operation in operations {
        apply(&mut document, operation)?;
    }
    Ok(document)
}

fn not_a_list_of_operations(found: &Value, wanted: &str) -> PatchError {
    let found = go_kind(found);
    PatchError::BadRequest(format!(
        "error decoding patch: json: cannot unmarshal {found} into Go value of type {wanted}"
    ))
}

fn apply(document: &mut Value, operation: &Value) -> Result<(), PatchError> {
    let mut operation = operation.clone();
    for pointer in ["path", "from"] {
        count_from_the_end(document, &mut operation, pointer);
    }
    let parsed: PatchOperation =
        serde_json::from_value(operation).map_err(|error| PatchError::Rejected(error.to_string()))?;
    let lenient = leniently(document, parsed);
    match lenient {
        None => Ok(()),
        Some(operation) => json_patch::patch(document, &Patch(vec![operation]))
            .map_err(|error| PatchError::Rejected(error.to_string())),
    }
}

/// The operation as the strict library has to be told it; nothing if it is fulfilled already.
fn leniently(document: &Value, operation: PatchOperation) -> Option<PatchOperation> {
    let add = |path, value| Some(PatchOperation::Add(AddOperation { path, value }));
    match operation {
        PatchOperation::Replace(op) if is_missing_key(document, op.path.as_str()) => add(op.path, op.value),
        PatchOperation::Copy(op) if is_missing_key(document, op.from.as_str()) => add(op.path, Value::Null),
        PatchOperation::Test(op) if op.value.is_null() && is_missing_key(document, op.path.as_str()) => None,
        other => Some(other),
    }
}

/// Whether the pointer's parent is a map without that key.
fn is_missing_key(document: &Value, pointer: &str) -> bool {
    let parent = pointer.rsplit_once('/').and_then(|(parent, _)| document.pointer(parent));
    parent.is_some_and(Value::is_object) && document.pointer(pointer).is_none()
}

fn count_from_the_end(document: &Value, operation: &mut Value, member: &str) {
    let Some((parent, last)) =
        operation.get(member).and_then(Value::as_str).and_then(|pointer| pointer.rsplit_once('/'))
    else {
        return;
    };
    let Some(Value::Array(items)) = document.pointer(parent) else { return };
    let back = last.strip_prefix('-').and_then(|digits| digits.parse::<usize>().ok());
    if let Some(index) = back.and_then(|back| items.len().checked_sub(back)) {
        let pointer = format!("{parent}/{index}");
        if let Value::Object(fields) = operation {
            fields.insert(member.to_owned(), json!(pointer));
        }
    }
}
