//! OpenShift's TLS profiles, which are Mozilla's, and the names of suites in OpenSSL and at IANA.

use serde::Deserialize;

use super::TlsConfig;

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.0.
    V10,
    /// TLS 1.1.
    V11,
    /// TLS 1.2.
    V12,
    /// TLS 1.3.
    V13,
}

impl TlsVersion {
    /// Its name in flags and profiles.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V10 => "VersionTLS10",
            Self::V11 => "VersionTLS11",
            Self::V12 => "VersionTLS12",
            Self::V13 => "VersionTLS13",
        }
    }

    /// The version of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::V10, Self::V11, Self::V12, Self::V13].into_iter().find(|version| version.name() == name)
    }
}

/// What `APIServer/cluster` says of TLS, in its spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiServerTls {
    /// Whom the profile binds.
    pub tls_adherence: String,
    /// The profile.
    pub tls_security_profile: Option<ProfileChoice>,
}

/// A profile by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProfileChoice {
    /// `Old`, `Intermediate`, `Modern` or `Custom`.
    #[serde(rename = "type")]
    type_: String,
    custom: Option<CustomProfile>,
}

/// A profile of one's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CustomProfile {
    /// Suites by OpenSSL's names.
    pub ciphers: Vec<String>,
    /// The oldest version.
    #[serde(rename = "minTLSVersion")]
    pub min_tls_version: String,
}

/// A profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityProfile {
    /// For clients of long ago.
    Old,
    /// For most.
    Intermediate,
    /// TLS 1.3 only.
    Modern,
    /// One's own.
    Custom(CustomProfile),
}

/// Suites by OpenSSL's and IANA's names: those of TLS 1.3, which also are Modern; then Intermediate's, then Old's.
const SUITES: [(&str, &str); 22] = [
    ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
    ("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
    ("TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-ECDSA-AES128-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    ("ECDHE-RSA-AES128-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"),
    ("ECDHE-ECDSA-AES128-SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
    ("ECDHE-RSA-AES128-SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
    ("ECDHE-ECDSA-AES256-SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"),
    ("ECDHE-RSA-AES256-SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
    ("AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256"),
    ("AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384"),
    ("AES128-SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256"),
    ("AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"),
    ("AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA"),
    ("DES-CBC3-SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
    // In no profile, but a suite that may be asked for.
    ("ECDHE-RSA-DES-CBC3-SHA", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"),
];

/// How many of the suites each profile has.
const MODERN: usize = 3;
const INTERMEDIATE: usize = 9;
const OLD: usize = 21;

/// The suite of one of IANA's names.
pub(super) fn iana(name: &str) -> Option<&'static str> {
    SUITES.iter().map(|(_, iana)| *iana).find(|iana| *iana == name)
}

impl ApiServerTls {
    /// Whether the profile binds those too who did not follow it of old. A word that nobody knows does.
    pub(super) fn binds_all(&self) -> bool {
        !matches!(self.tls_adherence.as_str(), "" | "LegacyAdheringComponentsOnly")
    }

    /// The profile; Intermediate if none is chosen, or one that is not there.
    #[must_use]
    pub fn profile(&self) -> SecurityProfile {
        let choice = self.tls_security_profile.as_ref();
        match choice.map(|choice| (choice.type_.as_str(), &choice.custom)) {
            Some(("Old", _)) => SecurityProfile::Old,
            Some(("Modern", _)) => SecurityProfile::Modern,
            Some(("Custom", Some(custom))) => SecurityProfile::Custom(custom.clone()),
            _ => SecurityProfile::Intermediate,
        }
    }
}

impl SecurityProfile {
    pub(super) fn config(&self) -> TlsConfig {
        let first = |count: usize, min_version| TlsConfig {
            min_version,
            cipher_suites: SUITES.iter().take(count).map(|(_, iana)| *iana).collect(),
            ignored: Vec::new(),
        };
        let config = match self {
            Self::Old => first(OLD, TlsVersion::V10),
            Self::Intermediate => first(INTERMEDIATE, TlsVersion::V12),
            Self::Modern => first(MODERN, TlsVersion::V13),
            Self::Custom(custom) => custom.config(),
        };
        config.normal()
    }
}

impl CustomProfile {
    fn config(&self) -> TlsConfig {
        let mut config = TlsConfig {
            min_version: TlsVersion::from_name(&self.min_tls_version).unwrap_or(TlsVersion::V12),
            cipher_suites: Vec::new(),
            ignored: Vec::new(),
        };
        for name in &self.ciphers {
            match SUITES.iter().find(|(openssl, _)| openssl == name) {
                Some((_, iana)) => config.cipher_suites.push(iana),
                None => config.ignored.push(name.clone()),
            }
        }
        config
    }
}
