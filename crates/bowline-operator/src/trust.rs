//! Trusted certificates: the administrator's, the cloud's and the system's in one text. Byte-compatible with
//! cluster-cloud-controller-manager-operator, for the text is a part of the configuration hash. Reads no file.

mod pem;

#[cfg(test)]
mod tests;

use std::fmt;

pub use self::pem::{Certificate, PemError, certificates};

/// The key of a ConfigMap with trusted certificates, theirs and ours.
pub const CA_BUNDLE: &str = "ca-bundle.crt";
/// The key beside a cloud configuration with the cloud's certificates.
pub const CLOUD_CA_BUNDLE: &str = "ca-bundle.pem";

/// Certificates that somebody names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    /// Where they are to be, for messages: a ConfigMap and its key.
    pub place: &'a str,
    /// What is there; `None` is nothing, not even the key.
    pub text: Option<&'a str>,
}

/// Certificates that were left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// Where they are.
    pub place: String,
    /// What is wrong with them.
    pub problem: PemError,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the certificates in {} are ignored: {}", self.place, self.problem)
    }
}

/// All trusted certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// In one text: the cloud's, the administrator's, the system's.
    pub text: String,
    /// What was left out.
    pub ignored: Vec<Ignored>,
}

/// Puts the certificates of all together. What the administrator or the cloud names and is wrong is left out: a typing
/// error there must not take the trust away that was there before.
///
/// # Errors
///
/// If the system's own certificates are wrong, with the line.
pub fn merge(system: &str, proxy: Option<Named<'_>>, cloud: Option<Named<'_>>) -> Result<Bundle, PemError> {
    certificates(system)?;
    let mut bundle = Bundle { text: system.to_owned(), ignored: Vec::new() };
    let proxy = proxy.and_then(|named| bundle.usable(named));
    let cloud = cloud.and_then(|named| bundle.usable(named));
    for text in [proxy, cloud.filter(|text| Some(*text) != proxy)].into_iter().flatten() {
        bundle.text = format!("{text}\n{}", bundle.text);
    }
    Ok(bundle)
}

impl Bundle {
    fn usable<'a>(&mut self, named: Named<'a>) -> Option<&'a str> {
        let checked = named.text.ok_or(PemError::Empty).and_then(|text| certificates(text).map(|_| text));
        match checked {
            Ok(text) => Some(text),
            Err(problem) => {
                self.ignored.push(Ignored { place: named.place.to_owned(), problem });
                None
            }
        }
    }
}
