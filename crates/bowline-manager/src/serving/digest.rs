//! SHA-2 from the TLS library's crypto provider: SHA-384 for cache keys and for detecting changed files, SHA-256 for fingerprints of
//! certificates. Not for passwords.

use rustls::crypto::aws_lc_rs::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384};

/// A digest usable as a map key.
pub(crate) type Digest = Vec<u8>;

/// The digest of `parts`. Each part is preceded by its length, so that different lists have different inputs.
pub(super) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut text = Vec::new();
    for part in parts {
        text.extend_from_slice(&(part.len() as u64).to_be_bytes());
        text.extend_from_slice(part);
    }
    sha384(&text)
}

/// The SHA-384 of a text.
pub(crate) fn sha384(text: &[u8]) -> Digest {
    match TLS13_AES_256_GCM_SHA384.tls13() {
        Some(suite) => suite.common.hash_provider.hash(text).as_ref().to_vec(),
        // Unreachable: the suite is a TLS 1.3 suite. The text itself is an equally unique key.
        None => text.to_vec(),
    }
}

/// The SHA-256 of a text, in lower-case hexadecimal digits; `None` if the TLS library has none, which cannot happen.
pub(super) fn sha256_hex(text: &[u8]) -> Option<String> {
    let suite = TLS13_AES_128_GCM_SHA256.tls13()?;
    let hash = suite.common.hash_provider.hash(text);
    Some(hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{digest, sha256_hex};

    #[test]
    fn a_fingerprint_is_the_sha256_that_every_tool_prints() {
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc").as_deref(), Some(of_abc));
    }

    #[test]
    fn where_a_list_is_split_matters() {
        let joined = |parts: &[&str]| digest(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(joined(&["ab", "c"]), joined(&["ab", "c"]));
        assert_ne!(joined(&["ab", "c"]), joined(&["a", "bc"]));
        assert_eq!(joined(&["a"]).len(), 48);
    }
}
