//! A server on an ephemeral port with reviewers in memory, and authorities to sign clients with.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use prometheus_client::registry::Registry;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::client::{Ask, ClientCert, Reply, send};
use crate::serving::reviews::{AccessRequest, AccessVerdict, ReviewError};
use crate::serving::*;
use crate::status::StatusPage;

/// `good` belongs to jane, `admin` to an administrator, `down` cannot be reviewed; all else is not accepted.
#[derive(Default)]
pub(super) struct Tokens {
    pub(super) calls: AtomicUsize,
}

#[async_trait]
impl TokenReviewer for Tokens {
    async fn review(&self, token: &str) -> Result<Option<User>, ReviewError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match token {
            "good" => Ok(Some(User::new("jane", &["readers"]))),
            "admin" => Ok(Some(User::new("root", &["system:masters"]))),
            "down" => Err(ReviewError::permanent("connection refused")),
            _ => Ok(None),
        }
    }
}

/// Members of `readers` may get everything; the path `/configz` cannot be reviewed.
#[derive(Default)]
pub(super) struct Access {
    pub(super) calls: AtomicUsize,
}

#[async_trait]
impl AccessReviewer for Access {
    async fn review(&self, request: AccessRequest<'_>) -> Result<AccessVerdict, ReviewError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if request.path == "/configz" {
            return Err(ReviewError::permanent("no route to host"));
        }
        let allowed = request.verb == "get" && request.user.is_member_of("readers");
        Ok(AccessVerdict { allowed, reason: String::new() })
    }
}

/// Reviews that always fail, as with a kubeconfig for a server that is not there.
pub(super) struct Broken;

#[async_trait]
impl TokenReviewer for Broken {
    async fn review(&self, _token: &str) -> Result<Option<User>, ReviewError> {
        Err(ReviewError::permanent("connection refused"))
    }
}

#[async_trait]
impl AccessReviewer for Broken {
    async fn review(&self, _request: AccessRequest<'_>) -> Result<AccessVerdict, ReviewError> {
        Err(ReviewError::permanent("connection refused"))
    }
}

#[async_trait]
impl AuthConfigLookup for Broken {
    async fn fetch(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError> {
        Err(ReviewError::permanent("configmaps is forbidden"))
    }
}

/// The ConfigMap, as a value that tests may change.
#[derive(Default)]
pub(super) struct Lookup(pub(super) parking_lot::Mutex<BTreeMap<String, String>>);

impl Lookup {
    pub(super) fn with(data: &[(&str, String)]) -> Arc<Self> {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Arc::new(Self(parking_lot::Mutex::new(data.collect())))
    }
}

#[async_trait]
impl AuthConfigLookup for Lookup {
    async fn fetch(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError> {
        Ok(Some(self.0.lock().clone()))
    }
}

/// An authority that signs client certificates.
pub(super) struct Authority {
    pub(super) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    pub(super) fn client(&self, common_name: &str, organizations: &[&str]) -> ClientCert {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for organization in organizations {
            params.distinguished_name.push(DnType::OrganizationName, *organization);
        }
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        ClientCert { chain: vec![cert.der().clone()], key }
    }
}

/// Everything a server is started from.
pub(super) struct Fixture {
    pub(super) config: ServingConfig,
    pub(super) authn: AuthenticationConfig,
    pub(super) authz: AuthorizationConfig,
    pub(super) tokens: Option<Arc<dyn TokenReviewer>>,
    pub(super) access: Option<Arc<dyn AccessReviewer>>,
    pub(super) lookup: Option<Arc<dyn AuthConfigLookup>>,
    pub(super) timings: ServingTimings,
    pub(super) health: Arc<HealthRegistry>,
    pub(super) metrics: MetricsPage,
    pub(super) status_page: Option<StatusPage>,
    pub(super) shutdown: CancellationToken,
}

impl Default for Fixture {
    fn default() -> Self {
        let health = HealthRegistry::new();
        health.add("leaderElection", CheckSets::ALL, || Ok(()));
        Self {
            config: ServingConfig {
                bind_address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                ..ServingConfig::default()
            },
            authn: AuthenticationConfig::default(),
            authz: AuthorizationConfig::default(),
            tokens: Some(Arc::new(Tokens::default())),
            access: Some(Arc::new(Access::default())),
            lookup: None,
            timings: ServingTimings::default(),
            health: Arc::new(health),
            metrics: MetricsPage::of(Arc::new(Registry::default())),
            status_page: None,
            shutdown: CancellationToken::new(),
        }
    }
}

impl Fixture {
    pub(super) async fn authenticator(
        &self,
        metrics: &ServingMetrics,
    ) -> Result<Arc<Authenticator>, AuthnError> {
        let opened = Authenticator::open(
            self.authn.clone(),
            self.tokens.clone(),
            self.lookup.clone(),
            metrics.clone(),
        );
        Ok(Arc::new(opened.await?))
    }

    pub(super) async fn parts(self) -> (ServingConfig, ServerParts) {
        let metrics = ServingMetrics::default();
        let authenticator = self.authenticator(&metrics).await.unwrap();
        let level = Arc::new(parking_lot::Mutex::new("0".to_owned()));
        let set_level = Arc::clone(&level);
        let parts = ServerParts {
            authenticator,
            authorizer: Arc::new(Authorizer::new(&self.authz, self.access, metrics.clone())),
            endpoints: Endpoints {
                component: "cloud-controller-manager".to_owned(),
                build: BuildInfo { git_version: "v9.9.9".to_owned(), ..BuildInfo::default() },
                metrics: self.metrics,
                configz: Arc::new(|| {
                    let config = json!({
                        "kind": "CloudControllerManagerConfiguration",
                        "apiVersion": "cloudcontrollermanager.config.k8s.io/v1alpha1",
                    });
                    json!({ "cloudcontrollermanager.config.k8s.io": config })
                }),
                flagz: Arc::new(|| vec![("v".to_owned(), "2".to_owned())]),
                log_level: Some(LogLevelControl {
                    get: Arc::new(move || level.lock().clone()),
                    set: Arc::new(move |wanted| {
                        let number: u8 = wanted.parse().map_err(|error| format!("{error}"))?;
                        *set_level.lock() = number.to_string();
                        Ok(())
                    }),
                }),
                status_page: self.status_page.map(|page| (page, self.shutdown.clone())),
            },
            health: self.health,
            metrics,
            timings: self.timings,
        };
        (self.config, parts)
    }

    pub(super) async fn start(self) -> TestServer {
        let shutdown = self.shutdown.clone();
        let (config, parts) = self.parts().await;
        let loopback_token = parts.authenticator.loopback_token().to_owned();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let server = start(&config, parts, Some(listener), shutdown.clone()).await.unwrap().unwrap();
        TestServer { address: server.address, server, shutdown, loopback_token }
    }
}

pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    pub(super) server: RunningServer,
    pub(super) shutdown: CancellationToken,
    pub(super) loopback_token: String,
}

impl TestServer {
    pub(super) async fn ask(&self, ask: Ask<'_>) -> Reply {
        send(self.address, ask).await
    }

    pub(super) async fn status(&self, ask: Ask<'_>) -> u16 {
        self.ask(ask).await.status.as_u16()
    }
}
