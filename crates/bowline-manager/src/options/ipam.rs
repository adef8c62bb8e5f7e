//! The options of the node IPAM controller, and the parser of CIDRs.

use bowline_cloud::lenient_cidr;
use ipnet::IpNet;

use super::check::Check;
use super::problem::OptionProblem;

/// The options of the node IPAM controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpamOptions {
    /// Whether the controller is enabled.
    pub allocate_node_cidrs: bool,
    /// `RangeAllocator`, or another value, which [`IpamOptions::check`] rejects.
    pub allocator_type: String,
    /// The CIDRs from which pod CIDRs are allocated, the same as [`super::CloudOptions::cluster_cidrs`].
    pub cluster_cidrs: Vec<IpNet>,
    /// The CIDRs of Service addresses.
    pub service_cidrs: Vec<IpNet>,
    /// The prefix length of a Node's IPv4 pod CIDR.
    pub node_mask_v4: u8,
    /// The prefix length of a Node's IPv6 pod CIDR.
    pub node_mask_v6: u8,
    /// Which flags set the two lengths.
    pub masks_given: MasksGiven,
}

/// Which of the mask size flags were given; not all combinations are allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MasksGiven {
    /// `--node-cidr-mask-size`.
    pub any: bool,
    /// `--node-cidr-mask-size-ipv4`.
    pub v4: bool,
    /// `--node-cidr-mask-size-ipv6`.
    pub v6: bool,
}

const ALLOCATOR: &str = "RangeAllocator";
const MASK: &str = "node-cidr-mask-size";
const MASK_V4: &str = "node-cidr-mask-size-ipv4";
const MASK_V6: &str = "node-cidr-mask-size-ipv6";

/// Parses the options. What would keep the controller from starting is only a warning, because binaries without this controller get its
/// flags too.
pub(super) fn ipam(check: &mut Check<'_>, cluster_cidrs: Vec<IpNet>) -> IpamOptions {
    let service_cidrs = ranges(check, "service-cluster-ip-range");
    let any: u8 = check.int(MASK, 0..=128);
    let v4: u8 = check.int(MASK_V4, 0..=32);
    let v6: u8 = check.int(MASK_V6, 0..=128);
    let pick = |own: u8, default: u8| [own, any, default].into_iter().find(|mask| *mask != 0).unwrap_or(0);
    let options = IpamOptions {
        allocate_node_cidrs: check.parsed.bool("allocate-node-cidrs"),
        allocator_type: check.parsed.text("cidr-allocator-type").to_owned(),
        cluster_cidrs,
        service_cidrs,
        node_mask_v4: pick(v4, 24),
        node_mask_v6: pick(v6, 64),
        masks_given: MasksGiven { any: any != 0, v4: v4 != 0, v6: v6 != 0 },
    };
    for problem in options.check().err().unwrap_or_default() {
        check.warnings.push(format!("{problem} (the node-ipam-controller does not start with this)"));
    }
    options
}

impl IpamOptions {
    /// Whether pod CIDRs can be allocated with these options; the controller checks this when it starts. Always `Ok` if allocation is
    /// disabled.
    ///
    /// # Errors
    ///
    /// All problems that prevent the allocation.
    pub fn check(&self) -> Result<(), Vec<OptionProblem>> {
        let mut problems = Vec::new();
        if self.allocate_node_cidrs {
            self.check_sources(&mut problems);
            self.check_masks(&mut problems);
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn check_sources(&self, problems: &mut Vec<OptionProblem>) {
        if self.allocator_type != ALLOCATOR {
            problems.push(OptionProblem::Value {
                flag: "cidr-allocator-type",
                value: self.allocator_type.clone(),
                wanted: format!("only {ALLOCATOR:?} can hand out ranges"),
            });
        }
        if self.cluster_cidrs.is_empty() {
            problems
                .push(combination("--allocate-node-cidrs needs --cluster-cidr, the range to hand out from"));
        }
    }

    fn check_masks(&self, problems: &mut Vec<OptionProblem>) {
        let MasksGiven { any, v4, v6 } = self.masks_given;
        if any && (v4 || v6) {
            problems.push(combination(format!(
                "--{MASK} cannot be used together with --{MASK_V4} or --{MASK_V6}"
            )));
        }
        if any && self.cluster_cidrs.len() == 2 {
            problems.push(combination(format!(
                "--{MASK} is for one address family; with two use --{MASK_V4} and --{MASK_V6}"
            )));
            return; // the one size says nothing about either range
        }
        let lacks = |v4: bool| {
            !self.cluster_cidrs.is_empty() && !self.cluster_cidrs.iter().any(|net| is_v4(net) == v4)
        };
        for (given, flag, family_v4) in [(v4, MASK_V4, true), (v6, MASK_V6, false)] {
            if given && lacks(family_v4) {
                problems.push(combination(format!(
                    "--{flag} is given, but --cluster-cidr has no range of that family"
                )));
            }
        }
        problems.extend(self.cluster_cidrs.iter().filter_map(|range| self.misfit(range)));
    }

    /// Why Nodes' pod CIDRs cannot be allocated from `range`; `None` if they can.
    fn misfit(&self, range: &IpNet) -> Option<OptionProblem> {
        let node = if is_v4(range) { self.node_mask_v4 } else { self.node_mask_v6 };
        let length = range.prefix_len();
        if node < length || node > range.max_prefix_len() {
            return Some(combination(format!(
                "a node's range of /{node} does not fit into {range} of --cluster-cidr; set the mask size to {length} \
                 or more"
            )));
        }
        (!is_v4(range) && node - length > 16).then(|| {
            combination(format!(
                "a node's range of /{node} in {range} of --cluster-cidr makes more than 65536 ranges; set the mask \
                 size to {} or less",
                length + 16
            ))
        })
    }
}

fn combination(problem: impl Into<String>) -> OptionProblem {
    OptionProblem::Combination(problem.into())
}

fn is_v4(range: &IpNet) -> bool {
    matches!(range, IpNet::V4(_))
}

/// Parses the CIDRs of a flag: none, one, or one of each IP family.
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
        lenient_cidr(item).map(|net| net.trunc()).ok_or_else(|| {
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
