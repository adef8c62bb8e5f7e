//! The tags that a Service requests for its load balancer, listeners and pools, in addition to those that prove ownership.
//!
//! As in OCCM, tags are only added: tags from other users or tools stay, and so do tags that an earlier value of the annotation requested.
//! Users write them, so none may look like a tag that proves ownership.

use crate::loadbalancer::names::LOAD_BALANCER_PREFIX;
use crate::loadbalancer::ownership;

/// The most tags of one annotation. Octavia has no limit, but every list of the project contains all of them.
pub(crate) const MOST: usize = 50;

/// The longest tag that Octavia accepts, in characters.
pub(crate) const LONGEST: usize = 255;

/// The tags of all three annotations (load balancer, listener, pool).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraTags {
    /// For the load balancer, if the Service owns it.
    pub balancer: Vec<String>,
    /// For each listener of the Service.
    pub listener: Vec<String>,
    /// For each pool of the Service.
    pub pool: Vec<String>,
}

impl ExtraTags {
    /// Whether no annotation requests any tag.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.balancer.is_empty() && self.listener.is_empty() && self.pool.is_empty()
    }
}

/// Parses a list of tags, separated by commas or white space as in OCCM. Duplicates are dropped, the order is kept. `None` if a tag is not
/// usable or there are too many.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<Vec<String>> {
    let mut tags: Vec<String> = Vec::new();
    let separator = |sign: char| sign == ',' || sign.is_whitespace();
    for tag in text.split(separator).filter(|tag| !tag.is_empty()) {
        if !is_usable(tag) {
            return None;
        }
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
        if tags.len() > MOST {
            return None;
        }
    }
    Some(tags)
}

/// Whether Octavia can store the tag, and the tag cannot be mistaken for proof of ownership. Octavia's database compares case-insensitively
/// and cannot store characters of four bytes.
fn is_usable(tag: &str) -> bool {
    let storable = |sign: char| !sign.is_control() && sign <= '\u{ffff}';
    tag.chars().count() <= LONGEST && tag.chars().all(storable) && !is_reserved(tag)
}

/// Whether a tag has the prefix of one that proves the ownership of a Service or a cluster.
fn is_reserved(tag: &str) -> bool {
    let lower = tag.to_lowercase();
    [LOAD_BALANCER_PREFIX, ownership::RESERVED].iter().any(|prefix| lower.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_split_as_occm_splits_them_and_each_counts_once() {
        let tags = |text: &str| parse(text).unwrap();
        assert_eq!(tags("env=prod,team=network"), ["env=prod", "team=network"]);
        assert_eq!(tags(" a ,, b\tc\n,a"), ["a", "b", "c"]);
        assert_eq!(tags(""), Vec::<String>::new());
        assert_eq!(tags(" , "), Vec::<String>::new());
        assert_eq!(tags("größe=groß"), ["größe=groß"]);
    }

    #[test]
    fn no_tag_can_look_like_a_proof_of_ownership() {
        for forged in [
            "kube_service_kubernetes_default_web",
            "Kube_Service_kubernetes_default_web",
            "bowline-cluster:11111111-2222-3333-4444-555555555555",
            "bowline-service:s1",
            "BOWLINE-SERVICE:s1",
            "env=prod,bowline-service:s1",
            "bowline-anything",
            // Lower case that is longer or another letter: the Kelvin sign is a k.
            "\u{212a}ube_service_kubernetes_default_web",
        ] {
            assert_eq!(parse(forged), None, "{forged}");
        }
        assert!(parse("my-kube_service_,x-bowline-service:s1").is_some(), "not at the beginning");
    }

    #[test]
    fn what_octavia_cannot_store_is_refused() {
        let long = "x".repeat(LONGEST);
        assert_eq!(parse(&long), Some(vec![long.clone()]));
        assert_eq!(parse(&format!("{long}x")), None);
        assert!(parse(&"ü".repeat(LONGEST)).is_some(), "counted in characters");
        for bad in ["a\u{0}b", "a\u{1b}[31m", "\u{1f600}"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        let many = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>().join(",");
        assert_eq!(parse(&many(MOST)).map(|tags| tags.len()), Some(MOST));
        assert_eq!(parse(&many(MOST + 1)), None);
    }
}
