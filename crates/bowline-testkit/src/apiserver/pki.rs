//! The throw-away certificates of one cluster: authorities, server, clients and the ServiceAccount key pair.
//!
//! Writes only into the cluster's own folder. Everything is EC P-256: quick to make, and accepted by kube-apiserver
//! for ServiceAccount tokens too (ES256).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// The name in the certificate with which kube-apiserver speaks to aggregated API servers.
pub(crate) const FRONT_PROXY_NAME: &str = "front-proxy-client";

/// What the server answers to: its loopback address, its cluster IP and its names.
const SERVER_NAMES: [&str; 4] = ["127.0.0.1", "10.0.0.1", "localhost", "kubernetes.default.svc"];

type Authority = CertifiedIssuer<'static, KeyPair>;

/// A certificate and its key, as files.
#[derive(Clone, Debug)]
pub(crate) struct CertifiedFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// All keys of one cluster. Keeps the client authority, so that further users can be made while the cluster runs.
pub(crate) struct Pki {
    folder: PathBuf,
    authority: Authority,
    pub(crate) authority_pem: String,
    pub(crate) authority_file: PathBuf,
    pub(crate) server: CertifiedFiles,
    pub(crate) admin: CertifiedFiles,
    pub(crate) front_proxy_authority_file: PathBuf,
    pub(crate) front_proxy: CertifiedFiles,
    pub(crate) service_account_key: PathBuf,
    pub(crate) service_account_public_key: PathBuf,
}

impl Pki {
    /// Makes all keys and certificates, and writes them into `folder`.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        let authority = new_authority("bowline-test-ca")?;
        let front_proxy_authority = new_authority("bowline-test-front-proxy-ca")?;
        let service_account = KeyPair::generate()?;
        Ok(Self {
            authority_pem: authority.pem(),
            authority_file: write(folder, "ca.crt", &authority.pem())?,
            server: issue(folder, "server", &authority, server_certificate()?)?,
            admin: issue(folder, "admin", &authority, client_certificate("admin", Some("system:masters")))?,
            front_proxy_authority_file: write(folder, "front-proxy-ca.crt", &front_proxy_authority.pem())?,
            front_proxy: issue(
                folder,
                "front-proxy",
                &front_proxy_authority,
                client_certificate(FRONT_PROXY_NAME, None),
            )?,
            service_account_key: write(folder, "sa.key", &service_account.serialize_pem())?,
            service_account_public_key: write(folder, "sa.pub", &service_account.public_key_pem())?,
            folder: folder.to_path_buf(),
            authority,
        })
    }

    /// A client certificate that kube-apiserver takes for `user`, a member of `group`; `file` names its files.
    pub(crate) fn client(
        &self,
        file: &str,
        user: &str,
        group: Option<&str>,
    ) -> anyhow::Result<CertifiedFiles> {
        issue(&self.folder, file, &self.authority, client_certificate(user, group))
    }
}

fn new_authority(name: &str) -> anyhow::Result<Authority> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn server_certificate() -> anyhow::Result<CertificateParams> {
    let mut params = CertificateParams::new(SERVER_NAMES.map(String::from))?;
    params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

/// kube-apiserver reads the user from the common name and the group from the organization (rcgen writes only one).
fn client_certificate(user: &str, group: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, user);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn issue(
    folder: &Path,
    name: &str,
    authority: &Authority,
    mut params: CertificateParams,
) -> anyhow::Result<CertifiedFiles> {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok(CertifiedFiles {
        certificate: write(folder, &format!("{name}.crt"), &certificate.pem())?,
        key: write(folder, &format!("{name}.key"), &key.serialize_pem())?,
    })
}

fn write(folder: &Path, name: &str, pem: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    fs::write(&path, pem).with_context(|| format!("write {}", path.display()))?;
    Ok(path)
}
