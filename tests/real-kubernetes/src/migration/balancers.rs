//! Never a second load balancer, and none made anew: what the requests, and the contents before and after, say.

use std::collections::{BTreeMap, BTreeSet};

use crate::migration::request::Request;

/// Where load balancers are made.
const BALANCERS: &str = "/v2.0/lbaas/loadbalancers";

/// Names under which load balancers were made more than once. Names are of Services, and no Service of a run has the name of another;
/// `same` has the names that are another's by another writer.
#[must_use]
pub fn made_twice(requests: &[Request], same: &BTreeMap<String, String>) -> Vec<String> {
    let mut made: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for request in requests.iter().filter(|request| is_making(request)) {
        let name = request.name.as_deref().unwrap_or_default();
        made.entry(same.get(name).map_or(name, String::as_str)).or_default().push(request);
    }
    made.retain(|_, requests| requests.len() > 1);
    made.into_iter()
        .map(|(name, requests)| {
            let when: Vec<String> = requests.iter().map(ToString::to_string).collect();
            format!("{} load balancers {name} were made: {}", requests.len(), when.join("; "))
        })
        .collect()
}

fn is_making(request: &Request) -> bool {
    request.method == "POST" && request.path.ends_with(BALANCERS) && request.is_done()
}

/// Load balancers that somebody removed although their Services were to stay.
#[must_use]
pub fn removed(requests: &[Request], kept: &BTreeSet<String>) -> Vec<String> {
    let is_of_kept = |request: &&Request| {
        let id = request.path.rsplit('/').next().unwrap_or_default();
        let is_balancer = request.path.ends_with(&format!("{BALANCERS}/{id}"));
        request.method == "DELETE" && request.is_done() && is_balancer && kept.contains(id)
    };
    requests
        .iter()
        .filter(is_of_kept)
        .map(|request| format!("a load balancer was removed: {request}"))
        .collect()
}

/// A load balancer, as a Service has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Its id in the cloud.
    pub id: String,
    /// The addresses in the Service's status.
    pub addresses: Vec<String>,
}

/// What is not as it was, of the Services that were to stay.
#[must_use]
pub fn differences(before: &BTreeMap<String, Served>, after: &BTreeMap<String, Served>) -> Vec<String> {
    let different = before.iter().filter_map(|(service, then)| match after.get(service) {
        None => Some(format!("Service {service} had {then:?} and has nothing")),
        Some(now) if now != then => Some(format!("Service {service} had {then:?} and has {now:?}")),
        Some(_) => None,
    });
    different.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migration::request::{Side, Writer};
    use std::time::Duration;

    fn request(method: &str, path: &str, status: u16, name: Option<&str>) -> Request {
        Request {
            at: Duration::ZERO,
            writer: Writer { side: Side::Old, process: "a".to_owned() },
            method: method.to_owned(),
            path: path.to_owned(),
            status,
            name: name.map(ToOwned::to_owned),
            id: None,
        }
    }

    #[test]
    fn only_what_was_done_counts_and_only_load_balancers_do() {
        let path = "/load-balancer/v2.0/lbaas/loadbalancers";
        let requests = [
            request("POST", path, 201, Some("one")),
            request("POST", path, 409, Some("one")),
            request("POST", "/load-balancer/v2.0/lbaas/listeners", 201, Some("one")),
            request("POST", path, 201, Some("two")),
        ];
        let same = BTreeMap::new();
        assert!(made_twice(&requests, &same).is_empty());
        let again = [&requests[..], &[request("POST", path, 201, Some("two"))]].concat();
        let found = made_twice(&again, &same);
        assert!(found.len() == 1 && found[0].contains("2 load balancers two"), "{found:?}");
        let same = BTreeMap::from([("two".to_owned(), "one".to_owned())]);
        let found = made_twice(&requests, &same);
        assert!(found.len() == 1 && found[0].contains("2 load balancers one"), "{found:?}");
    }

    #[test]
    fn a_load_balancer_that_was_to_stay_is_missed() {
        let kept = BTreeSet::from(["17".to_owned()]);
        let delete = |id: &str| request("DELETE", &format!("/x/v2.0/lbaas/loadbalancers/{id}"), 204, None);
        assert!(removed(&[delete("18")], &kept).is_empty());
        assert_eq!(removed(&[delete("17")], &kept).len(), 1);
    }

    #[test]
    fn another_id_another_address_and_nothing_are_differences() {
        let served =
            |id: &str, address: &str| Served { id: id.to_owned(), addresses: vec![address.to_owned()] };
        let of = |all: &[(&str, Served)]| -> BTreeMap<String, Served> {
            all.iter().map(|(name, served)| ((*name).to_owned(), served.clone())).collect()
        };
        let before = of(&[("a", served("1", "x")), ("b", served("2", "y")), ("c", served("3", "z"))]);
        assert!(differences(&before, &before).is_empty());
        let after = of(&[("a", served("9", "x")), ("b", served("2", "q")), ("d", served("4", "n"))]);
        assert_eq!(differences(&before, &after).len(), 3);
    }
}
