//! GET of many: filters, consistent pages, and which version a list may show.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::core::{Call, Core, Outcome};
use crate::listing::Listing;
use crate::object;
use crate::request::selector::{self, Requirement};
use crate::shape::Shape;
use crate::status::{ApiError, FieldError};
use crate::store::{Compacted, ObjectKey, View};
use crate::strategy::fields;

/// Which objects of a bucket are meant.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(super) namespace: String,
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

impl Filter {
    pub(crate) fn of(call: &Call<'_>) -> Result<Self, ApiError> {
        let mut wanted = selector::fields(&call.options.field_selector)?;
        for requirement in &mut wanted {
            requirement.key = fields::stored_path(&call.resource, &requirement.key)?;
        }
        Ok(Self {
            namespace: call.path.namespace.clone(),
            labels: selector::labels(&call.options.label_selector)?,
            fields: wanted,
        })
    }

    pub(crate) fn matches(&self, namespace: &str, object: &Value) -> bool {
        if !self.namespace.is_empty() && self.namespace != namespace {
            return false;
        }
        let label = |key: &str| {
            object::at(object, &["metadata", "labels"]).and_then(|all| all.get(key)).and_then(Value::as_str)
        };
        self.labels.iter().all(|requirement| requirement.matches(label(&requirement.key)))
            && self
                .fields
                .iter()
                .all(|requirement| requirement.matches(Some(&fields::value(object, &requirement.key))))
    }

    /// Whether objects inside of the namespace are left out.
    fn is_selective(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}

/// Where a page begins and at which version.
struct Page {
    version: u64,
    after: Option<ObjectKey>,
}

impl Core {
    pub(crate) fn list(&self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        check_version_match(call)?;
        let filter = Filter::of(call)?;
        let page = self.page(call)?;
        let expired = |Compacted { oldest }| match page.after {
            Some(_) => continue_expired(),
            None => ApiError::expired(format!(
                "The resourceVersion for the provided list is too old: {} ({oldest})",
                page.version
            )),
        };
        let bucket = call.resource.bucket();
        let view = self.store.view_at(&bucket, page.version, &filter.namespace, page.after.as_ref());
        let (items, meta) = cut(call, &filter, page.version, &view.map_err(expired)?);
        Ok(self.listed(call, items, meta))
    }

    /// The answer with these objects.
    pub(crate) fn listed(&self, call: &Call<'_>, items: Vec<Arc<Value>>, meta: Value) -> Outcome {
        let resource = Arc::clone(&call.resource);
        Outcome::List(Box::new(Listing { resource, shape: call.shape, meta, items, now: self.now() }))
    }

    fn page(&self, call: &Call<'_>) -> Result<Page, ApiError> {
        let options = call.options;
        let newest = self.store.version();
        let current = call.request.at_version.map_or(newest, |version| version.min(newest));
        if !options.continue_token.is_empty() && !options.resource_version.is_empty() {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        if !options.continue_token.is_empty() {
            return read_continue(&options.continue_token);
        }
        let wanted: u64 = match options.resource_version.as_str() {
            "" => 0,
            text => text.parse().map_err(|_| {
                ApiError::bad_request(format!("invalid resource version: {}", bad_version(text)))
            })?,
        };
        if wanted > current {
            return Err(ApiError::too_large_resource_version(wanted, current));
        }
        let version = if options.resource_version_match == "Exact" { wanted } else { current };
        Ok(Page { version, after: None })
    }
}

pub(super) fn bad_version(text: &str) -> FieldError {
    let why = format!("strconv.ParseUint: parsing \"{text}\": invalid syntax");
    FieldError::invalid("resourceVersion", text, why)
}

fn check_version_match(call: &Call<'_>) -> Result<(), ApiError> {
    let options = call.options;
    let forbidden = |why: &str| {
        let error = FieldError::forbidden("resourceVersionMatch", why);
        Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &[error]))
    };
    match options.resource_version_match.as_str() {
        "" => Ok(()),
        _ if options.resource_version.is_empty() => {
            forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")
        }
        _ if !options.continue_token.is_empty() => {
            forbidden("resourceVersionMatch is forbidden when continue is provided")
        }
        "Exact" if options.resource_version == "0" => {
            forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
        }
        "Exact" | "NotOlderThan" => Ok(()),
        other => {
            let known = ["Exact", "NotOlderThan", ""];
            let error = FieldError::not_supported("resourceVersionMatch", other, &known);
            Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &[error]))
        }
    }
}

fn cut(call: &Call<'_>, filter: &Filter, version: u64, view: &View<'_>) -> (Vec<Arc<Value>>, Value) {
    let limit = call.options.limit.unwrap_or(usize::MAX);
    let mut rest = view.iter().filter(|(key, object)| filter.matches(&key.0, object));
    let mut items = Vec::new();
    let mut last = None;
    for (key, object) in rest.by_ref().take(limit) {
        items.push(Arc::clone(object));
        last = Some(key);
    }
    // How many are left is told only where nothing is left out.
    let remaining = if filter.is_selective() { usize::from(rest.next().is_some()) } else { rest.count() };
    let mut meta = json!({"resourceVersion": version.to_string()});
    if !call.resource.builtin && call.shape == Shape::Whole {
        object::map_of(&mut meta).insert("continue".into(), json!("")); // custom lists always say so
    }
    if let (Some(last), true) = (last, remaining > 0) {
        let map = object::map_of(&mut meta);
        map.insert("continue".into(), json!(write_continue(version, last)));
        if !filter.is_selective() {
            map.insert("remainingItemCount".into(), json!(remaining));
        }
    }
    (items, meta)
}

fn write_continue(version: u64, after: &ObjectKey) -> String {
    let start = format!("{}/{}", after.0, after.1);
    URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": version, "start": start}).to_string())
}

fn read_continue(token: &str) -> Result<Page, ApiError> {
    let bad = || ApiError::bad_request("continue key is not valid: the token was not issued by this server");
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| bad())?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| bad())?;
    let version = token.get("rv").and_then(Value::as_u64).ok_or_else(bad)?;
    let (namespace, name) = object::text(&token, &["start"]).split_once('/').ok_or_else(bad)?;
    Ok(Page { version, after: Some((namespace.to_owned(), name.to_owned())) })
}

fn continue_expired() -> ApiError {
    ApiError::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.",
    )
}
