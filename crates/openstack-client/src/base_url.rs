//! The base URL of a service: scheme, authority and a path that ends in a slash. Pure, makes no requests.

use std::fmt;

use http::Uri;

/// A string that is not a usable base URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}; give a URL such as https://keystone.example:5000/v3")]
pub struct InvalidUrl {
    /// The option or document that contains the URL.
    pub what: String,
    /// What is wrong. It does not quote the URL, which may contain a password.
    pub why: &'static str,
}

/// The base URL of a service.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    origin: String,
    /// Begins and ends with a slash.
    path: String,
}

impl BaseUrl {
    /// Parses an absolute HTTP URL. Query and fragment are dropped.
    pub(crate) fn parse(what: &str, text: &str) -> Result<Self, InvalidUrl> {
        let fail = |why| InvalidUrl { what: what.to_owned(), why };
        let text = text.trim();
        if text.is_empty() {
            return Err(fail("it is empty"));
        }
        let uri: Uri = text.parse().map_err(|_quoting| fail("it is not a URL"))?;
        let scheme = uri.scheme_str().ok_or_else(|| fail("it has no scheme"))?;
        if !matches!(scheme, "http" | "https") {
            return Err(fail("its scheme is neither http nor https"));
        }
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(|| fail("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(fail("it holds a user or a password, which belong into their own settings"));
        }
        let segments: Vec<&str> = segments(uri.path()).collect();
        Ok(Self { origin: format!("{scheme}://{authority}"), path: joined(&segments) })
    }

    /// The same origin with the path cut at the first version segment: `…/identity/v3/` becomes `…/identity/`.
    pub(crate) fn without_version(&self) -> Self {
        let kept: Vec<&str> = segments(&self.path).take_while(|segment| !is_version(segment)).collect();
        Self { origin: self.origin.clone(), path: joined(&kept) }
    }

    /// The same URL with one more path segment.
    pub(crate) fn with_segment(&self, segment: &str) -> Self {
        Self { origin: self.origin.clone(), path: format!("{}{segment}/", self.path) }
    }

    /// The major version in the path; `None` if the path has no version.
    pub(crate) fn major(&self) -> Option<u32> {
        segments(&self.path).find(|segment| is_version(segment)).and_then(major_of)
    }

    /// Whether requests travel over TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.origin.starts_with("https:")
    }

    /// Scheme, host and port, in lower case and without the default port.
    pub(crate) fn origin(&self) -> String {
        let origin = self.origin.to_ascii_lowercase();
        let port = if origin.starts_with("https:") { ":443" } else { ":80" };
        origin.strip_suffix(port).map_or(origin.clone(), ToOwned::to_owned)
    }

    /// The path, with slashes at both ends.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The URL of a resource below this base. `relative` has no leading slash and is already percent-encoded.
    pub(crate) fn uri(&self, relative: &str, query: &str) -> Result<Uri, http::Error> {
        let question = if query.is_empty() { "" } else { "?" };
        Ok(format!("{self}{relative}{question}{query}").parse::<Uri>()?)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

fn joined(segments: &[&str]) -> String {
    let mut path = String::from("/");
    for segment in segments {
        path.push_str(segment);
        path.push('/');
    }
    path
}

/// Whether a path segment is a version: `v3`, `v2.0`, `v2.1`.
pub(crate) fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|digits| {
        digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
    })
}

/// The major version of `v2.1`.
pub(crate) fn major_of(version: &str) -> Option<u32> {
    let digits = version.strip_prefix('v').unwrap_or(version);
    digits.split('.').next()?.parse().ok()
}

/// Major and minor version of `v2.30` or `2.30`.
pub(crate) fn version_of(text: &str) -> Option<(u32, u32)> {
    let digits = text.strip_prefix('v').unwrap_or(text);
    let (major, minor) = digits.split_once('.').unwrap_or((digits, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> BaseUrl {
        BaseUrl::parse("test", text).unwrap()
    }

    #[test]
    fn the_version_and_all_behind_it_is_cut_off() {
        for (given, root, major) in [
            ("http://k:5000/v3", "http://k:5000/", Some(3)),
            ("http://k:5000/v3/", "http://k:5000/", Some(3)),
            ("http://k:5000", "http://k:5000/", None),
            ("https://k/identity/v3/", "https://k/identity/", Some(3)),
            ("https://k/identity", "https://k/identity/", None),
            ("https://n:8774/v2.1/05a2ca", "https://n:8774/", Some(2)),
            ("https://k/vault/v2.0", "https://k/vault/", Some(2)),
            ("https://[fd00::1]:5000/v3?x=y", "https://[fd00::1]:5000/", Some(3)),
        ] {
            assert_eq!(url(given).without_version().to_string(), root, "{given}");
            assert_eq!(url(given).major(), major, "{given}");
        }
    }

    #[test]
    fn the_same_place_has_the_same_origin() {
        for (one, other, same) in [
            ("https://K.example/v3", "https://k.example:443/identity", true),
            ("http://k", "http://k:80/v3", true),
            ("http://k", "https://k", false),
            ("http://k:443", "http://k", false),
            ("https://k:5000", "https://k", false),
            ("https://[fd00::443]", "https://[fd00::]", false),
        ] {
            assert_eq!(url(one).origin() == url(other).origin(), same, "{one} {other}");
        }
    }

    #[test]
    fn what_is_below_an_address_keeps_its_slashes() {
        for (base, relative, query, expected) in [
            ("http://k", "", "", "http://k/"),
            ("http://k/identity", "", "", "http://k/identity/"),
            ("http://k/v3", "auth/tokens", "", "http://k/v3/auth/tokens"),
            ("http://k/v3", "x", "a=b", "http://k/v3/x?a=b"),
        ] {
            assert_eq!(url(base).uri(relative, query).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn an_address_of_no_use_is_refused_without_being_quoted() {
        for bad in ["", "keystone", "ftp://k/", "https://", "http://a b/", "https://u:s3cret@k/v3", "/v3"] {
            let error = BaseUrl::parse("auth-url", bad).unwrap_err().to_string();
            assert!(error.starts_with("auth-url: ") && !error.contains("s3cret"), "{error}");
        }
    }
}
