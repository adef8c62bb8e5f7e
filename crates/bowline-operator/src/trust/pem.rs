//! A text of certificates in PEM. Every block must be one; words before a block are comments, words behind the last are an
//! error, for they may be a block that somebody has cut.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use x509_parser::parse_x509_certificate;

/// What is wrong with a text of certificates. Lines are counted from one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PemError {
    /// There is nothing.
    #[error("there are no certificates")]
    Empty,
    /// Something is neither a block nor before one.
    #[error("line {line}: failed to parse certificate PEM: wanted -----BEGIN CERTIFICATE-----")]
    NoBlock {
        /// Where.
        line: usize,
    },
    /// A block does not end.
    #[error("line {line}: failed to parse certificate PEM: the block that begins here does not end")]
    NoEnd {
        /// Where it begins.
        line: usize,
    },
    /// A block of another kind, a key perhaps.
    #[error("line {line}: invalid certificate PEM, must be of type \"CERTIFICATE\", is {label:?}")]
    NotCertificate {
        /// Where it begins.
        line: usize,
        /// What it is.
        label: String,
    },
    /// A block that is damaged.
    #[error("line {line}: failed to parse certificate: the block that begins here is damaged")]
    Damaged {
        /// Where it begins.
        line: usize,
    },
}

/// What matters of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The line where its block begins.
    pub line: usize,
    /// Whose it is.
    pub subject: String,
    /// Until when it is valid.
    pub not_after: Timestamp,
}

/// The certificates of a text.
///
/// # Errors
///
/// If there are none, or if anything in the text is not one.
pub fn certificates(text: &str) -> Result<Vec<Certificate>, PemError> {
    let mut found = Vec::new();
    let mut stray = None;
    let mut lines = text.lines().map(str::trim).zip(1_usize..);
    while let Some((content, line)) = lines.next() {
        match label(content) {
            None if content.is_empty() => {}
            None => stray = stray.or(Some(line)),
            Some(label) => {
                stray = None;
                let end = format!("-----END {label}-----");
                let mut body = String::new();
                loop {
                    match lines.next() {
                        None => return Err(PemError::NoEnd { line }),
                        Some((content, _)) if content == end => break,
                        Some((content, _)) => body.push_str(content),
                    }
                }
                if label != "CERTIFICATE" {
                    return Err(PemError::NotCertificate { line, label: label.to_owned() });
                }
                found.push(certificate(&body, line).ok_or(PemError::Damaged { line })?);
            }
        }
    }
    match stray {
        Some(line) => Err(PemError::NoBlock { line }),
        None if found.is_empty() => Err(PemError::Empty),
        None => Ok(found),
    }
}

fn label(line: &str) -> Option<&str> {
    line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")
}

fn certificate(body: &str, line: usize) -> Option<Certificate> {
    let der = STANDARD.decode(body).ok()?;
    let (rest, parsed) = parse_x509_certificate(&der).ok()?;
    let not_after = Timestamp::from_second(parsed.validity().not_after.timestamp()).ok()?;
    rest.is_empty().then(|| Certificate { line, subject: parsed.subject().to_string(), not_after })
}
