//! The meanings of `--version`: print the version and exit, or run and report another version. This module prints nothing itself.

use std::env::consts::{ARCH, OS};

use super::go::parse_bool;

/// The request of `--version`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum VersionRequest {
    /// Not given: the manager runs.
    #[default]
    None,
    /// `--version`: print the name and version, and exit.
    Short,
    /// `--version=raw`: print all version information, and exit.
    Raw,
    /// `--version=vX.Y.Z`: run, and report this version instead of the program's own.
    Report(String),
}

impl VersionRequest {
    /// Parses the value of the flag; `None` if it is invalid.
    pub(super) fn read(text: &str) -> Option<Self> {
        match parse_bool(text) {
            Some(true) => Some(Self::Short),
            Some(false) => Some(Self::None),
            None if text == "raw" => Some(Self::Raw),
            None => is_version(text).then(|| Self::Report(text.to_owned())),
        }
    }

    /// The text to print before the exit; `None` if the manager should run.
    #[must_use]
    pub fn answer(&self, name: &str, version: &str) -> Option<String> {
        match self {
            Self::None | Self::Report(_) => None,
            Self::Short => Some(format!("{name} {version}")),
            Self::Raw => Some(format!("{name} {version} (platform {OS}/{ARCH}, compiler rustc)")),
        }
    }

    /// The version to report while running: the requested one, or the program's own.
    #[must_use]
    pub fn reported<'a>(&'a self, own: &'a str) -> &'a str {
        match self {
            Self::Report(version) => version,
            _ => own,
        }
    }

    /// The value of the flag for this request.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::None => "false",
            Self::Short => "true",
            Self::Raw => "raw",
            Self::Report(version) => version,
        }
    }
}

/// Whether a text is `vX.Y.Z`, optionally with `-something` or `+something`. The version is sent in HTTP headers, so nothing else is
/// allowed.
fn is_version(text: &str) -> bool {
    let Some(version) = text.strip_prefix('v') else { return false };
    let end = version.find(['-', '+']).unwrap_or(version.len());
    let (numbers, suffix) = version.split_at(end);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && suffix.chars().all(allowed)
        && suffix.len() != 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_three_numbers_and_perhaps_a_suffix() {
        for version in ["v1.37.0", "v0.0.0", "v1.2.3-rc.1", "v1.2.3+bowline", "v1.2.3-rc.1+x"] {
            assert_eq!(VersionRequest::read(version), Some(VersionRequest::Report(version.to_owned())));
        }
        for other in
            ["", "new", "1.2.3", "v", "v1", "v1.2", "v1.2.3.4", "v1..3", "v1.2.3-", "v1.2.3 x", "v1.2.3-\n"]
        {
            assert_eq!(VersionRequest::read(other), None, "{other:?}");
        }
    }

    #[test]
    fn only_short_and_raw_are_answered_and_only_a_version_is_reported() {
        use VersionRequest::{None as Nothing, Raw, Report, Short};
        let own = "v0.1.0";
        assert_eq!(Short.answer("ccm", own).as_deref(), Some("ccm v0.1.0"));
        let raw = Raw.answer("ccm", own).unwrap();
        assert!(raw.starts_with("ccm v0.1.0 (platform ") && raw.contains(OS), "{raw}");
        for runs in [Nothing, Report("v9.9.9".to_owned())] {
            assert_eq!(runs.answer("ccm", own), None);
        }
        assert_eq!(Report("v9.9.9".to_owned()).reported(own), "v9.9.9");
        assert_eq!(Nothing.reported(own), own);
    }
}
