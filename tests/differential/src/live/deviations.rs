//! The table of known differences between the simulator and a running cloud.

use crate::deviations::Deviation;

pub(super) const DEVIATIONS: &[Deviation] = &[
    Deviation::always(
        "*",
        "body.token.catalog",
        "the real cloud has Placement, which the simulator has not: no part of it is asked for anything of it",
    ),
    Deviation::always("identity: the catalog", "body.catalog", "Placement, as in the tokens"),
    Deviation::always(
        "identity: nothing to authenticate with",
        "body",
        "Keystone prints its whole JSON schema after the first line; the simulator only says the first line",
    ),
    Deviation::sometimes(
        "identity: a revoked token at Keystone",
        "*",
        "Keystone's own processes believe a token for a while that another of them has revoked; the simulator's one does not",
    ),
    Deviation::sometimes(
        "identity: the token of a disabled user",
        "*",
        "Keystone believes a token for a while that it has checked before; the simulator does not",
    ),
    Deviation::sometimes(
        "ovn: * while it is made",
        "*",
        "OVN has made it within a second: the real cloud was quicker than the script",
    ),
    Deviation::sometimes("ovn: * while it changes", "*", "as while it is made"),
    Deviation::sometimes("ovn: * while they change", "*", "as while it is made"),
];
