//! The networks that may connect to a load balancer. Parsed here, so that all providers parse them in the same way.

use std::collections::BTreeSet;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::{IpFamily, ServiceView, lenient_cidr};

/// The annotation with the same meaning as `spec.loadBalancerSourceRanges`, which takes precedence.
pub const SOURCE_RANGES_ANNOTATION: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// The networks that may connect to a Service: sorted, without duplicates, host bits cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRanges(BTreeSet<IpNet>);

/// The maximum number of invalid entries in the error; a Service may have a hundred thousand of them.
const MOST_NAMED: usize = 10;
/// The maximum length of an invalid entry in the error, in bytes.
const LONGEST_QUOTE_BYTES: usize = 64;

/// Entries that are not networks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{origin} must be networks such as 192.0.2.0/24 or 2001:db8::/32; correct or remove {wrong:?}{}",
    and_more(*.more)
)]
pub struct WrongSourceRanges {
    /// The field or annotation that has them.
    pub origin: &'static str,
    /// The first ten of them, truncated to 64 bytes each.
    pub wrong: Vec<String>,
    /// The number of further invalid entries.
    pub more: usize,
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

impl SourceRanges {
    /// The networks of a Service: from its spec, else from the annotation, else all addresses of its first IP family.
    ///
    /// # Errors
    ///
    /// If an entry is not a network; the error contains the first such entries.
    pub fn of(service: &ServiceView) -> Result<Self, WrongSourceRanges> {
        let annotation = service.annotations.get(SOURCE_RANGES_ANNOTATION).unwrap_or_default().trim();
        if !service.source_ranges.is_empty() {
            let entries = service.source_ranges.iter().map(|entry| entry.trim());
            return read("spec.loadBalancerSourceRanges", entries);
        }
        if !annotation.is_empty() {
            return read(SOURCE_RANGES_ANNOTATION, annotation.split(',').map(str::trim));
        }
        let all: IpNet = match service.ip_families.first() {
            Some(IpFamily::V6) => Ipv6Net::default().into(),
            _ => Ipv4Net::default().into(),
        };
        Ok(Self(BTreeSet::from([all])))
    }

    /// The networks, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &IpNet> {
        self.0.iter()
    }

    /// Whether all addresses of one IP family are allowed.
    #[must_use]
    pub fn allows_all(&self) -> bool {
        self.0.iter().any(|network| network.prefix_len() == 0)
    }
}

fn read<'a>(
    origin: &'static str,
    entries: impl Iterator<Item = &'a str>,
) -> Result<SourceRanges, WrongSourceRanges> {
    let (mut networks, mut wrong, mut more) = (BTreeSet::new(), Vec::new(), 0);
    for entry in entries {
        match lenient_cidr(entry) {
            Some(network) => drop(networks.insert(network.trunc())),
            None if wrong.len() == MOST_NAMED => more += 1,
            None => {
                let end = entry.floor_char_boundary(LONGEST_QUOTE_BYTES);
                wrong.push(entry.get(..end).unwrap_or(entry).to_owned());
            }
        }
    }
    if wrong.is_empty() { Ok(SourceRanges(networks)) } else { Err(WrongSourceRanges { origin, wrong, more }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same text in the annotation and, split, in the spec.
    fn both(text: &str) -> [ServiceView; 2] {
        let annotations = [(SOURCE_RANGES_ANNOTATION, text)].into();
        let source_ranges = text.split(',').map(Into::into).collect();
        [
            ServiceView { annotations, ..ServiceView::default() },
            ServiceView { source_ranges, ..ServiceView::default() },
        ]
    }

    fn ranges(text: &str) -> Vec<String> {
        let [annotated, specified] = both(text).map(|service| SourceRanges::of(&service).unwrap());
        assert_eq!(annotated, specified, "{text:?}");
        annotated.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn get_load_balancer_source_ranges_refuses_what_is_no_network() {
        for text in ["10.0.0.1/33", "foo.bar", "10.0.0.1/32,*", "10.0.0.1/32,", "10.0.0.1/32, ", "10.0.0.1"] {
            for service in both(text) {
                assert!(SourceRanges::of(&service).is_err(), "{text:?}");
            }
        }
    }

    #[test]
    fn get_load_balancer_source_ranges_reads_and_collapses_networks() {
        assert_eq!(ranges("192.168.0.1/32"), ["192.168.0.1/32"]);
        assert_eq!(ranges("192.168.0.1/32,192.168.0.1/32"), ["192.168.0.1/32"]);
        assert_eq!(ranges("192.168.0.1/32,192.168.0.2/32"), ["192.168.0.1/32", "192.168.0.2/32"]);
        assert_eq!(ranges("  192.168.0.1/32 , 192.168.0.2/32   "), ["192.168.0.1/32", "192.168.0.2/32"]);
        assert_eq!(ranges("192.168.32.1/24,192.168.32.9/24"), ["192.168.32.0/24"], "host bits do not count");
    }

    #[test]
    fn get_load_balancer_source_ranges_is_everything_by_default_in_the_services_family() {
        let of = |service: &ServiceView| SourceRanges::of(service).unwrap();
        let nothing_said = of(&ServiceView::default());
        let [empty_annotation, _] = both("");
        assert_eq!(nothing_said.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0.0.0.0/0"]);
        assert_eq!(of(&empty_annotation), nothing_said);
        let v6 = of(&ServiceView { ip_families: vec![IpFamily::V6], ..ServiceView::default() });
        assert_eq!(v6.iter().map(ToString::to_string).collect::<Vec<_>>(), ["::/0"]);
        assert!(nothing_said.allows_all() && v6.allows_all());
    }

    #[test]
    fn allow_all() {
        for (allows, text) in [
            (false, "10.0.0.1/32"),
            (false, "10.0.0.1/32,10.0.0.2/32"),
            (false, "10.0.0.1/32,10.0.0.1/32"),
            (true, "0.0.0.0/0"),
            (true, "192.168.0.0/0"),
            (true, "192.168.0.1/32,0.0.0.0/0"),
            (true, "::/0"),
        ] {
            let [service, _] = both(text);
            assert_eq!(SourceRanges::of(&service).unwrap().allows_all(), allows, "{text}");
        }
    }

    #[test]
    fn every_wrong_entry_is_named_with_where_it_stands() {
        let [annotated, specified] =
            both("10.0.0.0/8,x,y/1").map(|service| SourceRanges::of(&service).unwrap_err());
        assert_eq!(
            annotated.to_string(),
            "service.beta.kubernetes.io/load-balancer-source-ranges must be networks such as 192.0.2.0/24 or \
             2001:db8::/32; correct or remove [\"x\", \"y/1\"]"
        );
        assert_eq!((specified.origin, specified.wrong.len()), ("spec.loadBalancerSourceRanges", 2));
    }

    #[test]
    fn a_hundred_thousand_wrong_entries_make_a_short_message() {
        for entry in ["x".to_owned(), "\u{1f600}".repeat(100), "x".repeat(1_000)] {
            let source_ranges = std::iter::repeat_n(entry.as_str().into(), 100_000).collect();
            let wrong =
                SourceRanges::of(&ServiceView { source_ranges, ..ServiceView::default() }).unwrap_err();
            assert_eq!((wrong.wrong.len(), wrong.more), (10, 99_990));
            assert!(wrong.to_string().len() < 1_024 && wrong.to_string().ends_with(" and 99990 more"));
        }
    }
}
