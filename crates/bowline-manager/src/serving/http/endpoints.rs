//! The endpoints. Each shows data that another part of the manager provides. They change nothing but the log level.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Path, Query};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::StatusCode;
use jiff::Timestamp;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::filters::ProtectedPage;
use super::statusz::{flagz, statusz};
use super::{json as json_reply, plain, reply};
use crate::serving::health::{Endpoint, HealthQuery, HealthRegistry, HealthResponse};
use crate::serving::identity::User;
use crate::serving::process_metrics::BuildInfo;
use crate::status::StatusPage;

/// The content type of metrics pages.
pub const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The limit of a request body in bytes: a log level is a small number.
const MAX_LEVEL_BYTES: usize = 64;

type Provide<T> = Arc<dyn Fn() -> T + Send + Sync>;

/// Renders `/metrics`.
#[derive(Clone)]
pub struct MetricsPage {
    render: Provide<Result<String, std::fmt::Error>>,
    before: Vec<Provide<()>>,
}

impl MetricsPage {
    /// Creates a page that `render` renders.
    pub fn new(render: impl Fn() -> Result<String, std::fmt::Error> + Send + Sync + 'static) -> Self {
        Self { render: Arc::new(render), before: Vec::new() }
    }

    /// Creates a page with all metrics of `registry`.
    #[must_use]
    pub fn of(registry: Arc<Registry>) -> Self {
        Self::new(move || {
            let mut page = String::new();
            encode(&mut page, &registry)?;
            Ok(page)
        })
    }

    /// Adds a hook that runs before each rendering, for example to update gauges.
    #[must_use]
    pub fn before_scrape(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.before.push(Arc::new(hook));
        self
    }

    fn page(&self) -> Result<String, std::fmt::Error> {
        self.before.iter().for_each(|hook| hook());
        (self.render)()
    }
}

type SetLevel = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// Reads and changes the log level, for `/debug/flags/v`.
#[derive(Clone)]
pub struct LogLevelControl {
    /// Returns the current level.
    pub get: Arc<dyn Fn() -> String + Send + Sync>,
    /// Changes the level, or returns why it cannot be changed.
    pub set: SetLevel,
}

/// The data that the endpoints show.
#[derive(Clone)]
pub struct Endpoints {
    /// The name of the component, shown on pages for people.
    pub component: String,
    /// The build info.
    pub build: BuildInfo,
    /// The page `/metrics`.
    pub metrics: MetricsPage,
    /// The object of `/configz`.
    pub configz: Arc<dyn Fn() -> Value + Send + Sync>,
    /// The names and values of `/flagz`.
    pub flagz: Arc<dyn Fn() -> Vec<(String, String)> + Send + Sync>,
    /// Behind `/debug/flags/v`; `None` if profiling is off.
    pub log_level: Option<LogLevelControl>,
    /// The page `/bowline` and its subpages; the token ends its streams. `None` if the page is not served.
    pub status_page: Option<(StatusPage, CancellationToken)>,
}

impl Endpoints {
    /// Builds the routes, including those of `health`. `/statusz` shows the time of this call as the start of the process.
    pub fn routes(self, health: Arc<HealthRegistry>) -> Router {
        let health_pages: Vec<(&'static str, MethodRouter)> =
            [Endpoint::Healthz, Endpoint::Livez, Endpoint::Readyz]
                .into_iter()
                .flat_map(|endpoint| health_routes(endpoint, &health))
                .collect();
        let mut pages: Vec<(&'static str, MethodRouter)> = Vec::new();
        let (metrics, configz, flags) = (self.metrics, self.configz, self.flagz);
        pages.push(("/metrics", get(async move || metrics_reply(metrics.page()))));
        pages.push(("/metrics/slis", get(async move || metrics_reply(health.slis_page()))));
        pages.push(("/configz", get(async move || json_reply(StatusCode::OK, &configz()))));
        let component = self.component.clone();
        pages.push(("/flagz", get(async move || plain(StatusCode::OK, flagz(&component, flags())))));
        if let Some(control) = self.log_level {
            pages.push(("/debug/flags/v", level_route(control)));
        }
        if let Some((page, shutdown)) = self.status_page {
            pages.extend(page.routes(&shutdown));
        }
        let mut paths: Vec<&'static str> = pages.iter().chain(&health_pages).map(|(path, _)| *path).collect();
        paths.extend(["/", "/statusz"]);
        paths.retain(|path| !path.contains('{'));
        paths.sort_unstable();
        let index = json!({ "paths": paths });
        let (component, build) = (self.component, self.build);
        let (started, clock) = (Timestamp::now(), Instant::now());
        let status = async move || {
            plain(StatusCode::OK, statusz(&component, &build, started, clock.elapsed(), &paths))
        };
        pages.push(("/", get(async move || json_reply(StatusCode::OK, &index))));
        pages.push(("/statusz", get(status)));
        router(pages)
            .route_layer(map_response(async |mut response: Response| {
                response.extensions_mut().insert(ProtectedPage);
                response
            }))
            .merge(router(health_pages))
            .fallback(async || plain(StatusCode::NOT_FOUND, "404 page not found\n"))
    }
}

fn router(pages: Vec<(&'static str, MethodRouter)>) -> Router {
    pages.into_iter().fold(Router::new(), |routes, (path, page)| routes.route(path, page))
}

/// The routes of a health endpoint: the endpoint itself, and one path for each of its checks.
fn health_routes(endpoint: Endpoint, health: &Arc<HealthRegistry>) -> [(&'static str, MethodRouter); 2] {
    let (path, check_path) = match endpoint {
        Endpoint::Healthz => ("/healthz", "/healthz/{check}"),
        Endpoint::Livez => ("/livez", "/livez/{check}"),
        Endpoint::Readyz => ("/readyz", "/readyz/{check}"),
    };
    let all = Arc::clone(health);
    let all = async move |Extension(user): Extension<User>, Query(pairs): Query<Vec<(String, String)>>| {
        let query = HealthQuery { reasons: user.is_known(), ..HealthQuery::from_pairs(pairs) };
        health_reply(all.respond(endpoint, &query))
    };
    let one = Arc::clone(health);
    let one = async move |Extension(user): Extension<User>, Path(check): Path<String>| match one.respond_one(
        endpoint,
        &check,
        user.is_known(),
    ) {
        Some(answer) => health_reply(answer),
        None => plain(StatusCode::NOT_FOUND, format!("no {} check is named {check:?}\n", endpoint.name())),
    };
    [(path, get(all)), (check_path, get(one))]
}

fn health_reply(answer: HealthResponse) -> Response {
    let status = if answer.ok { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    plain(status, answer.body)
}

fn metrics_reply(page: Result<String, std::fmt::Error>) -> Response {
    match page {
        Ok(page) => reply(StatusCode::OK, OPENMETRICS, page),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("metrics not rendered: {error}\n")),
    }
}

fn level_route(control: LogLevelControl) -> MethodRouter {
    let LogLevelControl { get: current, set } = control;
    let change = async move |body: Body| {
        let level = to_bytes(body, MAX_LEVEL_BYTES).await.unwrap_or_default();
        let level = String::from_utf8_lossy(&level).trim().to_owned();
        match set(&level) {
            Ok(()) => plain(StatusCode::OK, format!("successfully set log level to {level}\n")),
            Err(reason) => plain(StatusCode::BAD_REQUEST, format!("log level {level:?} not set: {reason}\n")),
        }
    };
    get(async move || plain(StatusCode::OK, format!("{}\n", current()))).put(change)
}
