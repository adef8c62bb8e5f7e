//! The allocated parts of one cluster CIDR: a bitmap with one bit for each node range ("slot"). A pure value.
//!
//! It does not know Nodes: the ledger records which Node has a slot, and whether several share one. Occupying an occupied slot and
//! releasing a free one change nothing. The search for a free slot checks words of 64 slots, not single slots.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use ipnet::IpNet;

const WORD_BITS: usize = 64;

/// The maximum difference between the prefix lengths of a node range and of its IPv4 cluster CIDR: 2 MB of bitmap.
pub const MOST_BITS_V4: u8 = 24;

/// The same for IPv6, as in upstream.
pub const MOST_BITS_V6: u8 = 16;

/// Why a cluster CIDR cannot be divided into node ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CidrSetError {
    /// A node range would be larger than the cluster CIDR, or smaller than one address.
    #[error(
        "a node range of /{node_mask} does not fit into the cluster CIDR {cluster}; set the node mask size to a number \
         from {} to {}", cluster.prefix_len(), cluster.max_prefix_len()
    )]
    Misfit {
        /// The cluster CIDR.
        cluster: IpNet,
        /// The prefix length of a node range.
        node_mask: u8,
    },
    /// There would be more ranges than the bitmap may have.
    #[error(
        "node ranges of /{node_mask} in the cluster CIDR {cluster} would be more than 2^{most}; set the node mask size \
         to {} or less", cluster.prefix_len() + most
    )]
    TooMany {
        /// The cluster CIDR.
        cluster: IpNet,
        /// The prefix length of a node range.
        node_mask: u8,
        /// The maximum difference of the prefix lengths.
        most: u8,
    },
}

/// The node ranges of one cluster CIDR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CidrSet {
    cluster: IpNet,
    node_mask: u8,
    words: Vec<u64>,
    slots: usize,
    used: usize,
    /// Where the next search begins. A released range is reused only after the search has wrapped around.
    next: usize,
    taken_total: u64,
    released_total: u64,
}

/// The result of a search for a free slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    slot: usize,
    /// The range of the slot.
    pub range: IpNet,
    /// How many taken slots the search skipped.
    pub passed: usize,
}

impl CidrSet {
    /// A set of all ranges of /`node_mask` in `cluster`, all free.
    ///
    /// # Errors
    ///
    /// [`CidrSetError`] if it cannot be divided this way.
    pub fn new(cluster: IpNet, node_mask: u8) -> Result<Self, CidrSetError> {
        let cluster = cluster.trunc();
        if node_mask < cluster.prefix_len() || node_mask > cluster.max_prefix_len() {
            return Err(CidrSetError::Misfit { cluster, node_mask });
        }
        let bits = node_mask - cluster.prefix_len();
        let most = if matches!(cluster, IpNet::V4(_)) { MOST_BITS_V4 } else { MOST_BITS_V6 };
        if bits > most {
            return Err(CidrSetError::TooMany { cluster, node_mask, most });
        }
        let slots = 1_usize << bits;
        let words = vec![0; slots.div_ceil(WORD_BITS)];
        Ok(Self { cluster, node_mask, words, slots, used: 0, next: 0, taken_total: 0, released_total: 0 })
    }

    /// The cluster CIDR.
    #[must_use]
    pub fn cluster(&self) -> IpNet {
        self.cluster
    }

