//! Where the API server is and who we are to it: `--kubeconfig`, `--master`, or the pod's own service account.

use std::path::{Path, PathBuf};

use kube::{
    Config,
    config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};

/// No usable configuration was found. The message says what was tried.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file given with `--kubeconfig` is of no use.
    #[error("--kubeconfig={}: {source}; check that the file exists, parses and names a current-context", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<KubeconfigError>,
    },
    /// The address given with `--master` is not a URL.
    #[error("--master={value}: {why}; give a URL such as https://10.0.0.1:6443")]
    Master {
        /// What was given.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing was given, and this is not a pod with a service account.
    #[error(
        "neither --kubeconfig nor --master was given, and the in-cluster configuration cannot be used: {0}; \
         run in a pod with a mounted service account token, or give --kubeconfig"
    )]
    InCluster(#[source] Box<InClusterError>),
}

/// The configuration that the flags ask for. An empty flag counts as not given.
///
/// A kubeconfig wins over the pod's service account; `master` replaces the address in it. `master` alone is an
/// address without credentials, as it is for upstream.
///
/// # Errors
///
/// [`ConfigError`], which says what was tried and what to do.
pub async fn load_config(kubeconfig: Option<&Path>, master: Option<&str>) -> Result<Config, ConfigError> {
    let kubeconfig = kubeconfig.filter(|path| !path.as_os_str().is_empty());
    let master = master.filter(|value| !value.is_empty()).map(parse_master).transpose()?;
    match (kubeconfig, master) {
        (Some(path), master) => {
            let mut config = from_file(path).await.map_err(|source| ConfigError::Kubeconfig {
                path: path.to_owned(),
                source: Box::new(source),
            })?;
            if let Some(url) = master {
                config.cluster_url = url;
            }
            Ok(config)
        }
        (None, Some(url)) => Ok(Config::new(url)),
        (None, None) => Config::incluster().map_err(|source| ConfigError::InCluster(Box::new(source))),
    }
}

async fn from_file(path: &Path) -> Result<Config, KubeconfigError> {
    let kubeconfig = Kubeconfig::read_from(path)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await
}

/// Go takes a bare `host:port` for plain HTTP; so do we.
fn parse_master(value: &str) -> Result<http::Uri, ConfigError> {
    let fail = |why: String| ConfigError::Master { value: value.to_owned(), why };
    let full = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let url: http::Uri = full.parse().map_err(|why| fail(format!("{why}")))?;
    match (url.scheme_str(), url.host()) {
        (Some("http" | "https"), Some(_)) => Ok(url),
        (scheme, _) => Err(fail(format!("scheme {scheme:?} is neither http nor https"))),
    }
}
