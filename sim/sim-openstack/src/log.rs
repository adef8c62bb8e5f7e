//! The request log: what was asked, and how often, by service, method and path pattern. Tests count calls with it.

use std::collections::{BTreeMap, VecDeque};

use http::Method;
use jiff::Timestamp;

use crate::config::Service;

/// How many single requests are remembered; counts are kept of all.
const ENTRIES_MAX: usize = 10_000;

/// How many programs are told apart in the counts; those that come later are counted together, under no name.
const AGENTS_MAX: usize = 64;

/// One request that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When.
    pub at: Timestamp,
    /// Of which service; none if no service has this address.
    pub service: Option<Service>,
    /// Its method.
    pub method: Method,
    /// Its path below the service's root, with the query.
    pub target: String,
    /// The status that was (or, when the reply was lost, would have been) answered.
    pub status: u16,
    /// The request id of the answer.
    pub request_id: String,
    /// What fault was injected, if any.
    pub fault: Option<String>,
    /// The program that asked, without its version: the first product of `User-Agent`.
    pub agent: String,
}

/// How often a program asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Requests that change nothing: GET, HEAD and logins.
    pub reads: u64,
    /// All others.
    pub writes: u64,
}

/// What was asked so far.
#[derive(Clone, Debug, Default)]
pub struct RequestLog {
    entries: VecDeque<LogEntry>,
    counts: BTreeMap<(Option<Service>, String, String), u64>,
    agents: BTreeMap<String, Asked>,
    total: u64,
}

impl RequestLog {
    /// Adds an entry; the oldest is forgotten when there are too many.
    pub fn add(&mut self, entry: LogEntry) {
        let path = entry.target.split('?').next().unwrap_or_default();
        let key = (entry.service, entry.method.to_string(), pattern(path));
        *self.counts.entry(key).or_default() += 1;
        self.total += 1;
        self.count_agent(&entry);
        if self.entries.len() == ENTRIES_MAX {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    fn count_agent(&mut self, entry: &LogEntry) {
        let is_known = self.agents.contains_key(&entry.agent) || self.agents.len() < AGENTS_MAX;
        let agent = if is_known { entry.agent.clone() } else { String::new() };
        let asked = self.agents.entry(agent).or_default();
        match changes(entry.service, entry.method.as_str()) {
            true => asked.writes += 1,
            false => asked.reads += 1,
        }
    }

    /// How often a program asked, by the first product of its `User-Agent`, without the version.
    #[must_use]
    pub fn asked_by(&self, agent: &str) -> Asked {
        self.agents.get(agent).copied().unwrap_or_default()
    }

    /// The latest requests, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &LogEntry> {
        self.entries.iter()
    }

    /// How many requests were made.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many requests had this service, method and path pattern, such as `/v2.0/ports/{id}`.
    #[must_use]
    pub fn count(&self, service: Service, method: &Method, path_pattern: &str) -> u64 {
        let key = (Some(service), method.to_string(), path_pattern.to_owned());
        self.counts.get(&key).copied().unwrap_or(0)
    }

    /// All counts: service, method and path pattern, number.
    pub fn counts(&self) -> impl Iterator<Item = (Option<Service>, &str, &str, u64)> {
        self.counts
            .iter()
            .map(|((service, method, path), count)| (*service, method.as_str(), path.as_str(), *count))
    }

    /// How many requests changed something: all but GET and HEAD, without logins.
    #[must_use]
    pub fn mutating(&self) -> u64 {
        let of_changes = self.counts.iter().filter(|((service, method, _), _)| changes(*service, method));
        of_changes.map(|(_, count)| count).sum()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Whether a request changes something: a login does not.
fn changes(service: Option<Service>, method: &str) -> bool {
    !matches!(method, "GET" | "HEAD") && service != Some(Service::Identity)
}

/// The program of a `User-Agent`: its first product, without the version.
pub(crate) fn agent(header: &str) -> String {
    let product = header.split_whitespace().next().unwrap_or_default();
    product.split('/').next().unwrap_or_default().to_owned()
}

/// A path with its identifiers replaced: `/v2.0/ports/{id}`.
#[must_use]
pub(crate) fn pattern(path: &str) -> String {
    let mut previous = "";
    let mut pattern = String::new();
    for segment in path.split('/').skip(1) {
        pattern.push('/');
        pattern.push_str(match previous {
            "tags" => "{tag}",
            _ if is_identifier(segment) => "{id}",
            _ => segment,
        });
        previous = segment;
    }
    pattern
}

fn is_identifier(segment: &str) -> bool {
    let digits = segment.bytes().filter(|byte| *byte != b'-').count();
    let hexadecimal = segment.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    let number = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    (digits == 32 && hexadecimal) || number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(service: Service, method: Method, header: &str) -> LogEntry {
        LogEntry {
            at: Timestamp::UNIX_EPOCH,
            service: Some(service),
            method,
            target: "/".to_owned(),
            status: 200,
            request_id: String::new(),
            fault: None,
            agent: agent(header),
        }
    }

    #[test]
    fn requests_are_counted_by_the_program_that_asks() {
        let mut log = RequestLog::default();
        let manager = "openstack-cloud-controller-manager/0.1.0 bowline/0.1.0";
        log.add(asked(Service::Identity, Method::POST, manager));
        log.add(asked(Service::Compute, Method::GET, manager));
        log.add(asked(Service::LoadBalancer, Method::POST, manager));
        log.add(asked(Service::Compute, Method::DELETE, "openstacksdk/4.0.0 keystoneauth1/5"));
        assert_eq!(log.asked_by("openstack-cloud-controller-manager"), Asked { reads: 2, writes: 1 });
        assert_eq!(log.asked_by("openstacksdk"), Asked { reads: 0, writes: 1 });
        assert_eq!(log.asked_by("nobody"), Asked::default());
        for number in 0..2 * AGENTS_MAX {
            log.add(asked(Service::Compute, Method::GET, &format!("agent-{number}")));
        }
        assert!(log.agents.len() <= AGENTS_MAX + 1);
    }

    #[test]
    fn identifiers_and_tags_are_replaced_in_patterns() {
        let id = "0280b06e-0869-42c5-9f07-403f844f3b10";
        assert_eq!(pattern(&format!("/v2.0/ports/{id}/tags/blue")), "/v2.0/ports/{id}/tags/{tag}");
        assert_eq!(pattern("/v2.1/servers/detail"), "/v2.1/servers/detail");
        assert_eq!(pattern("/v2.1/flavors/1"), "/v2.1/flavors/{id}");
        assert_eq!(pattern("/"), "/");
    }
}
