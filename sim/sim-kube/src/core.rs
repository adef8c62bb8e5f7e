//! The server as one synchronous state machine: a request goes in, an outcome comes out. Must not wait, read a
//! clock of its own, or know about sockets.

use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use serde_json::Value;

use crate::config::{AccessRequest, Config};
use crate::listing::Listing;
use crate::patch::MergeSchema;
use crate::patch::managed::Manager;
use crate::request::{ApiRequest, Options, RequestInfo, ResourcePath, Route, path};
use crate::resource::{Registry, Resource};
use crate::shape::Shape;
use crate::status::ApiError;
use crate::store::{ObjectKey, Store};
use crate::strategy::Allocations;
use crate::verbs::{Review, Tokens, WatchSpec};
use crate::{discovery, openapi};

/// What a request led to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A JSON document.
    Json { code: u16, body: Value, content_type: &'static str, warnings: Vec<String> },
    /// A list, to be written by the shell.
    List(Box<Listing>),
    /// Plain text, as of `/healthz` and of unknown paths.
    Text { code: u16, body: String },
    /// A message without content in some other encoding.
    Empty { code: u16, content_type: &'static str },
    /// A stream of events, to be served by the shell.
    Watch(Box<WatchSpec>),
    /// A question to the authorizer, which the shell asks when nothing is locked.
    Review(Box<Review>),
}

impl Outcome {
    pub(crate) fn json(code: u16, body: Value) -> Self {
        Self::Json { code, body, content_type: "application/json", warnings: Vec::new() }
    }

    pub(crate) fn error(error: &ApiError) -> Self {
        Self::json(error.code, error.body())
    }

    /// The real server's answer on paths it does not know.
    pub(crate) fn page_not_found() -> Self {
        Self::Text { code: 404, body: "404 page not found\n".into() }
    }

    /// HTTP status code.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::Json { code, .. } | Self::Text { code, .. } | Self::Empty { code, .. } => *code,
            Self::Watch(_) | Self::List(_) => 200,
            Self::Review(_) => 201,
        }
    }
}

/// How a running watch is ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchEnd {
    /// The stream ends as after its timeout.
    Clean,
    /// The connection breaks.
    Broken,
}

/// Everything the server is.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) config: Config,
    pub(crate) allocations: Allocations,
    pub(crate) tokens: Tokens,
    /// Raised to end the watches of before.
    pub(crate) watch_epoch: u64,
    pub(crate) watch_end: WatchEnd,
    /// Plural names whose watches are told nothing for now; `*` is all.
    pub(crate) held: std::collections::BTreeSet<String>,
    /// Events in the order of their last changes, with the time and version of each.
    pub(crate) young_events: std::collections::VecDeque<(Timestamp, u64, ObjectKey)>,
    /// Watches so far.
    pub(crate) watches: u64,
    /// Watches that are being served.
    pub(crate) open_watches: usize,
}

/// One request for objects, with everything the verbs need.
pub(crate) struct Call<'a> {
    pub(crate) resource: Arc<Resource>,
    pub(crate) path: &'a ResourcePath,
    pub(crate) options: &'a Options,
    pub(crate) request: &'a ApiRequest,
    pub(crate) shape: Shape,
}

impl Call<'_> {
    pub(crate) fn dry_run(&self) -> bool {
        !self.options.dry_run.is_empty()
    }

    /// Whether the request is a server-side apply.
    pub(crate) fn is_apply(&self) -> bool {
        self.request.media_type() == "application/apply-patch+yaml"
    }

    /// Who writes, as managedFields name it.
    pub(crate) fn manager(&self) -> Manager {
        let subresource = (!self.path.subresource.is_empty()).then(|| self.path.subresource.clone());
        Manager {
            name: Manager::name_of(Some(&self.options.field_manager), Some(&self.request.user_agent)),
            force: self.options.force,
            subresource,
            api_version: self.resource.api_version(),
        }
    }

    /// How the kind's lists merge.
    pub(crate) fn merge_schema(&self) -> MergeSchema {
        if self.resource.builtin {
            MergeSchema::of(&self.resource.group, &self.resource.kind)
        } else {
            MergeSchema::custom(self.resource.has_status)
        }
    }

    pub(crate) fn key(&self) -> (String, String) {
        (self.path.namespace.clone(), self.path.name.clone())
    }
}

impl Core {
    pub(crate) fn new(config: Config) -> Self {
        let mut core = Self {
            store: Store::new(config.history_limit, config.history_bytes),
            registry: Registry::with_builtin(),
            config,
            allocations: Allocations::default(),
            tokens: Tokens::default(),
            watch_epoch: 0,
            watch_end: WatchEnd::Clean,
            held: std::collections::BTreeSet::new(),
            young_events: std::collections::VecDeque::new(),
            watches: 0,
            open_watches: 0,
        };
        crate::bootstrap::fill(&mut core);
        core
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.config.clock.now()
    }

