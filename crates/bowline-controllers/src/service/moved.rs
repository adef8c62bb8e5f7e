//! Tells when the published address of a Service becomes another one. Clients and DNS records still use the old one.

use std::collections::BTreeSet;

use bowline_cloud::LoadBalancerStatus;

/// How many reasons of steps a message has.
const MOST_REASONS: usize = 4;

/// A published address that becomes another one, until a person was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) from: BTreeSet<String>,
    pub(super) to: BTreeSet<String>,
    /// The reasons of the steps that were performed before.
    pub(super) why: Vec<String>,
    pub(super) told: bool,
}

impl Moved {
    /// The change from `before` to `after`; none if `before` is empty, if addresses are only added (a second IP family), or if they
    /// are only removed.
    pub(super) fn of(before: &LoadBalancerStatus, after: &LoadBalancerStatus) -> Option<Self> {
        let (from, to) = (published(before), published(after));
        let is_replaced = from.difference(&to).next().is_some() && to.difference(&from).next().is_some();
        is_replaced.then(|| Self { from, to, why: Vec::new(), told: false })
    }

    /// Whether `shown` is what the address became.
    pub(super) fn leads_to(&self, shown: &LoadBalancerStatus) -> bool {
        self.to == published(shown)
    }
}

/// Adds the reason of a step, once, as long as there are few.
pub(super) fn add_reason(reasons: &mut Vec<String>, reason: &str) {
    if reasons.len() < MOST_REASONS && !reasons.iter().any(|known| known == reason) {
        reasons.push(reason.to_owned());
    }
}

/// The addresses and host names of a status.
fn published(status: &LoadBalancerStatus) -> BTreeSet<String> {
    let shown = status.ingress.iter().flat_map(|ingress| {
        let address = ingress.ip.map(|address| address.to_string());
        address.into_iter().chain(ingress.hostname.as_ref().map(ToString::to_string))
    });
    shown.filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use bowline_cloud::Ingress;

    use super::*;

    fn at(addresses: &[&str]) -> LoadBalancerStatus {
        let ingress = |address: &&str| Ingress { ip: address.parse().ok(), ..Ingress::default() };
        LoadBalancerStatus { ingress: addresses.iter().map(ingress).collect() }
    }

    fn named(name: &str) -> LoadBalancerStatus {
        LoadBalancerStatus { ingress: vec![Ingress { hostname: Some(name.into()), ..Ingress::default() }] }
    }

    #[test]
    fn only_an_address_in_place_of_another_is_a_change() {
        let (one, other, v6) = ("192.0.2.1", "192.0.2.2", "2001:db8::1");
        assert_eq!(Moved::of(&at(&[]), &at(&[one])), None, "the first one");
        assert_eq!(Moved::of(&at(&[one]), &at(&[one])), None, "the same one");
        assert_eq!(Moved::of(&at(&[one]), &at(&[one, v6])), None, "a second family");
        assert_eq!(Moved::of(&at(&[one, v6]), &at(&[v6])), None, "one family less");
        assert_eq!(Moved::of(&at(&[one, v6]), &at(&[v6, one])), None, "another order");
        assert_eq!(Moved::of(&at(&[one]), &at(&[])), None, "none any more");
        let moved = Moved::of(&at(&[one, v6]), &at(&[other, v6])).unwrap();
        assert!(moved.from.contains(one) && moved.to.contains(other) && !moved.told);
        assert!(Moved::of(&at(&[one]), &at(&[other, v6])).is_some());
        assert!(Moved::of(&named("a.example.org"), &named("b.example.org")).is_some());
        assert!(Moved::of(&at(&[one]), &named("b.example.org")).is_some());
    }

    #[test]
    fn reasons_are_kept_once_and_only_a_few() {
        let mut reasons = Vec::new();
        for reason in ["a", "b", "a", "c", "d", "e"] {
            add_reason(&mut reasons, reason);
        }
        assert_eq!(reasons, ["a", "b", "c", "d"]);
    }
}
