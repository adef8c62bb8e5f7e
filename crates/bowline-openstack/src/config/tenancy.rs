//! `[Tenancy "namespace"]`: what Services of a namespace may ask for. Data and the choice of the section that counts; pure.
//!
//! A section's name is a namespace, or a pattern in which `*` stands for any characters. Each key comes from the most specific
//! section that gives it, so a section for one namespace need not repeat what a pattern says.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bowline_cloud::suggest::nearest;

/// All that a key without a value in any section allows.
pub const ANY: &str = "any";
/// Allows nothing.
pub const NONE: &str = "none";

/// The rules, by the name of their section. No name counts for every namespace, after all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tenancy(pub BTreeMap<String, TenancySection>);

/// One section. What is `None` is not said there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenancySection {
    /// `share-load-balancers`
    pub share_load_balancers: Option<bool>,
    /// `join-namespace`
    pub join_namespaces: Allowed,
    /// `join-other-clusters`
    pub join_other_clusters: Option<bool>,
    /// `join-unmanaged`
    pub join_unmanaged: Option<bool>,
    /// `floating-ip`
    pub floating_ip: Allowed,
    /// `floating-network-id`
    pub floating_network_id: Allowed,
    /// `floating-subnet-id`
    pub floating_subnet_id: Allowed,
    /// `floating-subnet`
    pub floating_subnet: Allowed,
    /// `floating-subnet-tags`
    pub floating_subnet_tags: Allowed,
    /// `vip-address`
    pub vip_address: Allowed,
    /// `port-id`
    pub port_id: Allowed,
    /// `network-id`
    pub network_id: Allowed,
    /// `subnet-id`
    pub subnet_id: Allowed,
    /// `member-subnet-id`
    pub member_subnet_id: Allowed,
    /// `flavor-id`
    pub flavor_id: Allowed,
    /// `availability-zone`
    pub availability_zone: Allowed,
    /// `default-tls-container-ref`
    pub tls_container_ref: Allowed,
    /// `class`
    pub class: Allowed,
}

/// The values that a section allows; `None` if it does not have the key.
pub type Allowed = Option<Vec<String>>;

/// A rule that counts for a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule<'a, T> {
    /// The name of its section.
    pub section: &'a str,
    /// Its value.
    pub value: T,
}

impl<T> Rule<'_, T> {
    /// The rule as a message names it: section and key.
    pub fn label(&self, key: &str) -> String {
        format!("{} {key}", header(self.section))
    }
}

/// The line that begins a section.
#[must_use]
pub fn header(section: &str) -> String {
    if section.is_empty() { "[Tenancy]".to_owned() } else { format!("[Tenancy {section:?}]") }
}

impl Tenancy {
    /// The rule that counts for a namespace: that of the most specific section that gives it.
    #[must_use]
    pub fn rule<'a, T>(
        &'a self,
        namespace: &str,
        of: impl Fn(&'a TenancySection) -> Option<T>,
    ) -> Option<Rule<'a, T>> {
        self.rules(of).into_iter().find(|rule| matches(rule.section, namespace))
    }

    /// All rules of a key: of those that fit a namespace the first counts.
    pub fn rules<'a, T>(&'a self, of: impl Fn(&'a TenancySection) -> Option<T>) -> Vec<Rule<'a, T>> {
        let rule = |(section, rules): (&'a String, &'a TenancySection)| {
            Some(Rule { section: section.as_str(), value: of(rules)? })
        };
        let mut rules: Vec<_> = self.0.iter().filter_map(rule).collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(specificity(rule.section)));
        rules
    }
}

/// A name without `*` is one namespace and goes before all patterns; of patterns the one with more letters goes first.
fn specificity(section: &str) -> (bool, usize, bool) {
    let letters = section.chars().filter(|letter| *letter != '*').count();
    (!section.is_empty() && !section.contains('*'), letters, !section.is_empty())
}

fn matches(section: &str, namespace: &str) -> bool {
    section.is_empty() || fits(section, namespace)
}

/// Whether a text fits a pattern in which `*` stands for any characters and all else for itself.
#[must_use]
pub fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let Some((last, between)) = parts.split_last() else { return true };
    for part in between {
        let Some(at) = left.find(part) else { return false };
        left = left.get(at.saturating_add(part.len())..).unwrap_or_default();
    }
    left.ends_with(last)
}

/// Whether a value is among those that are allowed.
#[must_use]
pub fn allows(allowed: &[String], value: &str) -> bool {
    allowed.iter().any(|one| one == ANY || (one != NONE && fits(one, value)))
}

/// Whether a value is among those that are allowed, letter by letter: for values that are patterns themselves.
#[must_use]
pub fn allows_exactly(allowed: &[String], value: &str) -> bool {
    allowed.iter().any(|one| one == ANY || (one != NONE && one == value))
}

