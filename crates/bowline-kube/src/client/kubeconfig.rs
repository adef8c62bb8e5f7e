//! Converts a kubeconfig to a client configuration. kube can do this too, but only together with its own handling of the proxy variables
//! (see `proxy`), which cannot be disabled. The caller sets the proxy.
//!
//! A kubeconfig contains tokens and keys, so error messages never quote it.

use std::path::Path;

use kube::{
    Config,
    config::{AuthInfo, Cluster, Context, ExecAuthCluster, Kubeconfig, KubeconfigError},
};
use rustls::pki_types::{CertificateDer, pem::PemObject};

/// The result of reading a kubeconfig.
pub(super) struct Read {
    pub(super) config: Config,
    /// The `proxy-url` of the cluster; not part of `config` yet.
    pub(super) proxy_url: Option<String>,
}

/// Reads the current context of the kubeconfig at `path`.
pub(super) fn read(path: &Path) -> Result<Read, String> {
    of(&Kubeconfig::read_from(path).map_err(|error| unquoted(&error))?)
}

/// Reads a context like kubectl: from the file at `path`, else from the files in `KUBECONFIG`, else from the one in the home directory.
pub(super) fn read_as_kubectl(path: Option<&Path>, context: Option<&str>) -> Result<Read, String> {
    let read = path.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    let mut kubeconfig = read.map_err(|error| unquoted(&error))?;
    if let Some(context) = context {
        kubeconfig.current_context = Some(context.to_owned());
    }
    of(&kubeconfig)
}

fn of(kubeconfig: &Kubeconfig) -> Result<Read, String> {
    let context = current_context(kubeconfig)?;
    let cluster = cluster_of(kubeconfig, context)?;
    let user = user_of(kubeconfig, context, cluster)?;
    Ok(Read { config: configure(cluster, context, user)?, proxy_url: cluster.proxy_url.clone() })
}

/// The parse errors of YAML contain the lines around the error, and even without these the value at that place.
fn unquoted(error: &KubeconfigError) -> String {
    let KubeconfigError::Parse(error) = error else { return error.to_string() };
    let place = error
        .location()
        .map_or_else(String::new, |at| format!(" near line {}, column {}", at.line(), at.column()));
    format!("it is not the YAML of a kubeconfig{place} (not shown, for it may be a secret)")
}

fn current_context(kubeconfig: &Kubeconfig) -> Result<&Context, String> {
    let name = kubeconfig.current_context.as_deref().filter(|name| !name.is_empty());
    let name = name.ok_or("it names no current-context")?;
    let found = kubeconfig.contexts.iter().find(|context| context.name == name);
    found
        .and_then(|found| found.context.as_ref())
        .ok_or_else(|| format!("its current-context {name:?} is not among its contexts"))
}

fn cluster_of<'a>(kubeconfig: &'a Kubeconfig, context: &Context) -> Result<&'a Cluster, String> {
    let found = kubeconfig.clusters.iter().find(|cluster| cluster.name == context.cluster);
    found.and_then(|found| found.cluster.as_ref()).ok_or_else(|| {
        format!("the cluster {:?} of its current-context is not among its clusters", context.cluster)
    })
}

/// A context without a user, or with an unknown user, is anonymous, as in client-go.
fn user_of(kubeconfig: &Kubeconfig, context: &Context, cluster: &Cluster) -> Result<AuthInfo, String> {
    let named = kubeconfig.auth_infos.iter().find(|user| Some(&user.name) == context.user.as_ref());
    let mut user = named.and_then(|named| named.auth_info.clone()).unwrap_or_default();
    if let Some(exec) = user.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        exec.cluster = Some(ExecAuthCluster::try_from(cluster).map_err(|error| unquoted(&error))?);
    }
    Ok(user)
}

