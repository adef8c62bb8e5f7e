//! Named health checks, and the responses of `/healthz`, `/livez` and `/readyz`.
//!
//! Checks are quick and do no I/O: they only read state that other modules maintain.

mod render;
mod slis;

use std::sync::Arc;

use parking_lot::RwLock;
use tracing::info;

pub use self::render::{HealthQuery, HealthResponse};
use self::slis::Slis;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The check passes.
    Healthy,
    /// A part does not work, but the process does: reported, never failing. The reason is shown to every caller that may read the endpoint,
    /// so it must not contain secrets.
    Degraded(String),
    /// The process should be taken out of service or restarted. The reason goes to the log only.
    Failed(String),
}

impl From<Result<(), String>> for CheckOutcome {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Healthy,
            Err(reason) => Self::Failed(reason),
        }
    }
}

/// A health endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `/healthz`: the endpoint that upstream also has; same checks as `/livez`.
    Healthz,
    /// `/livez`: whether the process must be restarted.
    Livez,
    /// `/readyz`: whether the process does its work.
    Readyz,
}

impl Endpoint {
    /// The name of the endpoint, as in the path and in metric labels.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthz => "healthz",
            Self::Livez => "livez",
            Self::Readyz => "readyz",
        }
    }
}

/// The endpoints that include a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckSets {
    /// Part of `/healthz` and `/livez`.
    pub live: bool,
    /// Part of `/readyz`.
    pub ready: bool,
}

impl CheckSets {
    /// All three endpoints.
    pub const ALL: Self = Self { live: true, ready: true };
    /// `/readyz` only: failing takes the process out of service, and does not restart it.
    pub const READY_ONLY: Self = Self { live: false, ready: true };

    fn contains(self, endpoint: Endpoint) -> bool {
        match endpoint {
            Endpoint::Healthz | Endpoint::Livez => self.live,
            Endpoint::Readyz => self.ready,
        }
    }
}

type CheckFn = Arc<dyn Fn() -> CheckOutcome + Send + Sync>;

#[derive(Clone)]
struct Check {
    name: String,
    sets: CheckSets,
    run: CheckFn,
}

/// All checks, in the order they were added.
#[derive(Default)]
pub struct HealthRegistry {
    checks: RwLock<Vec<Check>>,
    slis: Slis,
}

impl HealthRegistry {
    /// A registry without checks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check, or replaces the check with the same name.
    pub fn add<R: Into<CheckOutcome>>(
        &self,
        name: impl Into<String>,
        sets: CheckSets,
        check: impl Fn() -> R + Send + Sync + 'static,
    ) {
        let check = Check { name: name.into(), sets, run: Arc::new(move || check().into()) };
        let mut checks = self.checks.write();
        match checks.iter_mut().find(|old| old.name == check.name) {
            Some(old) => *old = check,
            None => checks.push(check),
        }
    }

    /// Removes a check, for example that of a controller that stopped.
    pub fn remove(&self, name: &str) {
        self.checks.write().retain(|check| check.name != name);
    }

    /// Runs the checks of an endpoint and returns the response.
    #[must_use]
    pub fn respond(&self, endpoint: Endpoint, query: &HealthQuery) -> HealthResponse {
        let included = |check: &Check| !query.exclude.contains(&check.name);
        let results: Vec<_> = self
            .checks_of(endpoint)
            .into_iter()
            .map(|check| {
                let outcome = included(&check).then(|| self.run(endpoint, &check));
                (check.name, outcome)
            })
            .collect();
        render::all(endpoint, query, &results)
    }

    /// The current results of an endpoint's checks, for the status page: they are neither counted nor logged.
    #[must_use]
    pub fn outcomes(&self, endpoint: Endpoint) -> Vec<(String, CheckOutcome)> {
        self.checks_of(endpoint)
            .into_iter()
            .map(|check| ((check.run)(), check.name))
            .map(|(o, n)| (n, o))
            .collect()
    }

    /// Runs one check; `None` if the endpoint has no check with that name.
    #[must_use]
    pub fn respond_one(&self, endpoint: Endpoint, name: &str, reasons: bool) -> Option<HealthResponse> {
        let check = self.checks_of(endpoint).into_iter().find(|check| check.name == name)?;
        Some(render::one(&check.name, &self.run(endpoint, &check), reasons))
    }

    /// The page `/metrics/slis`: the last result of each check, and how often it ran.
    ///
    /// # Errors
    /// If the page cannot be formatted.
    pub fn slis_page(&self) -> Result<String, std::fmt::Error> {
        self.slis.page()
    }

    fn checks_of(&self, endpoint: Endpoint) -> Vec<Check> {
        // Cloned, so that a check may itself add or remove checks.
        let checks = self.checks.read();
        checks.iter().filter(|check| check.sets.contains(endpoint)).cloned().collect()
    }

    fn run(&self, endpoint: Endpoint, check: &Check) -> CheckOutcome {
        let outcome = (check.run)();
        self.slis.record(endpoint, &check.name, &outcome);
        if let CheckOutcome::Failed(reason) = &outcome {
            info!(endpoint = endpoint.name(), check = check.name, reason, "health check failed");
        }
        outcome
    }
}

#[cfg(test)]
mod tests;
