//! Maps the names and numbers that flags use for TLS settings to those of the TLS library. Pure tables.

use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::{cipher_suite as ours, kx_group};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion, version};

/// Why a TLS setting was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsSettingError {
    /// `--tls-cipher-suites` contains an unknown name.
    #[error("--tls-cipher-suites: unknown cipher suite {name:?}; accepted are {accepted}")]
    UnknownCipher {
        /// The given name.
        name: String,
        /// The accepted names.
        accepted: String,
    },
    /// `--tls-cipher-suites` contains only suites that are not implemented.
    #[error(
        "--tls-cipher-suites: none of {given} can be served (CBC, RC4, 3DES and RSA key exchange are not \
             implemented); add at least one of {accepted}"
    )]
    NoUsableCipher {
        /// The given names.
        given: String,
        /// The accepted names.
        accepted: String,
    },
    /// `--tls-curve-preferences` contains an unknown number, or only groups that are not implemented.
    #[error(
        "--tls-curve-preferences: {given} cannot be served; accepted are 23 (P-256), 24 (P-384), \
             29 (X25519), 4587 (SecP256r1MLKEM768) and 4588 (X25519MLKEM768)"
    )]
    UnknownCurve {
        /// The given number or numbers.
        given: String,
    },
    /// `--tls-min-version` is an unknown name.
    #[error(
        "--tls-min-version: unknown version {name:?}; accepted are VersionTLS10, VersionTLS11, VersionTLS12 \
             and VersionTLS13"
    )]
    UnknownVersion {
        /// The given name.
        name: String,
    },
    /// The TLS library rejected the combination.
    #[error("the TLS settings cannot be used together: {0}")]
    Library(String),
}