fn configure(cluster: &Cluster, context: &Context, user: AuthInfo) -> Result<Config, String> {
    let server = cluster.server.as_deref().filter(|server| !server.is_empty());
    let server = server.ok_or_else(|| format!("its cluster {:?} has no server", context.cluster))?;
    let url = server.parse().map_err(|why| format!("the server of cluster {:?}: {why}", context.cluster))?;
    let mut config = Config::new(url);
    if let Some(namespace) = &context.namespace {
        config.default_namespace.clone_from(namespace);
    }
    config.root_cert = authorities(cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.disable_compression = cluster.disable_compression.unwrap_or(false);
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    config.auth_info = user;
    Ok(config)
}

/// The certificates to trust, in DER; `None` means those of the system. kube reads them, from base64 or from a file.
fn authorities(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>, String> {
    let read = ExecAuthCluster::try_from(cluster).map_err(|error| unquoted(&error))?;
    let Some(pem) = read.certificate_authority_data else { return Ok(None) };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.map_err(|_quoting| "its certificate-authority is not PEM")?;
    if found.is_empty() {
        return Err("its certificate-authority holds no certificate".to_owned());
    }
    Ok(Some(found.into_iter().map(|certificate| certificate.to_vec()).collect()))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    struct File(PathBuf);

    impl File {
        fn with(text: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bowline-kubeconfig-{}", uuid::Uuid::new_v4()));
            fs::write(&path, text).unwrap();
            Self(path)
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            fs::remove_file(&self.0).unwrap();
        }
    }

    fn why(text: &str) -> String {
        read(&File::with(text).0).err().unwrap()
    }

    const HEAD: &str = "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
        contexts: [{name: c, context: {cluster: k, user: u, namespace: infra}}]\n";

    #[test]
    fn what_is_wrong_with_a_kubeconfig_is_said_without_quoting_it() {
        for broken in [
            "users:\n- name: u\n  user:\n    token: s3cret-marker\n   broken: [\n",
            "users: s3cret-marker\n",
            "users: [{name: u, user: s3cret-marker}]\n",
            "users: [{name: u, user: {token: [s3cret-marker]}}]\n",
            "users: [{name: u, user: {exec: {command: x, interactiveMode: s3cret-marker}}}]\n",
            "users:\n- name: u\n  user: {token: \"s3cret-marker\n",
        ] {
            let why = why(&format!("{HEAD}{broken}"));
            assert!(!why.contains("s3cret"), "{why}");
            assert!(why.contains("line "), "{why}");
        }
        let base64 =
            "clusters: [{name: k, cluster: {server: 'https://x', certificate-authority-data: '!s3cret!'}}]\n";
        let why = why(&format!("{HEAD}{base64}"));
        assert!(why.contains("base64") && !why.contains("s3cret"), "{why}");
    }

    #[test]
    fn a_kubeconfig_that_lacks_something_says_what() {
        for (text, expected) in [
            (String::new(), "names no current-context"),
            ("current-context: x\n".to_owned(), "\"x\" is not among its contexts"),
            (HEAD.to_owned(), "cluster \"k\""),
            (format!("{HEAD}clusters: [{{name: k, cluster: {{}}}}]\n"), "has no server"),
            (format!("{HEAD}clusters: [{{name: k, cluster: {{server: 'a b'}}}}]\n"), "invalid uri"),
            (
                format!(
                    "{HEAD}clusters: [{{name: k, cluster: {{server: 'https://x', certificate-authority-data: 'eA=='}}}}]\n"
                ),
                "holds no certificate",
            ),
            (
                format!(
                    "{HEAD}clusters: [{{name: k, cluster: {{server: 'https://x', certificate-authority: /does/not/exist}}}}]\n"
                ),
                "/does/not/exist",
            ),
        ] {
            let why = why(&text);
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn everything_that_a_client_needs_is_taken_over() {
        // The body of a certificate is not looked into here; "AQID" is 1, 2, 3.
        let authority = File::with(
            "a remark\n-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n\
             -----BEGIN CERTIFICATE-----\nBAU=\n-----END CERTIFICATE-----\n",
        );
        let file = File::with(&format!(
            "{HEAD}clusters:\n- name: k\n  cluster:\n    server: https://api.example:6443\n    proxy-url: http://bastion\n    \
             certificate-authority: {}\n    tls-server-name: inner\n    disable-compression: true\n    \
             insecure-skip-tls-verify: true\n\
             users: [{{name: u, user: {{exec: {{command: x, provideClusterInfo: true}}}}}}]\n",
            authority.0.display(),
        ));
        let Read { config, proxy_url } = read(&file.0).unwrap();
        assert_eq!(config.cluster_url, "https://api.example:6443/");
        assert_eq!(config.default_namespace, "infra");
        assert_eq!(config.root_cert, Some(vec![vec![1, 2, 3], vec![4, 5]]));
        assert_eq!(config.tls_server_name.as_deref(), Some("inner"));
        assert!(config.disable_compression && config.accept_invalid_certs);
        assert_eq!(config.proxy_url, None);
        assert_eq!(proxy_url.as_deref(), Some("http://bastion"));
        let told = config.auth_info.exec.unwrap().cluster.unwrap();
        assert_eq!(told.server.as_deref(), Some("https://api.example:6443"));
    }

    #[test]
    fn a_context_whose_user_is_not_there_is_anonymous() {
        let file = File::with(&format!("{HEAD}clusters: [{{name: k, cluster: {{server: 'https://x'}}}}]\n"));
        let config = read(&file.0).unwrap().config;
        assert!(config.auth_info.token.is_none() && config.auth_info.exec.is_none());
        assert_eq!(config.root_cert, None, "the authorities of the system");
    }
}
