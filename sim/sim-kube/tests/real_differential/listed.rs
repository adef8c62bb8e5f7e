//! The differences between the simulator and the real server that we know and keep, each with its reason.
//!
//! The test fails on a difference that is not here, and on an entry here that no longer occurs.

/// A known difference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The script.
    pub(crate) script: &'static str,
    /// The title of the request.
    pub(crate) request: &'static str,
    /// `code`, `headers`, or the beginning of a pointer into the body; empty for the whole answer but its code.
    pub(crate) place: &'static str,
    /// Why it is kept.
    pub(crate) reason: &'static str,
}

/// A row of the table.
const fn listed(
    script: &'static str,
    request: &'static str,
    place: &'static str,
    reason: &'static str,
) -> Listed {
    Listed { script, request, place, reason }
}

pub(crate) const LISTED: &[Listed] = &[
    listed(
        "discovery",
        "the core versions",
        "/body/serverAddressByClientCIDRs",
        "the simulator does not know its own address: it may have none",
    ),
    listed(
        "discovery",
        "the group of leases",
        "/body/versions",
        "LeaseCandidates are always served here; the real server needs a flag for them",
    ),
    listed("discovery", "the groups", "/body/groups", "LeaseCandidates, as above"),
    listed(
        "discovery",
        "the groups as aggregated discovery",
        "/body/items",
        "LeaseCandidates, as above, and the category api-extensions, which nobody asks for",
    ),
    listed(
        "discovery",
        "the core as aggregated discovery",
        "/body/items/0/versions/0/resources",
        "tokens of ServiceAccounts are served, but not announced",
    ),
    listed("discovery", "definitions", "/body/resources/0/categories", "the category api-extensions"),
    listed("discovery", "the version", "/body", "it is not that build, and says so"),
    listed(
        "objects",
        "create with a value of the wrong type",
        "/body/message",
        "Go's names of Go's types; code and reason are the same",
    ),
    listed(
        "objects",
        "endpoints",
        "",
        "Endpoints are deprecated and stored as they come: no warning, no default protocol",
    ),
    listed(
        "objects",
        "get the default namespace's kubernetes service",
        "/body/metadata/managedFields/0/manager",
        "the simulator's own objects are made by itself",
    ),
    listed(
        "metadata",
        "a generated name with capitals",
        "/body",
        "the message holds the random part of the name",
    ),
    listed("metadata", "two controllers", "/body", "the order of fields in the value that the message shows"),
    listed(
        "nodes",
        "a bad label",
        "/body/details/causes",
        "the real server complains once more about the same label",
    ),
    listed(
        "services",
        "a condition without a reason",
        "",
        "a condition without its time is refused: our types demand it, and our code never leaves it out",
    ),
    listed(
        "services",
        "a condition without a reason",
        "code",
        "as above: 422 here, 200 there; nobody may rely on either",
    ),
    listed(
        "leases",
        "a time that is none",
        "/body/message",
        "Go's words about times; code and reason are the same",
    ),
    listed(
        "patches",
        "merge: a wrong type",
        "/body",
        "the message shows the whole object, in the order of Go's fields",
    ),
    listed(
        "apply",
        "a port without its key",
        "",
        "the real server lets the item pass and then finds that its port is 0",
    ),
    listed("apply", "a port without its key", "code", "as above: 500 here, 422 there"),
    listed(
        "apply",
        "apply the status of what is not there",
        "code",
        "404 here, 422 there: both refuse, and nobody applies a status alone",
    ),
    listed(
        "apply",
        "apply the status of what is not there",
        "",
        "the real server tries to create it by its status, and finds it invalid",
    ),
    listed(
        "lists",
        "by a label selector that is none",
        "/body/message",
        "the words of the real parser; code and reason are the same",
    ),
    listed(
        "lists",
        "its next page",
        "/body/metadata/continue",
        "the real server offers a further page with a selector before it knows that the page is empty",
    ),
    listed(
        "lists",
        "a token that is none",
        "/body/message",
        "tokens are opaque; code and reason are the same",
    ),
    listed("watches", "the old way to watch", "code", "they are not served"),
    listed(
        "watches",
        "the old way to watch",
        "",
        "the paths below /watch are deprecated since 1.11, and nobody uses them",
    ),
    listed(
        "requests",
        "metadata that is no object",
        "/body/message",
        "Go's names of Go's types; code and reason are the same",
    ),
    listed(
        "requests",
        "a name that is no text",
        "/body/message",
        "Go's names of Go's types; code and reason are the same",
    ),
    listed(
        "requests",
        "a doubled field",
        "",
        "the last of two equal keys counts here; the real server merges them and warns",
    ),
    listed(
        "requests",
        "a review of my rights",
        "/body/metadata/managedFields",
        "a review is not stored, and nobody reads who made it",
    ),
    listed(
        "workloads",
        "a deployment",
        "/body/metadata/managedFields",
        "Go's type always has its list of containers, so that nobody owns the list itself there",
    ),
    listed("workloads", "an annotation", "/body/metadata/managedFields", "the list of containers, as above"),
    listed("workloads", "a label", "/body/metadata/managedFields", "the list of containers, as above"),
    listed("custom", "a definition that is to go", "/body/status", "it is served at once, as below"),
    listed(
        "custom",
        "delete the definition",
        "/body/metadata/managedFields",
        "what the server itself sets in the status is nobody's here",
    ),
    listed(
        "custom",
        "a definition",
        "/body/status",
        "the definition is served at once, and its first answer says so; the real server takes a moment",
    ),
];
