//! The version documents at the root URLs of the services. Three formats are in use. Pure.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    base_url::{is_version, major_of, version_of},
    decode,
    vocabulary::words,
};

words! {
    /// The status of an API version. Services write it in different case.
    VersionStatus {
        /// The newest version.
        Current = "CURRENT",
        /// Still supported.
        Supported = "SUPPORTED",
        /// Keystone's name for the current version.
        Stable = "STABLE",
        /// Still supported, but to be removed.
        Deprecated = "DEPRECATED",
        /// Under development.
        Experimental = "EXPERIMENTAL",
    }
}

impl VersionStatus {
    /// Whether the client may use the version: current, supported or stable.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::Current | Self::Supported | Self::Stable)
    }
}

/// A version of a service's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The id, such as `v2.30`.
    pub id: String,
    /// The status of the version.
    pub status: VersionStatus,
    /// The highest microversion; `None` if the API has no microversions.
    pub max_microversion: Option<(u32, u32)>,
    /// The lowest microversion; `None` if the API has no microversions.
    pub min_microversion: Option<(u32, u32)>,
    /// The segment in its URL, such as `v2.1`; `None` if the document has no link with one.
    pub(crate) segment: Option<String>,
}

impl Version {
    /// Major and minor version; `None` if the id does not contain them.
    #[must_use]
    pub fn number(&self) -> Option<(u32, u32)> {
        version_of(&self.id)
    }

    /// The major version.
    #[must_use]
    pub fn major(&self) -> Option<u32> {
        major_of(&self.id)
    }
}

#[derive(Deserialize)]
struct Raw {
    id: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    status: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    version: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    min_version: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    rel: String,
    #[serde(default)]
    href: String,
}

/// The versions in the document: `{"versions": [..]}`, `{"versions": {"values": [..]}}` or `{"version": {..}}`.
pub(crate) fn parse(body: &[u8]) -> Result<Vec<Version>, String> {
    let document: Value = serde_json::from_slice(body).map_err(|error| decode::unreadable(&error, body))?;
    let list = match (document.get("versions"), document.get("version")) {
        (Some(Value::Array(list)), _) => list.clone(),
        (Some(Value::Object(object)), _) => match object.get("values") {
            Some(Value::Array(list)) => list.clone(),
            _ => return Err("its versions have no values".to_owned()),
        },
        (_, Some(one @ Value::Object(_))) => vec![one.clone()],
        _ => return Err("it lists no versions".to_owned()),
    };
    let raw: Result<Vec<Raw>, _> = list.into_iter().map(serde_json::from_value).collect();
    Ok(raw.map_err(|error| decode::brief(&error.to_string()))?.into_iter().map(version).collect())
}

fn version(raw: Raw) -> Version {
    let link = raw.links.iter().find(|link| link.rel == "self").or(raw.links.first());
    let path = link.map_or("", |link| link.href.split(['?', '#']).next().unwrap_or_default());
    Version {
        segment: path.rsplit('/').find(|segment| is_version(segment)).map(ToOwned::to_owned),
        status: VersionStatus::from(raw.status.to_ascii_uppercase().as_str()),
        max_microversion: version_of(&raw.version),
        min_microversion: version_of(&raw.min_version),
        id: raw.id,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_three_forms_of_a_version_document_are_read() {
        let keystone = br#"{"versions": {"values": [{"id": "v3.14", "status": "stable",
            "links": [{"rel": "self", "href": "http://k:5000/v3/"}], "media-types": []}]}}"#;
        let nova = br#"{"versions": [
            {"id": "v2.0", "status": "DEPRECATED", "version": "", "min_version": ""},
            {"id": "v2.1", "status": "CURRENT", "version": "2.104", "min_version": "2.1",
             "links": [{"rel": "describedby", "href": "http://docs/v9"}, {"rel": "self", "href": "http://n/v2.1/"}]}]}"#;
        let one =
            br#"{"version": {"id": "v2.1", "status": "CURRENT", "version": "2.104", "min_version": "2.1"}}"#;
        let found = parse(keystone).unwrap();
        assert_eq!((found[0].number(), found[0].segment.as_deref()), (Some((3, 14)), Some("v3")));
        assert!(found[0].status.is_usable());
        let found = parse(nova).unwrap();
        assert_eq!((found[0].max_microversion, found[0].status.is_usable()), (None, false));
        assert_eq!((found[1].max_microversion, found[1].min_microversion), (Some((2, 104)), Some((2, 1))));
        assert_eq!(found[1].segment.as_deref(), Some("v2.1"));
        assert_eq!(parse(one).unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_version_document_is_not_taken_for_an_empty_one() {
        for bad in
            [&b""[..], b"<html>", b"{}", b"[]", b"\"v2\"", br#"{"versions": 3}"#, br#"{"versions": [{}]}"#]
        {
            assert!(parse(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    proptest! {
        #[test]
        fn no_document_makes_the_reader_panic(body: Vec<u8>, id: String, href: String) {
            drop(parse(&body));
            let document = serde_json::json!({"versions": [{"id": id, "links": [{"rel": "self", "href": href}]}]});
            prop_assert_eq!(parse(document.to_string().as_bytes()).unwrap().len(), 1);
        }
    }
}
