//! What the manager says of itself to those who run it: `/readyz?verbose`, as they ask it.

use bowline_testkit::apiserver::Identity;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Client, Result};

use super::Site;
use crate::patience::until;

impl Site<'_> {
    /// What the running manager says of each of its parts.
    pub(crate) async fn readiness(&self) -> anyhow::Result<String> {
        // Reasons are told to those who run the cluster, and withheld from others.
        let admin = Kubeconfig::read_from(self.cluster.kubeconfig(&Identity::Admin).await?)?;
        let mut config = Config::from_custom_kubeconfig(admin, &KubeConfigOptions::default()).await?;
        config.cluster_url = format!("https://127.0.0.1:{}", self.port).parse()?;
        config.accept_invalid_certs = true;
        let request = http::Request::get("/readyz?verbose").body(Vec::new())?;
        let said: Result<String> = Client::try_from(config)?.request_text(request).await;
        // A manager that is not ready says why, too.
        said.or_else(|error| match error {
            kube::Error::Api(status) => Ok(status.message),
            other => Err(other.into()),
        })
    }

    /// Waits until the manager says something of itself.
    pub(crate) async fn until_it_says(&self, part: &str) -> anyhow::Result<()> {
        let mut last = String::new();
        let seen = until(&format!("readiness with {part:?}"), async || {
            last = self.readiness().await?;
            Ok(last.contains(part).then_some(()))
        })
        .await;
        seen.map_err(|error| error.context(format!("it says {last}\n{}", self.tail())))
    }
}
