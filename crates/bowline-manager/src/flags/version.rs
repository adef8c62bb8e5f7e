//! What `--version` asks for: to say the version and end, or to run under another one. Prints nothing itself.

use std::env::consts::{ARCH, OS};

use super::go::parse_bool;

/// What `--version` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum VersionRequest {
    /// Nothing: the manager runs.
    #[default]
    None,
    /// `--version`: print name and version, and end.
    Short,
    /// `--version=raw`: print all that is known of the version, and end.
    Raw,
    /// `--version=vX.Y.Z`: run, and report this version as one's own.
    Report(String),
}

impl VersionRequest {
    /// Reads the value of the flag; `None` if it is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        match parse_bool(text) {
            Some(true) => Some(Self::Short),
            Some(false) => Some(Self::None),
            None if text == "raw" => Some(Self::Raw),
            None => is_version(text).then(|| Self::Report(text.to_owned())),
        }
    }

    /// What to print before the end; `None` if the manager is to run.
    #[must_use]
    pub fn answer(&self, name: &str, version: &str) -> Option<String> {
        match self {
            Self::None | Self::Report(_) => None,
            Self::Short => Some(format!("{name} {version}")),
            Self::Raw => Some(format!("{name} {version} (platform {OS}/{ARCH}, compiler rustc)")),
        }
    }

    /// The version to report while running: the one asked for, or the program's own.
    #[must_use]
    pub fn reported<'a>(&'a self, own: &'a str) -> &'a str {
        match self {
            Self::Report(version) => version,
            _ => own,
        }
    }

    /// The value of the flag that means this.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::None => "false",
            Self::Short => "true",
            Self::Raw => "raw",
            Self::Report(version) => version,
        }
    }
}

/// `vX.Y.Z`, perhaps with `-something` or `+something`. It goes into headers, so nothing else may follow.
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
