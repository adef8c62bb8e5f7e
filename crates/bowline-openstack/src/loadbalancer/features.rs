//! What a cloud's Octavia can do, by the version of its API and by the provider of `[LoadBalancer] lb-provider`.
//!
//! The version is handed in. Where it could not be learned there are no features to be had: the caller waits, for a guess would
//! widen what is deleted.

use openstack_client::load_balancer::MonitorType;

/// The version of Octavia's API: of `v2.27`, 2 and 27.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiVersion(pub u32, pub u32);

impl ApiVersion {
    /// The version that an id such as `v2.27` names.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        let (major, minor) = id.strip_prefix('v')?.split_once('.')?;
        Some(Self(major.parse().ok()?, minor.parse().ok()?))
    }
}

/// What can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// The provider is OVN, which keeps the client's address and knows no HTTP.
    pub ovn: bool,
    /// Tags.
    pub tags: bool,
    /// Flavors of load balancers.
    pub flavors: bool,
    /// Timeouts of listeners.
    pub timeouts: bool,
    /// `allowed_cidrs` of listeners.
    pub allowed_cidrs: bool,
    /// Availability zones of load balancers.
    pub zones: bool,
    /// An HTTP monitor for members.
    pub http_monitor: bool,
    /// An HTTP monitor for members that get UDP.
    pub udp_http_monitor: bool,
    /// Further addresses of a load balancer.
    pub additional_vips: bool,
}

impl Features {
    /// Whether members can be asked in this way. OVN refuses a pool with any other monitor, and OCCM then fails for ever.
    #[must_use]
    pub fn monitors(&self, kind: &MonitorType) -> bool {
        !self.ovn || matches!(kind, MonitorType::Tcp | MonitorType::UdpConnect)
    }

    /// What a provider can do in a version.
    #[must_use]
    pub fn of(provider: &str, version: ApiVersion) -> Self {
        let ovn = provider == "ovn";
        let from = |minor: u32| version >= ApiVersion(2, minor);
        Self {
            ovn,
            tags: from(5),
            flavors: !ovn && from(6),
            timeouts: !ovn && from(1),
            allowed_cidrs: !ovn && from(12),
            zones: !ovn && from(14),
            http_monitor: !ovn,
            udp_http_monitor: !ovn && from(16),
            additional_vips: from(26),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_by_its_numbers() {
        assert_eq!(ApiVersion::parse("v2.27"), Some(ApiVersion(2, 27)));
        assert!(ApiVersion::parse("v2.9") < ApiVersion::parse("v2.16"));
        for wrong in ["2.27", "v2", "v2.x", ""] {
            assert_eq!(ApiVersion::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_feature_begins_with_its_version() {
        let count = |provider: &str, minor: u32| {
            let found = Features::of(provider, ApiVersion(2, minor));
            [
                found.timeouts,
                found.tags,
                found.flavors,
                found.allowed_cidrs,
                found.zones,
                found.udp_http_monitor,
            ]
            .into_iter()
            .filter(|has| *has)
            .count()
        };
        let amphora: Vec<_> =
            [0, 1, 4, 5, 6, 11, 12, 13, 14, 15, 16, 27].map(|minor| count("amphora", minor)).into();
        assert_eq!(amphora, [0, 1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
        assert_eq!([4, 5, 27].map(|minor| count("ovn", minor)), [0, 1, 1], "OVN has tags only");
    }
}
