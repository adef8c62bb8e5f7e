//! The rules, and that one was broken.

use std::fmt;
use std::time::Duration;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is told by `Rule::text`")]
pub enum Rule {
    S1,
    S2,
    S3,
    S4,
    S5,
    S6,
    S7,
    S8,
    S9,
    S10,
    S11,
    S12,
    S13,
    L1,
    L2,
    L3,
}

impl Rule {
    /// What it says.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::S1 => "S1: at most one live load balancer, floating IP and security group for a Service",
            Self::S2 => "S2: a Node is deleted only if its server is gone, by UID, and few at a time",
            Self::S3 => "S3: what is not ours is not touched",
            Self::S4 => {
                "S4: the finalizer is there before the first change and goes after the last; nothing is left"
            }
            Self::S5 => "S5: the taint goes only with the provider ID set",
            Self::S6 => "S6: a published address leads to the Service's load balancer",
            Self::S7 => "S7: no change without a valid lease",
            Self::S8 => "S8: at most one change of a load balancer at a time",
            Self::S9 => "S9: what is done once is not done again",
            Self::S10 => "S10: no secret is told",
            Self::S11 => "S11: no more calls than the budget allows",
            Self::S12 => {
                "S12: no tenant's Service changes, takes or deletes what belongs to another tenant or cluster"
            }
            Self::S13 => {
                "S13: a load balancer in ERROR is not deleted while it serves, nor soon after, nor while many are in ERROR"
            }
            Self::L1 => "L1: in the end everything is as it is wanted, and at rest",
            Self::L2 => "L2: nobody waits for somebody else's trouble",
            Self::L3 => "L3: every wait has a reason that is told",
        }
    }
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// How.
    pub what: String,
    /// When.
    pub at: Duration,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}\n    {}", self.rule.text(), self.what)
    }
}
