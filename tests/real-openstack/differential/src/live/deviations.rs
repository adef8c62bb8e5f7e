//! The table of known differences between the simulator and a running cloud.

use crate::deviations::Deviation;

const SET_ORDER: &str =
    "Octavia lists the words in the order of a set of Python's, which differs from process to process";

const BATCH_ORDER: &str =
    "OVN adds the new members of a batch before it takes away the others, which are shown a moment longer";

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
    Deviation::sometimes(
        "amphora: members while they change",
        "body",
        "the load balancer was done a moment before the pool, which the refusal then names",
    ),
    Deviation::sometimes("*: a listener of an unknown protocol", "body", SET_ORDER),
    Deviation::sometimes("*: a pool of an unknown protocol", "body", SET_ORDER),
    Deviation::sometimes("*: a pool of an unknown algorithm", "body", SET_ORDER),
    Deviation::sometimes("*: an unknown algorithm for a pool", "body", SET_ORDER),
    Deviation::sometimes("*: a pool with an unknown way to remember", "body", SET_ORDER),
    Deviation::sometimes("*: a monitor of an unknown type", "body", SET_ORDER),
    Deviation::sometimes(
        "*: a limit of nothing",
        "body.loadbalancers_links*",
        "Octavia links from a page without limit to one with limit=None; nobody asks for a limit of nothing",
    ),
    Deviation::sometimes(
        "network: *",
        "body.extensions[].name",
        "the simulator names extensions by their aliases, which is what clients look for",
    ),
    Deviation::sometimes("network: one extension", "body.extension.name", "as in the list"),
    Deviation::sometimes("network: a network in use", "body", "Neutron names the ports in no order"),
    Deviation::sometimes(
        "compute: no server without a name",
        "body",
        "Nova prints what was sent as Python writes it; the simulator only names what is missing",
    ),
    Deviation::sometimes(
        "ovn: *",
        "*operating_status",
        "OVN's monitors probe members that do not answer here, and it shows a pool without members as OFFLINE or ONLINE, \
         depending on what was changed last; in the simulator members answer until a test says otherwise",
    ),
    Deviation::sometimes(
        "amphora: *",
        "*operating_status",
        "an amphora tells the state of what is new with its next heartbeat; here it is known at once",
    ),
    Deviation::sometimes(
        "*: everything at once with an unknown field of a listener",
        "body",
        "Octavia names the place in the request, the simulator the kind of thing",
    ),
    Deviation::sometimes(
        "ovn: with a second address: its port",
        "body.port*",
        "OVN gives each address a port of its own; in the simulator one port has both",
    ),
    Deviation::sometimes(
        "network: a stale revision of the router",
        "body",
        "the refusal names the present revision, and Neutron counts changes of its own that the simulator does not make",
    ),
    Deviation::sometimes(
        "network: ports by *",
        "body.ports[].status",
        "OVN tells a moment later that the ports of a new router are up",
    ),
    Deviation::sometimes("ovn: settled: members all at once", "body.statuses*", BATCH_ORDER),
    Deviation::sometimes("ovn: members after all at once", "body.members*", BATCH_ORDER),
];
