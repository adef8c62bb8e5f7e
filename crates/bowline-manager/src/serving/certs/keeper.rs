//! Keeps the [`CertStore`] up to date: polls the certificate files and renews the self-signed pair. It never ends the process.
//!
//! An invalid or half-written replacement is reported and the pair in use stays; only at startup is it an error.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::pair::{PairFiles, WatchedPair, host_names};
use super::{CertError, CertSet, CertStore, self_signed};
use crate::serving::config::{ServingConfig, ServingTimings};
use crate::serving::metrics::ServingMetrics;

/// The default pair, and how it is replaced.
#[derive(Debug)]
enum DefaultPair {
    /// Provided by the user in these files, and reloaded when they change.
    Files(WatchedPair),
    /// Created and renewed by this process, in memory and, with `--cert-dir`, in these files.
    SelfSigned { key: Arc<CertifiedKey>, files: Option<PairFiles>, renew_at: Instant },
}

impl DefaultPair {
    fn key(&self) -> Arc<CertifiedKey> {
        match self {
            Self::Files(pair) => pair.key(),
            Self::SelfSigned { key, .. } => Arc::clone(key),
        }
    }
}

#[derive(Debug)]
struct SniPair {
    pair: WatchedPair,
    names: Vec<String>,
}

/// Owns the sources of a [`CertStore`].
#[derive(Debug)]
pub struct CertKeeper {
    store: Arc<CertStore>,
    provider: Arc<CryptoProvider>,
    default: DefaultPair,
    sni: Vec<SniPair>,
    bind_address: IpAddr,
    timings: ServingTimings,
    metrics: ServingMetrics,
}

