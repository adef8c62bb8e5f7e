//! Authentication: identifies the caller by the loopback token, the front proxy's headers, a client certificate or a bearer token;
//! otherwise the caller is anonymous.
//!
//! A caller whose credentials are all rejected gets 401 and never becomes anonymous. If one kind of credential is rejected, another may
//! still be accepted. This module does not decide what a caller may do.

pub mod authorities;
mod bearer;
mod front_proxy;
mod sources;

use std::sync::Arc;

use arc_swap::ArcSwap;
use http::{HeaderMap, header};
use rand::Rng;
use rustls::pki_types::CertificateDer;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use self::authorities::{Authorities, CaError};
use self::bearer::BearerTokens;
use self::sources::Found;
use super::config::{AuthenticationConfig, ServingTimings};
use super::digest::{Digest, digest};
use super::identity::User;
use super::metrics::ServingMetrics;
use super::reviews::{AuthConfigLookup, ReviewError, TokenReviewer};

/// Why authentication cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum AuthnError {
    /// A CA file cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The path of the file.
        file: std::path::PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The CA certificates cannot be parsed.
    #[error("{origin}: {source}")]
    Authorities {
        /// The file or the key of the ConfigMap.
        origin: String,
        /// The error.
        source: CaError,
    },
    /// A list in the ConfigMap is not a JSON list of strings.
    #[error(
        "ConfigMap kube-system/extension-apiserver-authentication, key {key}: expected a JSON list of strings: {reason}"
    )]
    List {
        /// The key of the ConfigMap.
        key: &'static str,
        /// The parse error.
        reason: String,
    },
    /// The ConfigMap cannot be read.
    #[error(
        "cannot read ConfigMap kube-system/extension-apiserver-authentication: {0}. Usually fixed by \
         `kubectl create rolebinding -n kube-system NAME --role=extension-apiserver-authentication-reader \
         --serviceaccount=NAMESPACE:SERVICEACCOUNT`; or start without it by --authentication-skip-lookup or \
         --authentication-tolerate-lookup-failure"
    )]
    Lookup(ReviewError),
}

/// Credentials were presented and none was accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", reasons.join("; "))]
pub struct Unauthorized {
    /// The reasons, for the log; the client does not see them.
    pub reasons: Vec<String>,
}

/// Authenticates requests.
pub struct Authenticator {
    config: AuthenticationConfig,
    lookup: Option<Arc<dyn AuthConfigLookup>>,
    authorities: ArcSwap<Authorities>,
    bearer: Option<BearerTokens>,
    loopback_token: String,
    loopback_digest: Digest,
    metrics: ServingMetrics,
}

impl Authenticator {
    /// Reads the CA certificates for the first time. Without `reviewer`, bearer tokens are ignored.
    ///
    /// # Errors
    /// If a configured file cannot be used, or the lookup of the ConfigMap fails and is not optional.
    pub async fn open(
        config: AuthenticationConfig,
        reviewer: Option<Arc<dyn TokenReviewer>>,
        lookup: Option<Arc<dyn AuthConfigLookup>>,
        metrics: ServingMetrics,
    ) -> Result<Self, AuthnError> {
        let lookup = lookup.filter(|_| !config.skip_lookup);
        if lookup.is_none() && config.client_ca_file.is_none() {
            warn!("no --client-ca-file and no lookup of the cluster's: client certificates are not accepted");
        }
        let Found { authorities, bad_files, bad_lookup } =
            sources::read(&config, lookup.as_deref(), &Authorities::default()).await;
        if let Some(error) = bad_files.into_iter().next() {
            return Err(error);
        }
        match bad_lookup {
            Some(error) if config.tolerate_lookup_failure => {
                warn!(%error, "continuing without the cluster's authorities; those given by flags are in use");
            }
            Some(error) => return Err(error),
            None => {}
        }
        let loopback_token = random_token();
        Ok(Self {
            bearer: reviewer
                .map(|reviewer| BearerTokens::new(reviewer, config.token_cache_ttl, metrics.clone())),
            loopback_digest: digest([loopback_token.as_bytes()]),
            loopback_token,
            authorities: ArcSwap::from_pointee(authorities),
            config,
            lookup,
            metrics,
        })
    }

    /// The token that authenticates its bearer as a member of `system:masters` on this server. It is random and known to this process only.
    #[must_use]
    pub fn loopback_token(&self) -> &str {
        &self.loopback_token
    }

    /// Re-reads the CA certificates periodically, so that rotations are picked up. Ends with `shutdown`.
    pub async fn run(&self, timings: &ServingTimings, shutdown: CancellationToken) {
        let period = timings.authority_refresh.max(std::time::Duration::from_millis(1));
        let mut ticks = interval_at(Instant::now() + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            if shutdown.run_until_cancelled(self.refresh()).await.is_none() {
                return;
            }
        }
    }

    /// Replaces the CA certificates that can be read; the others stay as they are.
    async fn refresh(&self) {
        let old = self.authorities.load_full();
        let Found { authorities, bad_files, bad_lookup } =
            sources::read(&self.config, self.lookup.as_deref(), &old).await;
        self.authorities.store(Arc::new(authorities));
        for error in bad_files.into_iter().chain(bad_lookup) {
            warn!(%error, "authorities for client certificates not refreshed; the old ones stay in use");
            self.metrics.reload_failed("client-authorities");
        }
    }

    /// Authenticates a caller by its certificate chain (leaf first, may be empty) and headers. The handshake has proven possession of the
    /// leaf's key.
    ///
    /// # Errors
    /// If credentials were presented and none was accepted.
    pub async fn authenticate(
        &self,
        chain: &[CertificateDer<'_>],
        headers: &HeaderMap,
    ) -> Result<User, Unauthorized> {
        let since = Instant::now();
        let outcome = self.decide(chain, headers).await;
        self.metrics.authenticated(outcome.as_ref().ok().map(|user| user.name.as_str()), since.elapsed());
        if let Err(error) = &outcome {
            debug!(%error, "request not authenticated");
        }
        outcome
    }

    async fn decide(&self, chain: &[CertificateDer<'_>], headers: &HeaderMap) -> Result<User, Unauthorized> {
        let token = bearer_token(headers);
        // Comparing digests takes the same time whatever the token is, so the timing reveals nothing about it.
        if token.is_some_and(|token| digest([token.as_bytes()]) == self.loopback_digest) {
            return Ok(User::loopback());
        }
        let authorities = self.authorities.load_full();
        let mut reasons = Vec::new();
        for tried in [authorities.front_proxy_user(chain, headers), authorities.certificate_user(chain)] {
            match tried {
                Ok(Some(user)) => return Ok(user.authenticated()),
                Ok(None) => {}
                Err(reason) => reasons.push(reason),
            }
        }
        if let (Some(token), Some(bearer)) = (token, &self.bearer) {
            match bearer.owner(token).await {
                Ok(Some(user)) => return Ok(user.authenticated()),
                Ok(None) => reasons.push("bearer token not accepted".to_owned()),
                Err(error) => reasons.push(format!("bearer token not reviewed: {error}")),
            }
        }
        if reasons.is_empty() { Ok(User::anonymous()) } else { Err(Unauthorized { reasons }) }
    }
}

fn random_token() -> String {
    let mut bytes = [0u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The token of an `Authorization: Bearer …` header.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
