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

/// What upstream gives its clients for reviews: requests a second, and burst.
const REVIEW_BUDGET: (f64, u32) = (200.0, 400);

/// Memory for the answers to the reviews of one kind. An answer may have 1 MiB, and the ConfigMap with the authorities 16 MiB.
const REVIEW_ANSWER_BYTES: usize = 32 << 20;

/// What is shown.
pub(crate) struct Pages<'a> {
    /// The name of the binary.
    pub(crate) name: &'a str,
    /// What was built.
    pub(crate) build: BuildInfo,
    /// The flags.
    pub(crate) flags: Parsed,
    /// The metrics.
    pub(crate) registry: Arc<Registry>,
    /// Changes the log level.
    pub(crate) log_level: LogLevel,
    /// The call budget, whose gauges are set at each scrape.
    pub(crate) budget: Arc<SharedBudget>,
    /// The configuration in force.
    pub(crate) configz: Value,
    /// The status page.
    pub(crate) status: StatusPage,
}

/// The serving port, if there is one.
pub(crate) struct Server {
    running: Option<RunningServer>,
    stop: CancellationToken,
}

impl Server {
    /// The fingerprint of the certificate that is shown; none without a serving port.
    pub(crate) fn fingerprint(&self) -> watch::Receiver<Option<String>> {
        match &self.running {
            Some(running) => running.certs.fingerprint(),
            None => watch::channel(None).1,
        }
    }

    /// Stops serving and waits for what is under way.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        if let Some(running) = self.running {
            running.ended().await;
        }
    }
}

/// Starts to serve.
///
/// # Errors
///
/// If callers cannot be told apart or the port cannot be had.
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

/// Who is asked about callers: the API server of this kubeconfig, or of the pod. Neither: nobody, as upstream has it.
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