const TLS13: [(&str, SupportedCipherSuite); 3] = [
    ("TLS_AES_128_GCM_SHA256", ours::TLS13_AES_128_GCM_SHA256),
    ("TLS_AES_256_GCM_SHA384", ours::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", ours::TLS13_CHACHA20_POLY1305_SHA256),
];

const TLS12: [(&str, SupportedCipherSuite); 8] = [
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", ours::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", ours::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", ours::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", ours::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", ours::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", ours::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", ours::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", ours::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// Suites that upstream accepts and this TLS library does not implement, because they are weak.
const NOT_SERVED: [&str; 16] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// A usable setting, and warnings about the parts that were left out.
#[derive(Debug, Clone)]
pub(super) struct Resolved<T> {
    /// The value for the TLS library.
    pub(super) value: T,
    /// One sentence for each deviation from the requested setting.
    pub(super) warnings: Vec<String>,
}

fn accepted_ciphers() -> String {
    TLS13.iter().chain(&TLS12).map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The cipher suites for a list of names; an empty list means all.
///
/// TLS 1.3 suites are always enabled, as in upstream: the flag only selects those of TLS 1.2.
///
/// # Errors
/// For an unknown name, or if no named suite is implemented.
pub(super) fn cipher_suites(
    names: &[String],
) -> Result<Resolved<Vec<SupportedCipherSuite>>, TlsSettingError> {
    let mut value: Vec<_> = TLS13.iter().map(|(_, suite)| *suite).collect();
    let mut warnings = Vec::new();
    let mut usable = names.is_empty();
    for name in names {
        if TLS13.iter().any(|(known, _)| known == name) {
            usable = true;
        } else if let Some((_, suite)) = TLS12.iter().find(|(known, _)| known == name) {
            usable = true;
            value.push(*suite);
        } else if NOT_SERVED.contains(&name.as_str()) {
            warnings.push(format!("cipher suite {name} is not implemented and was left out"));
        } else {
            return Err(TlsSettingError::UnknownCipher { name: name.clone(), accepted: accepted_ciphers() });
        }
    }
    if !usable {
        return Err(TlsSettingError::NoUsableCipher {
            given: names.join(", "),
            accepted: accepted_ciphers(),
        });
    }
    if names.is_empty() {
        value.extend(TLS12.iter().map(|(_, suite)| *suite));
    }
    value.dedup();
    Ok(Resolved { value, warnings })
}

/// The key exchange groups for a list of TLS numbers; an empty list means the library's defaults.
///
/// # Errors
/// For an unknown number, or if no given group is implemented.
pub(super) fn curves(
    numbers: &[i32],
) -> Result<Resolved<Vec<&'static dyn SupportedKxGroup>>, TlsSettingError> {
    if numbers.is_empty() {
        let value = rustls::crypto::aws_lc_rs::DEFAULT_KX_GROUPS.to_vec();
        return Ok(Resolved { value, warnings: Vec::new() });
    }
    let mut value = Vec::new();
    let mut warnings = Vec::new();
    for number in numbers {
        match number {
            23 => value.push(kx_group::SECP256R1),
            24 => value.push(kx_group::SECP384R1),
            29 => value.push(kx_group::X25519),
            4587 => value.push(kx_group::SECP256R1MLKEM768),
            4588 => value.push(kx_group::X25519MLKEM768),
            25 => warnings.push("curve 25 (P-521) is not implemented and was left out".to_owned()),
            4589 => warnings
                .push("curve 4589 (SecP384r1MLKEM1024) is not implemented and was left out".to_owned()),
            unknown => return Err(TlsSettingError::UnknownCurve { given: unknown.to_string() }),
        }
    }
    if value.is_empty() {
        let given = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return Err(TlsSettingError::UnknownCurve { given });
    }
    Ok(Resolved { value, warnings })
}

/// All implemented protocol versions from a minimum version on.
///
/// # Errors
/// For an unknown name.
pub(super) fn versions(
    min: &str,
) -> Result<Resolved<Vec<&'static SupportedProtocolVersion>>, TlsSettingError> {
    let both = vec![&version::TLS13, &version::TLS12];
    match min {
        "" | "VersionTLS12" => Ok(Resolved { value: both, warnings: Vec::new() }),
        "VersionTLS13" => Ok(Resolved { value: vec![&version::TLS13], warnings: Vec::new() }),
        "VersionTLS10" | "VersionTLS11" => {
            let warning = format!("minimum version {min} is not implemented; VersionTLS12 is used");
            Ok(Resolved { value: both, warnings: vec![warning] })
        }
        other => Err(TlsSettingError::UnknownVersion { name: other.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_suite_that_is_not_implemented_is_left_out_with_a_warning_if_another_remains() {
        let chosen = cipher_suites(&names(&[
            "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        ]))
        .unwrap();
        assert_eq!(chosen.value.len(), 4, "three of TLS 1.3 and the named one");
        assert!(chosen.warnings[0].contains("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"));
    }

    #[test]
    fn only_suites_that_are_not_implemented_is_an_error() {
        let error = cipher_suites(&names(&["TLS_RSA_WITH_AES_128_CBC_SHA"])).unwrap_err();
        assert!(error.to_string().contains("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), "{error}");
    }

    #[test]
    fn an_unknown_suite_is_refused_with_the_accepted_list() {
        let error = cipher_suites(&names(&["TLS_FOO"])).unwrap_err().to_string();
        assert!(error.contains("TLS_FOO") && error.contains("TLS_AES_128_GCM_SHA256"), "{error}");
    }

    #[test]
    fn curves_go_by_their_tls_numbers() {
        assert_eq!(curves(&[29, 23, 24, 4588]).unwrap().value.len(), 4);
        assert_eq!(curves(&[25, 29]).unwrap().warnings.len(), 1);
        assert!(curves(&[25]).unwrap_err().to_string().contains("29 (X25519)"));
        assert!(curves(&[7]).is_err());
    }

    #[test]
    fn versions_older_than_1_2_become_1_2_with_a_warning() {
        assert_eq!(versions("VersionTLS10").unwrap().warnings.len(), 1);
        assert_eq!(versions("VersionTLS13").unwrap().value.len(), 1);
        assert!(versions("TLS1.2").unwrap_err().to_string().contains("VersionTLS12"));
    }
}
