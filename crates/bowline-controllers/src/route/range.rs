//! The cluster CIDRs: whether they are valid, and which routes are inside. Pure.

use ipnet::IpNet;

/// The cluster CIDRs: one, or one of each family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRange(Vec<IpNet>);

/// Why the cluster CIDRs are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRange {
    /// None was given.
    #[error(
        "--configure-cloud-routes needs --cluster-cidr, and it is empty: give the range of pod addresses, or switch cloud routes off"
    )]
    Missing,
    /// Two of the same family.
    #[error(
        "--cluster-cidr has {0} and {1}, both of the same IP family: give one of IPv4 and one of IPv6, or only one"
    )]
    SameFamily(IpNet, IpNet),
    /// More than two.
    #[error("--cluster-cidr has {0} ranges, but at most two can be used: one of IPv4 and one of IPv6")]
    TooMany(usize),
}

impl ClusterRange {
    /// Checks the cluster CIDRs.
    ///
    /// # Errors
    ///
    /// [`BadRange`] unless it is one CIDR, or one of each family.
    pub fn new(cidrs: &[IpNet]) -> Result<Self, BadRange> {
        let is_v4 = |cidr: &IpNet| cidr.addr().is_ipv4();
        match cidrs {
            [] => Err(BadRange::Missing),
            [a, b] if is_v4(a) == is_v4(b) => Err(BadRange::SameFamily(*a, *b)),
            [_] | [_, _] => Ok(Self(cidrs.iter().map(IpNet::trunc).collect())),
            more => Err(BadRange::TooMany(more.len())),
        }
    }

    /// Whether `destination` is completely inside: only such routes are deleted. Upstream also deletes a wider route that begins or ends
    /// where the range does; such a route may carry other traffic.
    #[must_use]
    pub fn contains(&self, destination: &IpNet) -> bool {
        self.0.iter().any(|cidr| cidr.contains(destination))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    #[test]
    fn is_responsible_for_route() {
        let cases = [
            ("10.244.0.0/16", "10.244.0.0/24", true),
            ("10.244.0.0/16", "10.244.255.0/24", true),
            ("10.244.0.0/14", "10.244.0.0/24", true),
            ("10.244.0.0/14", "10.247.255.0/24", true),
            ("2001:db8::/10", "2001:db8:0:1::/64", true),
            ("2001:db8::/10", "203f:ffff:ffff:ffff::/64", true),
            ("10.244.0.0/16", "10.243.255.0/24", false),
            ("10.244.0.0/16", "10.245.0.0/24", false),
            ("10.244.0.0/14", "10.243.255.0/24", false),
            ("10.244.0.0/14", "10.248.0.0/24", false),
            ("2001:db8::/10", "1fff:ffff::/64", false),
            ("2001:db8::/10", "2040::/64", false),
        ];
        for (cluster, route, expected) in cases {
            let range = ClusterRange::new(&[net(cluster)]).unwrap();
            assert_eq!(range.contains(&net(route)), expected, "{route} in {cluster}");
        }
    }

    #[test]
    fn a_route_wider_than_the_range_is_not_ours_wherever_it_begins() {
        let range = ClusterRange::new(&[net("10.244.0.0/16"), net("fd00::/48")]).unwrap();
        assert!(range.contains(&net("10.244.0.0/16")) && range.contains(&net("fd00:0:0:9::/64")));
        for wide in ["10.244.0.0/15", "10.240.0.0/12", "0.0.0.0/0", "::/0"] {
            assert!(!range.contains(&net(wide)), "{wide}");
        }
    }

    #[test]
    fn a_range_is_one_cidr_or_one_of_each_family() {
        let (a, b, c) = (net("10.0.0.0/8"), net("11.0.0.0/8"), net("fd00::/48"));
        assert_eq!(ClusterRange::new(&[]), Err(BadRange::Missing));
        assert_eq!(ClusterRange::new(&[a, b]), Err(BadRange::SameFamily(a, b)));
        assert_eq!(ClusterRange::new(&[a, c, b]), Err(BadRange::TooMany(3)));
        assert!(ClusterRange::new(&[a]).is_ok() && ClusterRange::new(&[c, a]).is_ok());
    }
}