impl CertKeeper {
    /// Loads or creates every pair that `config` requires.
    ///
    /// # Errors
    /// If a configured pair cannot be used, or a self-signed pair cannot be created or written.
    pub async fn open(
        config: &ServingConfig,
        timings: ServingTimings,
        metrics: ServingMetrics,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, CertError> {
        let default = match given_files(config)? {
            Some(files) => DefaultPair::Files(WatchedPair::load(files, &provider).await?),
            None => open_self_signed(config, &timings, &provider).await?,
        };
        let mut sni = Vec::with_capacity(config.sni_cert_keys.len());
        for wanted in &config.sni_cert_keys {
            let files = PairFiles { cert_file: wanted.cert_file.clone(), key_file: wanted.key_file.clone() };
            let pair = WatchedPair::load(files, &provider).await?;
            sni.push(SniPair { pair, names: wanted.names.clone() });
        }
        let store = Arc::new(CertStore::new(cert_set(&default, &sni)));
        let bind_address = config.bind_address;
        Ok(Self { store, provider, default, sni, bind_address, timings, metrics })
    }

    /// The store that the TLS library reads.
    #[must_use]
    pub fn store(&self) -> Arc<CertStore> {
        Arc::clone(&self.store)
    }

    /// Polls files and renews the self-signed pair until `shutdown`.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let period = self.timings.cert_poll.max(Duration::from_millis(1));
        let mut polls = interval_at(Instant::now() + period, period);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let renew_at = match &self.default {
                DefaultPair::SelfSigned { renew_at, .. } => Some(*renew_at),
                DefaultPair::Files(_) => None,
            };
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = sleep_until(renew_at.unwrap_or_else(Instant::now)), if renew_at.is_some() => self.renew().await,
                _ = polls.tick() => self.poll().await,
            }
        }
    }

    /// Checks every watched file once for changes.
    async fn poll(&mut self) {
        let mut changed = false;
        let mut problems = Vec::new();
        let default = match &mut self.default {
            DefaultPair::Files(pair) => Some(pair),
            DefaultPair::SelfSigned { .. } => None,
        };
        for pair in default.into_iter().chain(self.sni.iter_mut().map(|sni| &mut sni.pair)) {
            match pair.poll(&self.provider).await {
                Ok(false) => {}
                Ok(true) => {
                    info!(file = %pair.files().cert_file.display(), "serving certificate reloaded");
                    changed = true;
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        if changed {
            self.store.replace(cert_set(&self.default, &self.sni));
        }
        self.report(&problems);
    }

    /// Logs and counts problems when they appear or change, not at every poll.
    fn report(&self, problems: &[String]) {
        let now = (!problems.is_empty()).then(|| problems.join("; "));
        let before = self.store.problem();
        if now.as_ref() == before.as_deref() {
            return;
        }
        if let Some(problem) = &now {
            warn!(%problem, "serving certificate not reloaded; the one in use stays");
            self.metrics.reload_failed("serving-certificate");
        }
        self.store.set_problem(now);
    }

    async fn renew(&mut self) {
        let DefaultPair::SelfSigned { key, files, renew_at } = &mut self.default else { return };
        let made = make_self_signed(self.bind_address, files.as_ref(), &self.provider).await;
        let problem = match made {
            Ok(made) => {
                *key = made.key;
                *renew_at = Instant::now() + self.timings.self_signed_rotate_after;
                made.not_kept.map(|error| error.to_string())
            }
            Err(error) => {
                // Most of the year's validity is still left, so a retry after an hour is early enough.
                *renew_at = Instant::now() + Duration::from_hours(1);
                Some(error.to_string())
            }
        };
        match problem {
            None => info!("self-signed serving certificate renewed"),
            Some(problem) => {
                warn!(%problem, "self-signed serving certificate not renewed completely");
                self.metrics.reload_failed("self-signed-certificate");
            }
        }
        self.store.replace(cert_set(&self.default, &self.sni));
    }
}

fn given_files(config: &ServingConfig) -> Result<Option<PairFiles>, CertError> {
    match (&config.cert_file, &config.key_file) {
        (Some(cert_file), Some(key_file)) => {
            Ok(Some(PairFiles { cert_file: cert_file.clone(), key_file: key_file.clone() }))
        }
        (None, None) => Ok(None),
        (Some(given), None) | (None, Some(given)) => Err(CertError::HalfPair { given: given.clone() }),
    }
}

/// Loads the pair in `--cert-dir`, or creates one and writes it there.
async fn open_self_signed(
    config: &ServingConfig,
    timings: &ServingTimings,
    provider: &CryptoProvider,
) -> Result<DefaultPair, CertError> {
    let files = config.cert_dir.as_deref().map(self_signed::files_in);
    if let Some(files) = &files
        && let Some(kept) = open_kept(files, timings, provider).await?
    {
        return Ok(kept);
    }
    let made = make_self_signed(config.bind_address, files.as_ref(), provider).await?;
    match made.not_kept {
        Some(error) => Err(error),
        None => {
            let renew_at = Instant::now() + timings.self_signed_rotate_after;
            Ok(DefaultPair::SelfSigned { key: made.key, files, renew_at })
        }
    }
}

/// The pair in the directory. `None` if there is none, or if this program created it and it must be replaced: because of its age, or
/// because a crash during the write left a certificate and key that do not match.
async fn open_kept(
    files: &PairFiles,
    timings: &ServingTimings,
    provider: &CryptoProvider,
) -> Result<Option<DefaultPair>, CertError> {
    if !files.cert_file.exists() && !files.key_file.exists() {
        return Ok(None);
    }
    let pair = match WatchedPair::load(files.clone(), provider).await {
        Ok(pair) => pair,
        Err(problem) if self_signed::are_ours(files).await => {
            warn!(%problem, "the self-signed serving certificate cannot be used; a new one is made");
            return Ok(None);
        }
        Err(problem) => return Err(problem),
    };
    let key = pair.key();
    let age = key.cert.first().and_then(|leaf| self_signed::age_if_ours(leaf, SystemTime::now()));
    Ok(match age.map(|age| timings.self_signed_rotate_after.saturating_sub(age)) {
        None => Some(DefaultPair::Files(pair)),
        Some(Duration::ZERO) => None,
        Some(rest) => {
            let renew_at = Instant::now() + rest;
            Some(DefaultPair::SelfSigned { key, files: Some(files.clone()), renew_at })
        }
    })
}

struct Made {
    key: Arc<CertifiedKey>,
    /// Why the pair could not be written to its files; it is used anyway.
    not_kept: Option<CertError>,
}

async fn make_self_signed(
    bind_address: IpAddr,
    files: Option<&PairFiles>,
    provider: &CryptoProvider,
) -> Result<Made, CertError> {
    let pem = self_signed::generate(bind_address, SystemTime::now())?;
    let in_memory = PairFiles { cert_file: PathBuf::from("<memory>"), key_file: PathBuf::from("<memory>") };
    let key = files.unwrap_or(&in_memory).parse(pem.cert.as_bytes(), pem.key.as_bytes(), provider)?;
    let not_kept = match files {
        Some(files) => self_signed::write(files, &pem).await.err(),
        None => None,
    };
    Ok(Made { key: Arc::new(key), not_kept })
}

/// If several pairs have the same name, the first one is used for it.
fn cert_set(default: &DefaultPair, sni: &[SniPair]) -> CertSet {
    let mut by_name = BTreeMap::new();
    for SniPair { pair, names } in sni {
        let key = pair.key();
        let names = if names.is_empty() { host_names(&key) } else { names.clone() };
        for name in names {
            by_name.entry(name).or_insert_with(|| Arc::clone(&key));
        }
    }
    CertSet { default: default.key(), by_name }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::path::Path;

    use super::self_signed::{PemPair, files_in, generate};
    use super::*;

    fn ours() -> PemPair {
        generate(Ipv4Addr::LOCALHOST.into(), SystemTime::now()).unwrap()
    }

    fn theirs() -> PemPair {
        let made = rcgen::generate_simple_self_signed(vec!["ccm.example".to_owned()]).unwrap();
        PemPair { cert: made.cert.pem(), key: made.signing_key.serialize_pem() }
    }

    /// A directory with these contents of the two files.
    fn dir_with(cert: Option<&str>, key: Option<&str>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let files = files_in(dir.path());
        for (file, content) in [(files.cert_file, cert), (files.key_file, key)] {
            if let Some(content) = content {
                std::fs::write(file, content).unwrap();
            }
        }
        dir
    }

    async fn open(dir: &Path) -> Result<CertKeeper, CertError> {
        let config = ServingConfig { cert_dir: Some(dir.to_owned()), ..ServingConfig::default() };
        let provider = crate::serving::tls::provider();
        CertKeeper::open(&config, ServingTimings::default(), ServingMetrics::default(), provider).await
    }

    #[tokio::test]
    async fn a_pair_of_ours_that_a_crash_left_half_written_is_made_anew() {
        let (old, new) = (ours(), ours());
        for (case, key) in [
            ("the key of the pair before", Some(old.key.as_str())),
            ("no key", None),
            ("a key cut short", new.key.get(..40)),
        ] {
            let dir = dir_with(Some(&new.cert), key);
            let made = open(dir.path()).await.unwrap_or_else(|error| panic!("{case}: {error}"));
            let again = open(dir.path()).await.unwrap_or_else(|error| panic!("{case}, next start: {error}"));
            let shown = |keeper: &CertKeeper| keeper.store.current().default.cert.clone();
            assert_eq!(shown(&made), shown(&again), "{case}: the new pair is kept");
        }
    }

    #[tokio::test]
    async fn halves_that_someone_else_put_there_are_refused_and_left_alone() {
        let (one, two, mine) = (theirs(), theirs(), ours());
        for (case, cert, key) in [
            ("a mismatch", Some(one.cert.as_str()), Some(two.key.as_str())),
            ("a certificate alone", Some(one.cert.as_str()), None),
            ("a key alone", None, Some(one.key.as_str())),
            ("our key to their certificate", Some(one.cert.as_str()), Some(mine.key.as_str())),
        ] {
            let dir = dir_with(cert, key);
            assert!(open(dir.path()).await.is_err(), "{case}");
            let files = files_in(dir.path());
            assert_eq!(std::fs::read_to_string(files.cert_file).ok().as_deref(), cert, "{case}");
            assert_eq!(std::fs::read_to_string(files.key_file).ok().as_deref(), key, "{case}");
        }
    }
}
