//! Which TLS the managers must offer: from flags, or from the cluster's profile. Opens no connection.

mod profile;

#[cfg(test)]
mod tests;

pub use self::profile::{ApiServerTls, CustomProfile, ProfileChoice, SecurityProfile, TlsVersion};

/// What TLS is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// The oldest version.
    pub min_version: TlsVersion,
    /// The cipher suites by IANA's names, in order; none for TLS 1.3, whose suites cannot be chosen.
    pub cipher_suites: Vec<&'static str>,
    /// Suites of the cluster's profile that no manager knows.
    pub ignored: Vec<String>,
}

/// A flag that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A version nobody knows.
    #[error(
        "invalid --tls-min-version value: {found:?}; wanted one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13"
    )]
    Version {
        /// What was given.
        found: String,
    },
    /// A suite nobody knows.
    #[error(
        "invalid --tls-cipher-suites value: {found:?} is no cipher suite; wanted IANA's names, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    )]
    CipherSuite {
        /// What was given.
        found: String,
    },
}

/// The TLS to offer: by flags if there are any, else as the cluster's profile says where it binds us, else Intermediate.
///
/// # Errors
///
/// If a flag cannot be used. What the cluster says is never an error: suites that are not known are left out.
pub fn resolve(
    min_version: &str,
    cipher_suites: &[String],
    cluster: Option<&ApiServerTls>,
) -> Result<TlsConfig, TlsError> {
    if !min_version.is_empty() || !cipher_suites.is_empty() {
        return from_flags(min_version, cipher_suites);
    }
    let binding = cluster.filter(|cluster| cluster.binds_all());
    Ok(binding.map_or_else(|| SecurityProfile::Intermediate.config(), |cluster| cluster.profile().config()))
}

fn from_flags(min_version: &str, cipher_suites: &[String]) -> Result<TlsConfig, TlsError> {
    let version =
        if min_version.is_empty() { Some(TlsVersion::V12) } else { TlsVersion::from_name(min_version) };
    let min_version = version.ok_or_else(|| TlsError::Version { found: min_version.to_owned() })?;
    let known =
        |name: &String| profile::iana(name).ok_or_else(|| TlsError::CipherSuite { found: name.clone() });
    let cipher_suites = cipher_suites.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    Ok(TlsConfig { min_version, cipher_suites, ignored: Vec::new() }.normal())
}

impl TlsConfig {
    fn normal(mut self) -> Self {
        if self.min_version == TlsVersion::V13 {
            self.cipher_suites.clear();
        }
        self
    }

    /// The flags of a manager.
    #[must_use]
    pub fn operand_flags(&self) -> Vec<String> {
        let mut flags = vec![format!("--tls-min-version={}", self.min_version.name())];
        if self.min_version < TlsVersion::V13 && !self.cipher_suites.is_empty() {
            flags.push(format!("--tls-cipher-suites={}", self.cipher_suites.join(",")));
        }
        flags
    }
}
