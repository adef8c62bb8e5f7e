//! The tags that a Service asks for on its load balancer, its listeners and its pools, beside those that say whose they are.
//!
//! As with OCCM, tags are only added: what other people or tools put on an object stays, and so does what an annotation asked for
//! before. Users write them, so none may look like a tag that proves ownership.

use crate::loadbalancer::names::LOAD_BALANCER_PREFIX;
use crate::loadbalancer::ownership;

/// The most tags of one annotation. Octavia has no limit; every list of the project carries all of them.
pub(crate) const MOST: usize = 50;

/// The longest tag that Octavia takes, in characters.
pub(crate) const LONGEST: usize = 255;

/// The tags of all three annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraTags {
    /// Of the load balancer, if it is the Service's own.
    pub balancer: Vec<String>,
    /// Of each listener of the Service.
    pub listener: Vec<String>,
    /// Of each pool of the Service.
    pub pool: Vec<String>,
}

impl ExtraTags {
    /// Whether no annotation asks for any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.balancer.is_empty() && self.listener.is_empty() && self.pool.is_empty()
    }
}

/// The tags that a text lists, each once, in its order; none if one of them cannot be used. As with OCCM, commas and white space
/// separate them.
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

/// Whether Octavia can store a tag, and it proves nothing. Octavia's database compares without regard to case and has no characters
/// of four bytes.
fn is_usable(tag: &str) -> bool {
    let storable = |sign: char| !sign.is_control() && sign <= '\u{ffff}';
    tag.chars().count() <= LONGEST && tag.chars().all(storable) && !is_reserved(tag)
}

/// Whether a tag begins like one by which a load balancer is known to be a Service's or a cluster's.
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
