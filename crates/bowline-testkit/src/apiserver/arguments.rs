//! The command lines of etcd and kube-apiserver, as pure functions.
//!
//! Nothing here may weaken authentication or authorization below what a production cluster has: tests of roles would
//! then prove nothing.

use std::path::Path;

use super::pki::{FRONT_PROXY_NAME, Pki};

/// etcd without fsync: the data is thrown away, and fsync is most of what a small etcd does.
pub(crate) fn etcd(data: &Path, client_port: u16, peer_port: u16) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    vec![
        "--name=default".to_owned(),
        format!("--data-dir={}", data.display()),
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
    ]
}

/// kube-apiserver with RBAC, client certificates and real ServiceAccount tokens.
pub(crate) fn kube_apiserver(pki: &Pki, port: u16, etcd_port: u16) -> Vec<String> {
    let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--allow-privileged=true".to_owned(),
        // Nothing reaches the server through its Service, and one server needs no record of its peers.
        "--endpoint-reconciler-type=none".to_owned(),
        file("tls-cert-file", &pki.server.certificate),
        file("tls-private-key-file", &pki.server.key),
        file("client-ca-file", &pki.authority_file),
        file("requestheader-client-ca-file", &pki.front_proxy_authority_file),
        format!("--requestheader-allowed-names={FRONT_PROXY_NAME}"),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        file("proxy-client-cert-file", &pki.front_proxy.certificate),
        file("proxy-client-key-file", &pki.front_proxy.key),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        file("service-account-key-file", &pki.service_account_public_key),
        file("service-account-signing-key-file", &pki.service_account_key),
    ]
}

/// What makes kube-apiserver write down who asked it for what.
pub(crate) fn audit(policy: &Path, log: &Path) -> Vec<String> {
    vec![
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", log.display()),
        // Blocking: an answer that was given is in the log.
        "--audit-log-mode=blocking".to_owned(),
    ]
}

/// What kube-apiserver is told besides, to give Services addresses of both families; one that asks for none gets the first.
pub(crate) fn both_families() -> String {
    "--service-cluster-ip-range=10.0.0.0/16,fd00:5e7::/112".to_owned()
}
