//! The options of the controller of pod ranges, and how ranges are read.

use ipnet::IpNet;

use super::check::Check;

/// The controller of pod ranges. The ranges to hand out are [`super::CloudOptions::cluster_cidrs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpamOptions {
    /// Whether it runs.
    pub allocate_node_cidrs: bool,
    /// `RangeAllocator`.
    pub allocator_type: String,
    /// Ranges of Service addresses.
    pub service_cidrs: Vec<IpNet>,
    /// Prefix length of a node's IPv4 range.
    pub node_mask_v4: u8,
    /// Prefix length of a node's IPv6 range.
    pub node_mask_v6: u8,
}

const MASK: &str = "node-cidr-mask-size";
const MASK_V4: &str = "node-cidr-mask-size-ipv4";
const MASK_V6: &str = "node-cidr-mask-size-ipv6";

pub(super) fn ipam(check: &mut Check<'_>) -> IpamOptions {
    let allocate_node_cidrs = check.parsed.bool("allocate-node-cidrs");
    let allocator_type = check.parsed.text("cidr-allocator-type").to_owned();
    let service_cidrs = ranges(check, "service-cluster-ip-range");
    let any: u8 = check.int(MASK, 0..=128);
    let v4: u8 = check.int(MASK_V4, 0..=32);
    let v6: u8 = check.int(MASK_V6, 0..=128);
    let pick = |own: u8, default: u8| {
        if own != 0 {
            own
        } else if any != 0 {
            any
        } else {
            default
        }
    };
    let options = IpamOptions {
        allocate_node_cidrs,
        allocator_type,
        service_cidrs,
        node_mask_v4: pick(v4, 24),
        node_mask_v6: pick(v6, 64),
    };
    if allocate_node_cidrs {
        check_allocation(check, &options, any != 0, v4 != 0, v6 != 0);
    }
    options
}

/// What only matters when ranges are handed out.
fn check_allocation(check: &mut Check<'_>, options: &IpamOptions, any: bool, v4: bool, v6: bool) {
    if options.allocator_type != "RangeAllocator" {
        check.refuse("cidr-allocator-type", &&options.allocator_type, "only \"RangeAllocator\" is accepted");
    }
    let cluster: Vec<IpNet> = read_ranges(check.parsed.text("cluster-cidr")).unwrap_or_default();
    if cluster.is_empty() && check.parsed.text("cluster-cidr").is_empty() {
        check.combination("--allocate-node-cidrs needs --cluster-cidr, the range to hand out from");
    }
    if any && (v4 || v6) {
        check.combination(format!("--{MASK} cannot be used together with --{MASK_V4} or --{MASK_V6}"));
    }
    if any && cluster.len() == 2 {
        check.combination(format!(
            "--{MASK} is for one address family; with two use --{MASK_V4} and --{MASK_V6}"
        ));
        return; // the one size says nothing about either range
    }
    for (given, flag, family) in
        [(v4, MASK_V4, is_v4 as fn(&IpNet) -> bool), (v6, MASK_V6, |net| !is_v4(net))]
    {
        if given && !cluster.is_empty() && !cluster.iter().any(family) {
            check.combination(format!("--{flag} is given, but --cluster-cidr has no range of that family"));
        }
    }
    for range in &cluster {
        check_mask(check, options, range);
    }
}

fn check_mask(check: &mut Check<'_>, options: &IpamOptions, range: &IpNet) {
    let node = if is_v4(range) { options.node_mask_v4 } else { options.node_mask_v6 };
    if node < range.prefix_len() || node > range.max_prefix_len() {
        check.combination(format!(
            "a node's range of /{node} does not fit into {range} of --cluster-cidr; set the mask size to {} or more",
            range.prefix_len()
        ));
    } else if !is_v4(range) && node - range.prefix_len() > 16 {
        check.combination(format!(
            "a node's range of /{node} in {range} of --cluster-cidr makes more than 65536 ranges; set the mask size \
             to {} or less",
            range.prefix_len() + 16
        ));
    }
}

fn is_v4(range: &IpNet) -> bool {
    matches!(range, IpNet::V4(_))
}

/// The ranges of a flag: none, one, or one of each family.
pub(super) fn ranges(check: &mut Check<'_>, flag: &'static str) -> Vec<IpNet> {
    let text = check.parsed.text(flag);
    read_ranges(text).unwrap_or_else(|wanted| {
        check.refuse(flag, &text, wanted);
        Vec::new()
    })
}

fn read_ranges(text: &str) -> Result<Vec<IpNet>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let read = |item: &str| {
        let item = item.trim();
        without_leading_zeros(item).parse::<IpNet>().map(|net| net.trunc()).map_err(|_| {
            format!("{item:?} is no range; accepted are ranges such as 10.0.0.0/16 or fd00::/48")
        })
    };
    let ranges: Vec<IpNet> = text.split(',').map(read).collect::<Result<_, _>>()?;
    match ranges.as_slice() {
        [_] => Ok(ranges),
        [first, second] if is_v4(first) != is_v4(second) => Ok(ranges),
        _ => Err("accepted are one range, or one IPv4 and one IPv6 range".to_owned()),
    }
}

/// `010.0.0.0/08` as Go's lenient parser reads it, decimal; other texts unchanged.
fn without_leading_zeros(text: &str) -> String {
    if text.contains(':') {
        return text.to_owned();
    }
    let short = |number: &str| {
        let trimmed = number.trim_start_matches('0');
        if trimmed.is_empty() && !number.is_empty() { "0".to_owned() } else { trimmed.to_owned() }
    };
    let (address, mask) = text.split_once('/').unwrap_or((text, ""));
    let address = address.split('.').map(short).collect::<Vec<_>>().join(".");
    format!("{address}/{mask}")
}
