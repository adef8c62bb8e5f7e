//! Loads the address of the API server and the credentials: from `--kubeconfig`, `--master`, or the pod's service account.

use std::path::{Path, PathBuf};

use kube::{Config, config::InClusterError};

use super::{
    kubeconfig,
    proxy::{self, ProxyError, ProxyVariables},
};

/// No usable configuration was found. The message lists what was tried.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file given with `--kubeconfig` is not usable.
    #[error("--kubeconfig={}: {why}; check that the file exists, parses and names a current-context", path.display())]
    Kubeconfig {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with the file, without quoting it.
        why: String,
    },
    /// No kubeconfig was found in kubectl's locations, or it is not usable.
    #[error("kubeconfig: {0}; give one with --kubeconfig or KUBECONFIG, and a context of it with --context")]
    Person(String),
    /// The proxy to the API server cannot be used.
    #[error("the proxy to the API server at {server}: {source}")]
    Proxy {
        /// The address of the API server.
        server: String,
        /// What is wrong with the proxy.
        source: ProxyError,
    },
    /// The address given with `--master` is not a URL.
    #[error("--master={value}: {why}; give a URL such as https://10.0.0.1:6443")]
    Master {
        /// The given value.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// No flag was given, and the process does not run in a pod with a service account.
    #[error(
        "neither --kubeconfig nor --master was given, and the in-cluster configuration cannot be used: {0}; \
         run in a pod with a mounted service account token, or give --kubeconfig"
    )]
    InCluster(#[source] Box<InClusterError>),
}

/// Loads the configuration that the flags select. An empty flag counts as not given.
///
/// A kubeconfig takes precedence over the pod's service account; `master` replaces the address in it. `master` alone is an address without
/// credentials, as in upstream.
///
/// # Errors
///
/// [`ConfigError`], with what was tried and what to do.
pub async fn load_config(kubeconfig: Option<&Path>, master: Option<&str>) -> Result<Config, ConfigError> {
    load_with(kubeconfig, master, &ProxyVariables::of_process())
}

/// Loads the configuration that kubectl would use: from the file at `kubeconfig`, else from the files in `KUBECONFIG`, else from the one in
/// the home directory; in a pod without any of these, from its service account. `context` selects a context other than the current one.
///
/// # Errors
///
/// [`ConfigError`], with what was tried and what to do.
pub fn load_as_kubectl(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, ConfigError> {
    let (mut config, written) = match kubeconfig::read_as_kubectl(kubeconfig, context) {
        Ok(read) => (read.config, read.proxy_url),
        Err(why) => match Config::incluster() {
            Ok(config) if kubeconfig.is_none() && context.is_none() => (config, None),
            _ => return Err(ConfigError::Person(why)),
        },
    };
    config.proxy_url = proxy_of(&config, written.as_deref(), &ProxyVariables::of_process())?;
    Ok(config)
}

pub(super) fn load_with(
    kubeconfig: Option<&Path>,
    master: Option<&str>,
    variables: &ProxyVariables,
) -> Result<Config, ConfigError> {
    let kubeconfig = kubeconfig.filter(|path| !path.as_os_str().is_empty());
    let master = master.filter(|value| !value.is_empty()).map(parse_master).transpose()?;
    let (mut config, written) = match (kubeconfig, &master) {
        (Some(path), _) => {
            let read = kubeconfig::read(path);
            let read = read.map_err(|why| ConfigError::Kubeconfig { path: path.to_owned(), why })?;
            (read.config, read.proxy_url)
        }
        (None, Some(url)) => (Config::new(url.clone()), None),
        (None, None) => {
            let config = Config::incluster().map_err(|source| ConfigError::InCluster(Box::new(source)))?;
            (config, None)
        }
    };
    if let Some(url) = master {
        config.cluster_url = url;
    }
    config.proxy_url = proxy_of(&config, written.as_deref(), variables)?;
    Ok(config)
}

fn proxy_of(
    config: &Config,
    written: Option<&str>,
    variables: &ProxyVariables,
) -> Result<Option<http::Uri>, ConfigError> {
    let server = &config.cluster_url;
    proxy::choose(written, server, variables).map_err(|source| ConfigError::Proxy {
        server: server.authority().map_or_else(String::new, ToString::to_string),
        source,
    })
}

/// A bare `host:port` means plain HTTP, as in Go.
fn parse_master(value: &str) -> Result<http::Uri, ConfigError> {
    let fail = |why: String| ConfigError::Master { value: value.to_owned(), why };
    let full = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let url: http::Uri = full.parse().map_err(|why| fail(format!("{why}")))?;
    match (url.scheme_str(), url.host()) {
        (Some("http" | "https"), Some(_)) => Ok(url),
        (scheme, _) => Err(fail(format!("scheme {scheme:?} is neither http nor https"))),
    }
}
