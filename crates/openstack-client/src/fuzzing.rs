//! Entry points for a fuzzer: each decodes arbitrary bytes as an answer of a cloud, must not panic, and checks invariants that hold for any
//! input. Only for `fuzz/` and the tests of this crate; not part of the public API. Makes no requests.

#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::{
    Error, ErrorClass, Interface, Service,
    auth::Token,
    base_url::BaseUrl,
    call::Call,
    compute::Server,
    error::classify::classify,
    identity::Catalog,
    paging::page::{Step, from_link, next_step, read},
    transport::Answer,
};

const SERVICES: [Service; 5] =
    [Service::Identity, Service::Compute, Service::Network, Service::LoadBalancer, Service::KeyManager];
const INTERFACES: [Interface; 3] = [Interface::Public, Interface::Internal, Interface::Admin];
/// One status for each branch of the error classification.
const STATUSES: [u16; 8] = [302, 400, 403, 404, 409, 413, 429, 503];
/// The upper bound for the length of any error message, in characters.
const LONGEST_MESSAGE: usize = 1_000;
/// Longer URLs are rejected when the request is built.
const LONGEST_QUERY: usize = 60_000;

type Held = Result<(), &'static str>;

/// Decodes bytes as a catalog, and as Keystone's answer to a token request.
///
/// # Errors
///
/// If a message is not fit for a log, or a parsed URL changes when it is printed and parsed again.
pub fn catalog(bytes: &[u8]) -> Held {
    let mut headers = HeaderMap::new();
    headers.insert("x-subject-token", HeaderValue::from_static("token"));
    let answer = Answer {
        status: StatusCode::CREATED,
        headers,
        body: Bytes::copy_from_slice(bytes),
        reservation: None,
    };
    if let Ok(token) = Token::read(&answer, Instant::now(), Timestamp::UNIX_EPOCH, 1) {
        every_endpoint(&token.catalog)?;
    }
    serde_json::from_slice(bytes).map_or(Ok(()), |catalog: Catalog| every_endpoint(&catalog))
}

fn every_endpoint(catalog: &Catalog) -> Held {
    for service in SERVICES {
        for interface in INTERFACES {
            for region in [None, Some("RegionOne")] {
                match catalog.find(service, interface, region) {
                    Ok((url, _region)) => address(url)?,
                    Err(why) => fit_for_a_log(&why)?,
                }
            }
        }
    }
    Ok(())
}

fn address(url: &str) -> Held {
    let base = match BaseUrl::parse("an endpoint", url) {
        Ok(base) => base,
        Err(why) => return fit_for_a_log(&why.to_string()),
    };
    if BaseUrl::parse("an endpoint", &base.to_string()).as_ref() != Ok(&base) {
        return Err("an address is not read as the same again");
    }
    if base.without_version().major().is_some() {
        return Err("an address without its version has a version");
    }
    Ok(())
}

/// Decodes bytes as a page of servers with links, and as a link.
///
/// # Errors
///
/// If a message is not fit for a log, a marker is empty, or no request can be built for the linked page.
pub fn paging_links(bytes: &[u8]) -> Held {
    match read::<Server>(bytes) {
        Ok(page) => {
            let full = u32::try_from(page.items.len()).unwrap_or(u32::MAX);
            for page_size in [full, 500] {
                followed(next_step(&page, page_size))?;
            }
        }
        Err(why) => fit_for_a_log(&why)?,
    }
    followed(from_link(&String::from_utf8_lossy(bytes)).map(Some))
}

fn followed(step: Result<Option<Step>, String>) -> Held {
    let step = match step {
        Ok(Some(step)) => step,
        Ok(None) => return Ok(()),
        Err(why) => return fit_for_a_log(&why),
    };
    if matches!(&step, Step::Linked(marker) if marker.is_empty()) {
        return Err("a link leads to an empty marker");
    }
    let mut call = Call::get(Service::Compute, "server_list", &["servers", "detail"]);
    step.apply(&mut call, 500);
    let query = call.query_text();
    let base =
        BaseUrl::parse("nova", "http://nova.example/v2.1").map_err(|_fixed| "a fixed address is refused")?;
    let refused = query.len() <= LONGEST_QUERY && base.uri(&call.path, &query).is_err();
    if refused { Err("no request can be made for a page that was linked to") } else { Ok(()) }
}

/// Decodes bytes as the body of an unsuccessful answer; the first line is also used as the value of headers. The first byte selects service
/// and status: classifying each input for all of them would parse the same body eighty times.
///
/// # Errors
///
/// If an error is not fit for a log, requests a pause of more than a day, or is `NotFound` although the answer has no request id.
pub fn error_body(bytes: &[u8]) -> Held {
    let (first, body) = bytes.split_first().map_or((0, bytes), |(first, body)| (usize::from(*first), body));
    let service = SERVICES.get(first % SERVICES.len()).copied().unwrap_or(Service::Identity);
    let status = STATUSES.get(first / SERVICES.len() % STATUSES.len()).copied().unwrap_or(404);
    failure(service, status, body)
}

/// Classifies a body for every service and every status.
///
/// # Errors
///
/// As [`error_body`].
pub fn every_error_body(body: &[u8]) -> Held {
    let all = SERVICES.iter().flat_map(|service| STATUSES.iter().map(move |status| (*service, *status)));
    all.into_iter().try_for_each(|(service, status)| failure(service, status, body))
}

fn failure(service: Service, status: u16, body: &[u8]) -> Held {
    let status = StatusCode::from_u16(status).map_err(|_fixed| "a fixed status is none")?;
    let anonymous = headers(body);
    let mut with_id = anonymous.clone();
    with_id.insert("x-openstack-request-id", HeaderValue::from_static("req-0280b06e"));
    judged(&classify(service, status, &with_id, body, Timestamp::UNIX_EPOCH))?;
    let error = classify(service, status, &anonymous, body, Timestamp::UNIX_EPOCH);
    judged(&error)?;
    if error.class() == ErrorClass::NotFound {
        return Err("a 404 is believed that has no id of a service");
    }
    Ok(())
}

fn headers(bytes: &[u8]) -> HeaderMap {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(line) {
        headers.insert(header::RETRY_AFTER, value.clone());
        headers.insert(header::LOCATION, value);
    }
    headers
}

fn judged(error: &Error) -> Held {
    if error.retry_after().is_some_and(|pause| pause > Duration::from_secs(24 * 60 * 60)) {
        return Err("a pause of more than a day");
    }
    fit_for_a_log(&error.to_string())
}

fn fit_for_a_log(message: &str) -> Held {
    if message.chars().any(char::is_control) {
        return Err("a message with control characters");
    }
    if message.chars().count() > LONGEST_MESSAGE { Err("a message without an end") } else { Ok(()) }
}