    /// Answers one request that was allowed before.
    pub(crate) fn handle(&mut self, request: &ApiRequest) -> Outcome {
        self.expire_events();
        match path::route(&request.path) {
            Route::Resource(target) => {
                self.objects(request, &target).unwrap_or_else(|error| Outcome::error(&error))
            }
            _ if request.method != Method::GET => Outcome::error(&ApiError::method_not_allowed()),
            Route::Health => Outcome::Text { code: 200, body: "ok".into() },
            Route::Version => Outcome::json(200, discovery::version()),
            Route::CoreVersions => discovery::core_versions(&self.registry, request),
            Route::Groups => discovery::groups(&self.registry, request),
            Route::Group(group) => discovery::group(&self.registry, &group),
            Route::Resources { group, version } => discovery::resources(&self.registry, &group, &version),
            Route::OpenApiV2 => openapi::v2(request),
            Route::OpenApiV3 => openapi::v3_index(&self.registry),
            Route::OpenApiV3Of { group, version } => openapi::v3(&self.registry, &group, &version),
            Route::Unknown => Outcome::page_not_found(),
        }
    }

    fn objects(&mut self, request: &ApiRequest, target: &ResourcePath) -> Result<Outcome, ApiError> {
        let Some(resource) = self.registry.find(&target.group, &target.version, &target.plural) else {
            return self.nowhere(&target.group);
        };
        let misplaced = (!resource.namespaced && !target.namespace.is_empty())
            || (resource.namespaced && target.namespace.is_empty() && !target.name.is_empty());
        if misplaced {
            return self.nowhere(&target.group);
        }
        let options = Options::parse(&request.query)?;
        let shape = Shape::of_accept(&request.accept, &options.include_object)?;
        let call = Call { resource, path: target, options: &options, request, shape };
        self.dispatch(&call)
    }

    /// The question whether the request is allowed, and what it is about; `None` for what everybody may.
    pub(crate) fn access_of(&self, request: &ApiRequest) -> Option<(AccessRequest, Arc<Resource>)> {
        let Route::Resource(target) = path::route(&request.path) else { return None };
        let resource = self.registry.find(&target.group, &target.version, &target.plural)?;
        let info = RequestInfo::of(request);
        let access = AccessRequest {
            user: request.user.clone(),
            verb: info.verb.to_owned(),
            group: info.group,
            resource: info.resource,
            subresource: info.subresource,
            namespace: info.namespace,
            name: info.name,
        };
        Some((access, resource))
    }

    fn dispatch(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        if call.resource.virtual_only {
            return self.review(call);
        }
        match call.path.subresource.as_str() {
            "" => self.main_resource(call),
            "status" if call.resource.has_status => self.subresource(call),
            "scale" if call.resource.has_scale => self.scale(call),
            "token" if call.resource.is("", "serviceaccounts") => self.issue_token(call),
            "finalize" if call.resource.is("", "namespaces") => self.finalize(call),
            _ => self.nowhere(&call.path.group),
        }
    }

    /// Below a group that is served, what is missing is an API error; elsewhere it is a page that is not there.
    fn nowhere(&self, group: &str) -> Result<Outcome, ApiError> {
        if self.registry.groups().contains_key(group) {
            return Err(ApiError::no_such_resource());
        }
        Ok(Outcome::page_not_found())
    }

    fn main_resource(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        let one = !call.path.name.is_empty();
        match (&call.request.method, one) {
            (&Method::GET, true) => self.get(call),
            (&Method::GET, false) if call.options.watch => self.watch(call),
            (&Method::GET, false) => self.list(call),
            (&Method::POST, false) if !call.resource.namespaced || !call.path.namespace.is_empty() => {
                self.create(call)
            }
            (&Method::PUT, true) => self.update(call),
            (&Method::PATCH, true) => self.patch(call),
            (&Method::DELETE, true) => self.delete(call),
            (&Method::DELETE, false) if !call.resource.is("", "namespaces") => self.delete_collection(call),
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    fn subresource(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        match call.request.method {
            Method::GET => self.get(call),
            Method::PUT => self.update(call),
            Method::PATCH => self.patch(call),
            _ => Err(ApiError::method_not_allowed()),
        }
    }
}

/// Why somebody may not do something, in the real server's words.
pub(crate) fn refusal(access: &AccessRequest, resource: &Resource) -> ApiError {
    let object = if access.subresource.is_empty() {
        access.resource.clone()
    } else {
        format!("{}/{}", access.resource, access.subresource)
    };
    let place = if access.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{}\"", access.namespace)
    };
    let why = format!(
        "User \"{}\" cannot {} resource \"{object}\" in API group \"{}\" {place}",
        access.user.name, access.verb, access.group
    );
    ApiError::forbidden(resource, &access.name, &why)
}
