//! TLS: upstream's cases, and the flags of managers.

use serde_json::{Value, json};

use super::*;

const RSA_128: &str = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
const RSA_256: &str = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384";

fn by_flags(version: &str, suites: &[&str]) -> Result<TlsConfig, TlsError> {
    let suites: Vec<String> = suites.iter().map(|suite| (*suite).to_owned()).collect();
    resolve(version, &suites, None)
}

fn by_cluster(value: Value) -> TlsConfig {
    resolve("", &[], Some(&serde_json::from_value(value).unwrap())).unwrap()
}

#[test]
fn flags_choose_version_and_suites() {
    let config = by_flags("VersionTLS12", &[RSA_128, RSA_256]).unwrap();
    assert_eq!((config.min_version, config.cipher_suites), (TlsVersion::V12, vec![RSA_128, RSA_256]));
}

#[test]
fn suites_of_tls_1_3_cannot_be_chosen() {
    for suites in [
        &[RSA_128][..],
        &["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"],
    ] {
        let config = by_flags("VersionTLS13", suites).unwrap();
        assert_eq!((config.min_version, config.cipher_suites.len()), (TlsVersion::V13, 0));
        assert_eq!(
            by_flags("VersionTLS13", suites).unwrap().operand_flags(),
            ["--tls-min-version=VersionTLS13"]
        );
    }
}

#[test]
fn flags_win_over_the_cluster() {
    let modern = serde_json::from_value(
        json!({ "tlsAdherence": "StrictAllComponents", "tlsSecurityProfile": { "type": "Modern" } }),
    )
    .unwrap();
    let config = resolve("VersionTLS12", &[], Some(&modern)).unwrap();
    assert_eq!((config.min_version, config.cipher_suites.len()), (TlsVersion::V12, 0));
    let suites = resolve("", &[RSA_128.to_owned()], Some(&modern)).unwrap();
    assert_eq!((suites.min_version, suites.cipher_suites), (TlsVersion::V12, vec![RSA_128]));
}

#[test]
fn flags_that_nobody_knows_are_refused() {
    let error = by_flags("InvalidVersion", &[RSA_128]).unwrap_err().to_string();
    assert!(error.starts_with("invalid --tls-min-version value"), "{error}");
    let error = by_flags("VersionTLS12", &["INVALID_CIPHER_SUITE"]).unwrap_err().to_string();
    assert!(error.starts_with("invalid --tls-cipher-suites value"), "{error}");
}

#[test]
fn the_clusters_profile_counts_where_it_binds_all() {
    let old = json!({ "type": "Old" });
    let cases = [
        (
            "strict",
            json!({ "tlsAdherence": "StrictAllComponents", "tlsSecurityProfile": old }),
            TlsVersion::V10,
            21,
        ),
        (
            "a word nobody knows",
            json!({ "tlsAdherence": "Other", "tlsSecurityProfile": old }),
            TlsVersion::V10,
            21,
        ),
        ("no opinion", json!({ "tlsSecurityProfile": old }), TlsVersion::V12, 9),
        (
            "legacy",
            json!({ "tlsAdherence": "LegacyAdheringComponentsOnly", "tlsSecurityProfile": old }),
            TlsVersion::V12,
            9,
        ),
        ("strict without a profile", json!({ "tlsAdherence": "StrictAllComponents" }), TlsVersion::V12, 9),
        (
            "modern",
            json!({ "tlsAdherence": "StrictAllComponents", "tlsSecurityProfile": { "type": "Modern" } }),
            TlsVersion::V13,
            0,
        ),
    ];
    for (name, value, version, suites) in cases {
        let config = by_cluster(value);
        assert_eq!((config.min_version, config.cipher_suites.len()), (version, suites), "{name}");
    }
    let absent = resolve("", &[], None).unwrap();
    assert_eq!((absent.min_version, absent.cipher_suites.len()), (TlsVersion::V12, 9), "no APIServer at all");
}

#[test]
fn a_profile_of_ones_own_is_translated_and_what_nobody_knows_is_left_out() {
    let config = by_cluster(json!({
        "tlsAdherence": "StrictAllComponents",
        "tlsSecurityProfile": { "type": "Custom", "custom": {
            "ciphers": ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "AES256-SHA256"],
            "minTLSVersion": "VersionTLS12",
        } },
    }));
    assert_eq!(config.cipher_suites, [RSA_128, RSA_256]);
    assert_eq!(config.ignored, ["AES256-SHA256"]);
    let wanted =
        ["--tls-min-version=VersionTLS12".to_owned(), format!("--tls-cipher-suites={RSA_128},{RSA_256}")];
    assert_eq!(config.operand_flags(), wanted);
}
