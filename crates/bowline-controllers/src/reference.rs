//! Every reason of events and conditions that the controllers write, with its meaning. For the reference pages.
//!
//! The messages themselves are in the controllers. A test scans the sources: it fails if a reason is missing here.

use bowline_cloud::EventKind::{self, Normal, Warning};
use bowline_cloud::reference::{ConditionRow, EventRow};

use crate::view::SERVICE_CONDITION;

const fn service(reason: &'static str, kind: EventKind, meaning: &'static str) -> EventRow {
    EventRow { reason, about: "Service", kind, meaning }
}

const fn node(reason: &'static str, kind: EventKind, meaning: &'static str) -> EventRow {
    EventRow { reason, about: "Node", kind, meaning }
}

/// Every event of a controller.
pub const EVENTS: &[EventRow] = &[
    service("EnsuringLoadBalancer", Normal, "The first change for this Service is about to be made."),
    service("EnsuredLoadBalancer", Normal, "The load balancer is as the Service asks."),
    service("UpdatedLoadBalancer", Normal, "The Nodes behind the load balancer were brought up to date."),
    service(
        "UnAvailableLoadBalancer",
        Warning,
        "No Node can get traffic: none is there, or all are excluded. Look at the labels and taints of the Nodes.",
    ),
    service(
        "WaitingForLoadBalancer",
        Normal,
        "The cloud is at work; the message says on what. Nothing is to be done.",
    ),
    service(
        "SyncLoadBalancerFailed",
        Warning,
        "It could not be done; the message says why. A failure of the cloud is tried again with a growing pause. What is wrong with \
         the Service is looked at again when it is changed, and every 5 to 30 minutes.",
    ),
    service(
        "UpdateLoadBalancerFailed",
        Warning,
        "The Nodes behind the load balancer could not be changed; tried again.",
    ),
    service("DeletingLoadBalancer", Normal, "The load balancer is about to be removed."),
    service("DeletedLoadBalancer", Normal, "It is gone, and so is the finalizer."),
    service(
        "DeleteLoadBalancerFailed",
        Warning,
        "A load balancer that no Service asks for any more could not be removed; tried again.",
    ),
    service(
        "LoadBalancerChangeHeld",
        Warning,
        "More than half of something would be taken away (SR-7). It is done if a second look wants the same.",
    ),
    service(
        "LoadBalancerCreateHeld",
        Warning,
        "The same thing was created too often within an hour (SR-10). Find out where the earlier ones went; it goes on by itself.",
    ),
    service(
        "LoadBalancerReplacementHeld",
        Warning,
        "The cloud reports the load balancer as broken, and it is not deleted yet (SR-19): it may still carry traffic, it waits for a second observation, or many are broken at once. The message says what to do.",
    ),
    service(
        "LoadBalancerAddressChanged",
        Warning,
        "The address of the Service became another one, also if the status shows a host name; the message has both, and why if that is known. DNS records and clients that use the old one have to be changed.",
    ),
    service(
        "LoadBalancerNotAdopted",
        Warning,
        "Held by `--adopt-only`: a load balancer or an address would be made, deleted or exchanged.",
    ),
    service(
        "LoadBalancerPaused",
        Normal,
        "Somebody said so (SR-15): the annotation `bowline.dev/paused` on the Service or on the Lease, or `--paused`.",
    ),
    node("Synced", Normal, "The Node was found in the cloud and initialized; its taint is gone."),
    node(
        "CloudNodeInitializationFailed",
        Warning,
        "The Node keeps its taint; the message says why. Most often its server is not found: compare names and provider IDs.",
    ),
    node("CloudNodeInitializationPaused", Normal, "The Node waits for the end of a pause (SR-15)."),
    node(
        "CloudNodeNotClaimed",
        Normal,
        "The Node waits to be initialized, but is not one that this manager handles (SR-4): it has another cloud's provider ID, or its labels are outside of `--node-filter`.",
    ),
    node(
        "DuplicateProviderID",
        Warning,
        "Two Nodes have the provider ID of one server. Delete the one that is not that server.",
    ),
    node(
        "NodeAddressesNotUpdated",
        Warning,
        "The addresses of the server could not be chosen or written; those of the Node stay as they were.",
    ),
    node("DeletingNode", Normal, "The server is proven gone, and the Node is deleted."),
    node("DeletingNodeFailed", Warning, "It could not be deleted; tried again with the next look."),
    node(
        "NodeDeletionHeld",
        Warning,
        "The server seems gone, and a rail keeps the Node; the message says which and how it goes on (SR-1, SR-2, SR-4, SR-14, SR-15). It is Normal where nothing is wrong: if the cloud never had a machine for the Node (SR-4), and with `--skip-node-deletion`.",
    ),
    node("FailedToCreateRoute", Warning, "The route to the Node's pods could not be made; tried again."),
    node(
        "RouteRemovalHeld",
        Warning,
        "More than half of the routes would be taken away (SR-7). It is done if a second look wants the same.",
    ),
    node("RoutesPaused", Normal, "Routes are not changed while all changes are paused (SR-15)."),
    node(
        "CIDRNotAvailable",
        Normal,
        "No range is left for the pods of this Node: `--cluster-cidr` is used up.",
    ),
    node(
        "CIDRAssignmentFailed",
        Normal,
        "A range was found and could not be written to the Node; tried again.",
    ),
    node(
        "CIDRForeign",
        Warning,
        "The Node has a range that is not part of `--cluster-cidr`, or more ranges than there are; it is left as it is.",
    ),
    node(
        "CIDRConflict",
        Warning,
        "The Node has a range that another Node has, or that Services use; it is left as it is.",
    ),
    EventRow {
        reason: "ReconcileFailed",
        about: "Service or Node",
        kind: Warning,
        meaning: "A controller of the cloud's own failed; the message begins with its name. Tried again.",
    },
];

