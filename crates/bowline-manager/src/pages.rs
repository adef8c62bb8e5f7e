//! Connects the serving port with the parts of the process that it shows.

use std::path::PathBuf;
use std::sync::Arc;

use bowline_kube::client::{AnswerBudget, ClientFactory, load_config};
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::budget::SharedBudget;
use crate::clients::ClientError;
use crate::flags::Parsed;
use crate::logging::LogLevel;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::process::StartError;
use crate::serving::reviews::KubeReviews;
use crate::serving::{
    self, AccessReviewer, AuthConfigLookup, Authenticator, Authorizer, BuildInfo, Endpoints, HealthRegistry,
    LogLevelControl, MetricsPage, RunningServer, ServerParts, ServingTimings, TokenReviewer,
};
use crate::status::StatusPage;

/// Upstream's rate limit for review clients: requests per second, and burst.
const REVIEW_BUDGET: (f64, u32) = (200.0, 400);

/// Memory for responses to the reviews of one kind, in bytes. A response can be up to 1 MiB, and the authentication ConfigMap up to 16 MiB.
const REVIEW_ANSWER_BYTES: usize = 32 << 20;

/// The data that the serving port shows.
pub(crate) struct Pages<'a> {
    pub(crate) name: &'a str,
    /// The build info.
    pub(crate) build: BuildInfo,
    /// All flags, for `/flagz`.
    pub(crate) flags: Parsed,
    /// The registry with all metrics.
    pub(crate) registry: Arc<Registry>,
    /// Changes the log level.
    pub(crate) log_level: LogLevel,
    /// The rate limiter for calls to the cloud; its gauges are updated at each scrape.
    pub(crate) budget: Arc<SharedBudget>,
    /// The object of `/configz`.
    pub(crate) configz: Value,
    pub(crate) status: StatusPage,
}

/// The running server, if the serving port is enabled.
pub(crate) struct Server {
    running: Option<RunningServer>,
    stop: CancellationToken,
}

impl Server {
    /// The fingerprint of the serving certificate; `None` without a serving port.
    pub(crate) fn fingerprint(&self) -> watch::Receiver<Option<String>> {
        match &self.running {
            Some(running) => running.certs.fingerprint(),
            None => watch::channel(None).1,
        }
    }

    /// Stops the server and waits for requests in progress.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        if let Some(running) = self.running {
            running.ended().await;
        }
    }
}

/// Starts the server.
///
/// # Errors
///
/// If authentication cannot be set up, or the port cannot be opened.
pub(crate) async fn serve(
    pages: Pages<'_>,
    options: &Options,
    metrics: &Metrics,
    health: &Arc<HealthRegistry>,
) -> Result<Server, StartError> {
    let stop = CancellationToken::new();
    if options.serving.port == 0 {
        info!("serving is off (--secure-port=0)");
        return Ok(Server { running: None, stop });
    }
    let authn =
        reviews("--authentication-kubeconfig", &options.authentication_kubeconfig, &pages, metrics).await?;
    let authz =
        reviews("--authorization-kubeconfig", &options.authorization_kubeconfig, &pages, metrics).await?;
    let authenticator = Authenticator::open(
        options.authentication.clone(),
        authn.clone().map(|reviews| -> Arc<dyn TokenReviewer> { reviews }),
        authn.map(|reviews| -> Arc<dyn AuthConfigLookup> { reviews }),
        metrics.serving.clone(),
    )
    .await?;
    let access = authz.map(|reviews| -> Arc<dyn AccessReviewer> { reviews });
    let parts = ServerParts {
        authenticator: Arc::new(authenticator),
        authorizer: Arc::new(Authorizer::new(&options.authorization, access, metrics.serving.clone())),
        endpoints: endpoints(pages, options, &stop),
        health: health.clone(),
        metrics: metrics.serving.clone(),
        timings: ServingTimings::default(),
    };
    let running = serving::start(&options.serving, parts, None, stop.clone()).await?;
    Ok(Server { running, stop })
}

/// The clients for token and access reviews: they use this kubeconfig, or the pod's credentials. `None` if there are neither, as in
/// upstream.
async fn reviews(
    flag: &str,
    kubeconfig: &Option<PathBuf>,
    pages: &Pages<'_>,
    metrics: &Metrics,
) -> Result<Option<Arc<KubeReviews>>, StartError> {
    let config = match load_config(kubeconfig.as_deref(), None).await {
        Ok(config) => config,
        Err(error) if kubeconfig.is_some() => return Err(error.into()),
        Err(_not_in_a_cluster) => {
            warn!(
                "no {flag} and not in a cluster: callers of the serving port may only see what \
                 --authorization-always-allow-paths names"
            );
            return Ok(None);
        }
    };
    let (qps, burst) = REVIEW_BUDGET;
    let factory = ClientFactory::new(config, pages.name, &pages.build.git_version, qps, burst)
        .with_metrics(metrics.rest.clone())
        .with_answer_budget(AnswerBudget::new(REVIEW_ANSWER_BYTES));
    let client = factory.client("delegated-auth").map_err(ClientError::from)?;
    Ok(Some(Arc::new(KubeReviews::new(client))))
}

fn endpoints(pages: Pages<'_>, options: &Options, stop: &CancellationToken) -> Endpoints {
    let Pages { name, build, flags, registry, log_level, budget, configz, status } = pages;
    Endpoints {
        component: name.to_owned(),
        build,
        metrics: MetricsPage::of(registry).before_scrape(move || budget.refresh_metrics()),
        configz: Arc::new(move || configz.clone()),
        flagz: Arc::new(move || flags.listing()),
        log_level: options.profiling.then(|| level_control(log_level)),
        status_page: Some((status, stop.clone())),
    }
}

fn level_control(level: LogLevel) -> LogLevelControl {
    let shown = level.clone();
    LogLevelControl {
        get: Arc::new(move || shown.get().to_string()),
        set: Arc::new(move |text| {
            let verbosity =
                text.trim().parse().map_err(|_error| format!("{text:?} is not a number from 0 to 255"))?;
            level.set(verbosity).map_err(|error| error.to_string())
        }),
    }
}
