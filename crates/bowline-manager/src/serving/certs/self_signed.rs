//! The self-signed certificate that the server creates if none is configured, in memory or in `--cert-dir`.
//!
//! Only certificates that this program created are replaced: a user's pair in the directory is used and never changed.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType,
    date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::io::AsyncWriteExt;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::CertError;
use super::pair::PairFiles;

/// The validity of a self-signed certificate.
pub const VALIDITY: Duration = Duration::from_hours(24 * 365);

/// How far certificates are backdated, because clocks of clients may be behind.
const CLOCK_SKEW: Duration = Duration::from_hours(1);

/// The organization that marks a certificate as created by this program, which may therefore replace it.
const ORGANIZATION: &str = "bowline self-signed";

/// A new pair in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct PemPair {
    /// The certificate.
    pub cert: String,
    /// Its private key.
    pub key: String,
}

/// The files of the self-signed pair in `dir`.
#[must_use]
pub fn files_in(dir: &Path) -> PairFiles {
    PairFiles {
        cert_file: dir.join("cloud-controller-manager.crt"),
        key_file: dir.join("cloud-controller-manager.key"),
    }
}

/// Creates a pair for `localhost`, 127.0.0.1 and `bind_address` (unless it is unspecified), valid for a year from `now`.
///
/// # Errors
/// If the library cannot create a key or sign.
pub fn generate(bind_address: IpAddr, now: SystemTime) -> Result<PemPair, CertError> {
    let failed = |error: rcgen::Error| CertError::SelfSigned(error.to_string());
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).map_err(failed)?;
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    if !bind_address.is_unspecified() && !addresses.contains(&bind_address) {
        addresses.push(bind_address);
    }
    params.subject_alt_names.extend(addresses.into_iter().map(SanType::IpAddress));
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, ORGANIZATION);
    params.distinguished_name.push(DnType::CommonName, format!("localhost@{}", since_epoch.as_secs()));
    params.not_before = date_time_ymd(1970, 1, 1) + since_epoch.saturating_sub(CLOCK_SKEW);
    params.not_after = date_time_ymd(1970, 1, 1) + since_epoch + VALIDITY;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(failed)?;
    let cert = params.self_signed(&key).map_err(failed)?;
    Ok(PemPair { cert: cert.pem(), key: key.serialize_pem() })
}

/// The age at `now` of a certificate that this program created; `None` for any other certificate.
#[must_use]
pub fn age_if_ours(leaf: &CertificateDer<'_>, now: SystemTime) -> Option<Duration> {
    let (_, leaf) = X509Certificate::from_der(leaf).ok()?;
    let ours = leaf.issuer().iter_organization().any(|name| name.as_str() == Ok(ORGANIZATION));
    let made_at = u64::try_from(leaf.validity().not_before.timestamp()).ok()? + CLOCK_SKEW.as_secs();
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    ours.then(|| now.saturating_sub(Duration::from_secs(made_at)))
}

/// Whether this program created the certificate in these files. The key file is not read.
pub async fn are_ours(files: &PairFiles) -> bool {
    let Ok(cert) = tokio::fs::read(&files.cert_file).await else { return false };
    CertificateDer::from_pem_slice(&cert).is_ok_and(|leaf| age_if_ours(&leaf, SystemTime::now()).is_some())
}

/// Writes the pair. Each file is replaced atomically; only the owner may read the key.
///
/// The certificate is written first: if the write is interrupted, the certificate shows that this program may replace the files.
///
/// # Errors
/// If a file cannot be written.
pub async fn write(files: &PairFiles, pair: &PemPair) -> Result<(), CertError> {
    if let Some(dir) = files.cert_file.parent() {
        let made = tokio::fs::create_dir_all(dir).await;
        made.map_err(|source| CertError::Write { file: dir.to_owned(), source })?;
    }
    write_file(&files.cert_file, pair.cert.as_bytes(), 0o644).await?;
    write_file(&files.key_file, pair.key.as_bytes(), 0o600).await
}

async fn write_file(file: &Path, content: &[u8], mode: u32) -> Result<(), CertError> {
    let written = async {
        let draft = draft_of(file);
        // Removed first, because a draft left by a crash could have another mode.
        match tokio::fs::remove_file(&draft).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = tokio::fs::OpenOptions::new();
        let mut handle = options.write(true).create_new(true).mode(mode).open(&draft).await?;
        handle.write_all(content).await?;
        handle.sync_all().await?;
        tokio::fs::rename(&draft, file).await
    };
    written.await.map_err(|source| CertError::Write { file: file.to_owned(), source })
}

fn draft_of(file: &Path) -> PathBuf {
    let mut draft = file.as_os_str().to_owned();
    draft.push(".new");
    PathBuf::from(draft)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn leaf(pair: &PemPair) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pair.cert.as_bytes()).unwrap()
    }

    #[test]
    fn the_certificate_names_localhost_and_the_bind_address_and_lasts_a_year() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let pair = generate(IpAddr::V6(Ipv6Addr::LOCALHOST), now).unwrap();
        let der = leaf(&pair);
        let (_, cert) = X509Certificate::from_der(&der).unwrap();
        let names = format!("{:?}", cert.subject_alternative_name().unwrap().unwrap().value.general_names);
        assert!(names.contains("localhost") && names.contains("[127, 0, 0, 1]"), "{names}");
        assert!(names.contains("0, 0, 0, 1]"), "{names}");
        assert_eq!(cert.validity().not_after.timestamp(), 1_800_000_000 + 365 * 24 * 3600);
        assert_eq!(age_if_ours(&der, now + Duration::from_secs(60)), Some(Duration::from_secs(60)));
    }

    #[test]
    fn a_certificate_made_elsewhere_has_no_age_for_us() {
        let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        assert_eq!(age_if_ours(other.cert.der(), SystemTime::now()), None);
    }

    #[tokio::test]
    async fn only_the_owner_can_read_the_written_key() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let files = files_in(&dir.path().join("made"));
        let pair = generate(IpAddr::V4(Ipv4Addr::UNSPECIFIED), SystemTime::now()).unwrap();
        write(&files, &pair).await.unwrap();
        write(&files, &pair).await.unwrap();
        let mode = std::fs::metadata(&files.key_file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&files.cert_file).unwrap(), pair.cert);
    }
}