/// Whether an address is in a network that is allowed.
#[must_use]
pub fn allows_address(allowed: &[String], address: IpAddr) -> bool {
    allowed.iter().any(|one| one == ANY || network(one).is_some_and(|network| network.contains(&address)))
}

/// A network, or the one of a single address.
#[must_use]
pub fn network(text: &str) -> Option<ipnet::IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(ipnet::IpNet::from))
}

/// Whether the name of an unknown section is likely to be a misspelling of `Tenancy`. No other section that OCCM or Bowline knows begins
/// alike.
pub(super) fn is_meant_by(name: &str) -> bool {
    let begins = name.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("tenan"));
    begins || nearest(name, ["Tenancy"]).is_some()
}

/// Why a name cannot be that of a section: no namespace could fit it.
pub(super) fn wrong_section(name: &str) -> Option<String> {
    let can_fit =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-*".contains(letter);
    (!name.chars().all(can_fit)).then(|| {
        format!("wanted the name of a namespace, or a pattern of lower-case letters, digits, - and *, found {name:?}")
    })
}

/// Why a value cannot be one of a list of this key. A value that can never fit would forbid more than was meant.
pub(super) fn wrong_value(key: &str, value: &str) -> Option<&'static str> {
    let is_address = matches!(key, "floating-ip" | "vip-address");
    match value {
        "" => Some("any, none, or a value that is allowed"),
        ANY | NONE => None,
        _ if is_address && network(value).is_none() => {
            Some("any, none, an IP address or a network such as 192.0.2.0/24")
        }
        _ if key == "join-namespace" => wrong_section(value)
            .map(|_| "any, none, or a namespace or pattern of lower-case letters, digits, - and *"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenancy(sections: &[(&str, &[&str])]) -> Tenancy {
        let section = |flavors: &[&str]| TenancySection {
            flavor_id: Some(flavors.iter().map(|flavor| (*flavor).to_owned()).collect()),
            ..TenancySection::default()
        };
        Tenancy(sections.iter().map(|(name, flavors)| ((*name).to_owned(), section(flavors))).collect())
    }

    fn counting(tenancy: &Tenancy, namespace: &str) -> Option<String> {
        tenancy.rule(namespace, |section| section.flavor_id.as_deref()).map(|rule| rule.section.to_owned())
    }

    #[test]
    fn the_most_specific_section_counts_and_a_name_goes_before_every_pattern() {
        let rules =
            tenancy(&[("", &[]), ("*", &[]), ("team-*", &[]), ("team-red-*", &[]), ("team-red-1", &[])]);
        let section = |namespace| counting(&rules, namespace).unwrap();
        assert_eq!(section("team-red-1"), "team-red-1");
        assert_eq!(section("team-red-12"), "team-red-*");
        assert_eq!(section("team-"), "team-*", "a star stands for nothing as well");
        assert_eq!(section("other"), "*");
        assert_eq!(counting(&tenancy(&[("", &[])]), "any").unwrap(), "");
        assert_eq!(counting(&tenancy(&[("team-a", &[])]), "team-ab"), None);
    }

    #[test]
    fn each_key_comes_from_a_section_of_its_own() {
        let mut rules = tenancy(&[("team-*", &["small"])]);
        let only_zones =
            TenancySection { availability_zone: Some(vec!["az1".to_owned()]), ..TenancySection::default() };
        rules.0.insert("team-a".to_owned(), only_zones);
        assert_eq!(counting(&rules, "team-a").unwrap(), "team-*");
        let zone = rules.rule("team-a", |section| section.availability_zone.as_deref()).unwrap();
        assert_eq!(zone.label("availability-zone"), "[Tenancy \"team-a\"] availability-zone");
    }

    /// A namespace whose name is part of a pattern, or that a regular expression would match.
    #[test]
    fn only_a_star_is_special_in_a_pattern() {
        for (pattern, text, fit) in [
            ("team-*", "team-*", true),
            ("team-a", "team-*", false),
            ("a.c", "abc", false),
            ("*-prod", "shop-prod", true),
            ("*-prod", "shop-prod-evil", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "ac", false),
            ("a*a", "a", false),
            ("**", "", true),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
        assert!(
            wrong_section("Team").is_some()
                && wrong_section("a_b").is_some()
                && wrong_section("a?").is_some()
        );
        assert!(wrong_section("team-*").is_none() && wrong_section("").is_none());
    }

    #[test]
    fn addresses_are_compared_as_addresses() {
        let allowed = ["192.0.2.0/24".to_owned(), "2001:db8::1".to_owned()];
        let is_allowed = |text: &str| allows_address(&allowed, text.parse().unwrap());
        assert!(is_allowed("192.0.2.7") && is_allowed("2001:DB8:0::1"));
        assert!(!is_allowed("192.0.3.7") && !is_allowed("::ffff:192.0.2.7"));
        assert!(!allows_address(&["none".to_owned()], "192.0.2.7".parse().unwrap()));
        assert!(!allows(&["none".to_owned()], "none"), "the word is no value");
    }
}
