//! Authorities from files while the cluster's part fails or does not answer.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::HeaderMap;
use tokio_util::sync::CancellationToken;

use super::client::ClientCert;
use super::fixture::{Authority, Fixture};
use crate::serving::reviews::ReviewError;
use crate::serving::{AuthConfigLookup, Authenticator, ServingMetrics, ServingTimings};

/// A ConfigMap that can be read until it fails, or until it does not answer.
struct Failing {
    data: BTreeMap<String, String>,
    fails: AtomicBool,
    silent: bool,
}

#[async_trait]
impl AuthConfigLookup for Failing {
    async fn fetch(&self) -> Result<Option<BTreeMap<String, String>>, ReviewError> {
        match self.fails.load(Ordering::SeqCst) {
            true if self.silent => pending().await,
            true => Err(ReviewError::temporary("the API server is down")),
            false => Ok(Some(self.data.clone())),
        }
    }
}

/// Clients from a file, front proxies from the cluster, whose part fails from now on.
struct Half {
    authn: Arc<Authenticator>,
    proxies: Authority,
    dir: tempfile::TempDir,
}

impl Half {
    async fn open(clients: &Authority, silent: bool, metrics: &ServingMetrics) -> Self {
        let (dir, proxies) = (tempfile::tempdir().unwrap(), Authority::new("proxies"));
        let file = dir.path().join("clients.crt");
        std::fs::write(&file, &clients.pem).unwrap();
        let data = [
            ("requestheader-client-ca-file", proxies.pem.clone()),
            ("requestheader-username-headers", r#"["X-Remote-User"]"#.to_owned()),
        ];
        let data = data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let lookup = Arc::new(Failing { data, fails: AtomicBool::new(false), silent });
        let mut fixture = Fixture { lookup: Some(lookup.clone()), ..Fixture::default() };
        fixture.authn.client_ca_file = Some(file);
        let authn = fixture.authenticator(metrics).await.unwrap();
        lookup.fails.store(true, Ordering::SeqCst);
        Self { authn, proxies, dir }
    }

    fn write(&self, pem: &str) {
        std::fs::write(self.dir.path().join("clients.crt"), pem).unwrap();
    }

    async fn accepts(&self, client: &ClientCert) -> bool {
        self.authn.authenticate(&client.chain, &HeaderMap::new()).await.is_ok()
    }

    async fn accepts_proxies(&self) -> bool {
        let proxy = self.proxies.client("front-proxy", &[]);
        let headers = [(http::HeaderName::from_static("x-remote-user"), "jane".parse().unwrap())];
        let user = self.authn.authenticate(&proxy.chain, &headers.into_iter().collect()).await;
        user.is_ok_and(|user| user.name == "jane")
    }

    /// Refreshes until `client` is accepted, at most for ten minutes of the test's clock.
    async fn refresh_until_accepted(&self, client: &ClientCert) {
        let (stop, timings) = (CancellationToken::new(), ServingTimings::default());
        let accepted = async {
            while !self.accepts(client).await {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            stop.cancel();
        };
        let both = async { tokio::join!(self.authn.run(&timings, stop.clone()), accepted) };
        tokio::time::timeout(Duration::from_mins(10), both).await.expect("never accepted, or never stopped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_is_followed_while_the_lookup_fails_and_the_clusters_part_stays() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let half = Half::open(&old, false, &ServingMetrics::default()).await;
    let (before, after) = (old.client("jane", &[]), new.client("jane", &[]));
    assert!(half.accepts(&before).await && !half.accepts(&after).await);
    assert!(half.accepts_proxies().await);
    half.write(&new.pem);
    half.refresh_until_accepted(&after).await;
    assert!(!half.accepts(&before).await, "its authority is gone");
    assert!(half.accepts_proxies().await, "nothing newer is known of them");
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_never_answers_holds_up_neither_files_nor_shutdown() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let half = Half::open(&old, true, &ServingMetrics::default()).await;
    half.write(&new.pem);
    half.refresh_until_accepted(&new.client("jane", &[])).await;

    let (stop, timings) = (CancellationToken::new(), ServingTimings::default());
    let in_the_lookup = timings.authority_refresh + Duration::from_secs(1);
    let start = tokio::time::Instant::now();
    let ask_to_stop = async {
        tokio::time::sleep(in_the_lookup).await;
        stop.cancel();
    };
    tokio::join!(half.authn.run(&timings, stop.clone()), ask_to_stop);
    assert_eq!(start.elapsed(), in_the_lookup);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_cannot_be_used_leaves_its_authorities_in_place_and_is_counted() {
    let (clients, metrics) = (Authority::new("clients"), ServingMetrics::default());
    let half = Half::open(&clients, false, &metrics).await;
    half.write("rubbish");
    let (stop, timings) = (CancellationToken::new(), ServingTimings::default());
    let two_rounds = timings.authority_refresh * 2 + Duration::from_secs(1);
    let run = half.authn.run(&timings, stop);
    assert!(tokio::time::timeout(two_rounds, run).await.is_err(), "runs until told to stop");
    assert!(half.accepts(&clients.client("jane", &[])).await);
    assert!(half.accepts_proxies().await);
    let (mut registry, mut page) = (prometheus_client::registry::Registry::default(), String::new());
    metrics.register(&mut registry);
    prometheus_client::encoding::text::encode(&mut page, &registry).unwrap();
    let counted = r#"bowline_serving_reload_failures_total{source="client-authorities"} 4"#;
    assert!(page.contains(counted), "two rounds of file and lookup:\n{page}");
}
