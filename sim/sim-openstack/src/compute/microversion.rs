//! Nova's microversions: what is asked, what is refused, what the answer says.

use std::fmt;

use http::StatusCode;

use super::errors::{bad_request, refusal};
use crate::http::{ApiRequest, ApiResponse, Refusal};

/// A microversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Microversion {
    major: u32,
    minor: u32,
}

impl Microversion {
    /// The one that is meant when none is named.
    pub const OLDEST: Self = Self { major: 2, minor: 1 };
    /// The newest one.
    pub const NEWEST: Self = Self { major: 2, minor: 104 };

    /// Whether it is 2.`minor` or newer.
    #[must_use]
    pub fn has(self, minor: u32) -> bool {
        self.minor >= minor
    }
}

impl fmt::Display for Microversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The microversion a request asks for.
pub(super) fn asked(request: &ApiRequest) -> Result<Microversion, Refusal> {
    let general = request.header("openstack-api-version").and_then(|header| {
        header.split(',').find_map(|part| part.trim().strip_prefix("compute ").map(str::trim))
    });
    let text = general.or_else(|| request.header("x-openstack-nova-api-version"));
    let Some(text) = text else { return Ok(Microversion::OLDEST) };
    if text == "latest" {
        return Ok(Microversion::NEWEST);
    }
    let version = parse(text).ok_or_else(|| {
        let message =
            format!("API Version String {text} is of invalid format. Must be of format MajorNum.MinorNum.");
        bad_request(&message)
    })?;
    let (oldest, newest) = (Microversion::OLDEST, Microversion::NEWEST);
    if version < oldest || version > newest {
        let message = format!(
            "Version {version} is not supported by the API. Minimum is {oldest} and maximum is {newest}."
        );
        let refused = refusal(StatusCode::NOT_ACCEPTABLE, "computeFault", &message);
        return Err(stamp(refused.into_response(), text).into());
    }
    Ok(version)
}

fn parse(text: &str) -> Option<Microversion> {
    let (major, minor) = text.split_once('.')?;
    Some(Microversion { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// An answer that says at which microversion it was made.
pub(super) fn stamp(response: ApiResponse, version: &str) -> ApiResponse {
    response
        .with("openstack-api-version", &format!("compute {version}"))
        .with("x-openstack-nova-api-version", version)
        .with("vary", "OpenStack-API-Version, X-OpenStack-Nova-API-Version")
}