    /// The number of ranges.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The number of taken ranges.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// How many ranges were ever taken and released, for counters.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        (self.taken_total, self.released_total)
    }

    /// The slots that overlap `range`; `None` if it does not overlap the cluster CIDR. A range smaller than a slot counts as the whole
    /// slot, one larger than the cluster CIDR as all slots.
    #[must_use]
    pub fn slots_of(&self, range: &IpNet) -> Option<Range<usize>> {
        if range.contains(&self.cluster) {
            return Some(0..self.slots);
        }
        if !self.cluster.contains(range) {
            return None;
        }
        let offset = bits_of(range.network()) - bits_of(self.cluster.network());
        let first = usize::try_from(offset >> self.slot_shift()).ok()?;
        Some(first..first + (1 << self.node_mask.saturating_sub(range.prefix_len())))
    }

    /// Whether any of `slots` is taken.
    #[must_use]
    pub fn any_taken(&self, slots: &Range<usize>) -> bool {
        let words = self.words.iter().enumerate().skip(slots.start / WORD_BITS);
        words.take_while(|(at, _)| at * WORD_BITS < slots.end).any(|(at, word)| word & mask(at, slots) != 0)
    }

    /// The next free range; `None` if all are taken. Does not take it.
    #[must_use]
    pub fn candidate(&self) -> Option<Candidate> {
        let slot = self.first_free(&(self.next..self.slots)).or_else(|| self.first_free(&(0..self.next)))?;
        let passed = (slot + self.slots - self.next) % self.slots;
        Some(Candidate { slot, range: self.range_at(slot), passed })
    }

    /// Takes a candidate; the next search begins after it.
    pub fn take(&mut self, candidate: &Candidate) {
        self.next = (candidate.slot + 1) % self.slots;
        self.occupy(&(candidate.slot..candidate.slot + 1));
    }

    /// Takes all of `slots`, including those that are taken already.
    pub fn occupy(&mut self, slots: &Range<usize>) {
        let mut taken = 0;
        for (at, word) in touched(&mut self.words, slots) {
            let new = mask(at, slots) & !*word;
            *word |= new;
            taken += new.count_ones();
        }
        self.used += taken as usize;
        self.taken_total += u64::from(taken);
    }

    /// Releases those of `slots` that overlap none of `kept`.
    pub fn release(&mut self, slots: &Range<usize>, kept: &[Range<usize>]) {
        let mut released = 0;
        for (at, word) in touched(&mut self.words, slots) {
            let keep = kept.iter().fold(0, |keep, kept| keep | mask(at, kept));
            let freed = mask(at, slots) & !keep & *word;
            *word &= !freed;
            released += freed.count_ones();
        }
        self.used -= released as usize;
        self.released_total += u64::from(released);
    }

    fn range_at(&self, slot: usize) -> IpNet {
        let address = bits_of(self.cluster.network()) + ((slot as u128) << self.slot_shift());
        let address = match self.cluster {
            // The offset is smaller than the cluster CIDR, so the cast truncates nothing.
            IpNet::V4(_) => IpAddr::V4(Ipv4Addr::from(address as u32)),
            IpNet::V6(_) => IpAddr::V6(Ipv6Addr::from(address)),
        };
        // [`CidrSet::new`] validated the mask.
        IpNet::new(address, self.node_mask).unwrap_or(self.cluster)
    }

    fn slot_shift(&self) -> u32 {
        u32::from(self.cluster.max_prefix_len() - self.node_mask)
    }

    fn first_free(&self, slots: &Range<usize>) -> Option<usize> {
        let words = self.words.iter().enumerate().skip(slots.start / WORD_BITS);
        words.take_while(|(at, _)| at * WORD_BITS < slots.end).find_map(|(at, word)| {
            let free = mask(at, slots) & !word;
            (free != 0).then(|| at * WORD_BITS + free.trailing_zeros() as usize)
        })
    }
}

/// The bits of `slots` in the word at index `at`.
fn mask(at: usize, slots: &Range<usize>) -> u64 {
    let first = at * WORD_BITS;
    let (begin, end) = (slots.start.max(first), slots.end.min(first + WORD_BITS));
    if begin >= end { 0 } else { (u64::MAX >> (WORD_BITS - (end - begin))) << (begin - first) }
}

/// The words that contain bits of `slots`.
fn touched<'a>(words: &'a mut [u64], slots: &Range<usize>) -> impl Iterator<Item = (usize, &'a mut u64)> {
    let (first, end) = (slots.start / WORD_BITS, slots.end.div_ceil(WORD_BITS));
    words.iter_mut().enumerate().skip(first).take(end.saturating_sub(first))
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

#[cfg(test)]
mod tests;