const fn said(status: &'static str, reason: &'static str, meaning: &'static str) -> ConditionRow {
    ConditionRow { about: "Service", condition: SERVICE_CONDITION, status, reason, meaning }
}

const fn network(status: &'static str, reason: &'static str, meaning: &'static str) -> ConditionRow {
    ConditionRow { about: "Node", condition: "NetworkUnavailable", status, reason, meaning }
}

/// Every reason of a condition that a controller writes.
pub const CONDITIONS: &[ConditionRow] = &[
    said("True", "Ensured", "The load balancer is as the Service asks."),
    said(
        "False",
        "WaitingForCloud",
        "The cloud is at work; the message says on what. Written when it takes longer than a minute and a half; an event tells of it after half a minute.",
    ),
    said(
        "False",
        "SyncFailed",
        "A call failed and is tried again; the message has the failure and the cloud's request id.",
    ),
    said("False", "RemovalFailed", "The same, for a load balancer that is to go."),
    said(
        "False",
        "Refused",
        "Nothing is changed until somebody changes the Service or the cloud: the message lists all problems.",
    ),
    said(
        "False",
        "InvalidValue",
        "The Service has a load balancer and is served, but a value on it cannot be read: the message says which one, what is accepted and what counts until it is corrected.",
    ),
    said(
        "False",
        "RecreationNeeded",
        "The Service asks for something that counts only when a load balancer is created, and its load balancer has something else: the message says what, and how to get it.",
    ),
    said(
        "Unknown",
        "CloudNotObserved",
        "The cloud does not say what is there, so nothing is changed; looked at again.",
    ),
    said("False", "CreateHeld", "The same thing was created too often within an hour (SR-10)."),
    said(
        "False",
        "ReplacementHeld",
        "The cloud reports the load balancer as broken, and it is kept (SR-19): it may still carry traffic, or many are broken at once.",
    ),
    said("False", "NotAdopted", "Held by `--adopt-only`."),
    network("False", "RouteCreated", "All routes to the Node's pods are there."),
    network("True", "NoRouteCreated", "A route to the Node's pods is missing."),
];

#[cfg(test)]
mod tests;
