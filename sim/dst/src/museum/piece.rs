//! The list of bugs. Only names: what each is stands in `cards`.

/// One bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is told by its `Card`")]
pub enum Piece {
    /// In OCCM only for a Node without provider ID. There is no proof for such a Node in ours, so here it is so for all.
    MissIsAnError,
    ShutOffIsGone,
    FloatingIpKept,
    /// In CAPO each reconcile made one. Here each look at Octavia does, since no step can be added to a plan from outside.
    FloatingIpPerLook,
    MonitorPortForgotten,
    DriftStays,
    PostSentAgain,
    NodeDeleteForbidden,
    BalancerReappears,
    /// In OCCM one function returned early. Here the steps that are left of the group are taken for done.
    RuleGoneEndsAll,
    /// The comparison cannot be spoilt from outside; so what it led to is done: the same members are written on each look.
    MembersPutEachSync,
    NoRevision,
    /// The empty PATCH is sent, every five minutes for each Node; the comparison stays as it is.
    AddressesAlwaysDiffer,
    DeleteWithoutUid,
    /// One more annotation comes with ours, which is not known as our own: to the controller it is an edit.
    OwnNoteIsNews,
    PendingNotFound,
    /// Members are planned once for each set of nodes, whatever came of it.
    NodesNotedTooEarly,
    RemainsOfTheGone,
    UnknownIsGone,
    /// The direct read before a deletion is answered by the look for many: one 404 instead of three and a list.
    OneMissIsProof,
    MissRemembered,
    NoBrake,
    NoElection,
    /// The API server seems to take every renewal, once it has taken one.
    LeaseBelieved,
    FinalizerForgotten,
    ReleasedTooEarly,
    ShownTooEarly,
    ProviderIdForgotten,
    SharedLooksUnshared,
    TagsReplaced,
    /// Both halves of it: annotations stay, and one that names a load balancer that is gone is refused. Ours absorbs either alone.
    NotesStay,
    ErrorStays,
    CreatedBeforeDeleted,
    AffinityForgotten,
    MembersWiped,
    GroupStaysOnPorts,
    RouteFailureForgotten,
    SlowWorker,
    /// The calls are made besides ours, past the call budget.
    CallsPerServer,
    ForeignTaken,
    TwoAtOnce,
    /// The rail asks whether a machine was seen, so that the system UUID has to pass for one that was.
    SystemUuidIsServer,
    /// Two halves: the operating status of what is in ERROR is not looked at, and the rail is not asked.
    ErrorIsUseless,
    /// The descriptions of floating IPs on a load balancer all seem to name its owner.
    KeptAddressIsOwn,
    /// A floating IP that leads nowhere seems to have no description.
    DetachedAddressIsFree,
    /// What the annotation says seems to stand in the status.
    AnnotationIsProof,
    /// The first listener that the last Service on it takes off a load balancer with the name of a Service takes the load balancer with it.
    DeletedWithUnknownParts,
    /// The rules of cloud.conf allow it.
    SharedAcrossNamespaces,
    /// Load balancers seem to have no tag of a cluster.
    NameIsProof,
    /// The statuses of other Services are unknown.
    ShownAddressIsFree,
    /// Two halves: a port seems to have no load balancer, and no floating IP while no load balancer is there.
    PortIsFree,
    /// The removal of a Service that names another load balancer than its own is taken for done.
    OwnStaysBeside,
    /// Of a Service that asks for a floating IP which leads to a load balancer that it named, the statuses of other Services are unknown.
    NamedIsLed,
    /// The statuses of other Services are unknown for one that chooses its VIP.
    ShownVipIsFree,
    /// The statuses of other Services are unknown for one that names a port.
    InternalPortIsFree,
    /// Ports seem to belong to nothing.
    NodePortIsFree,
    /// The delay of the rail is one second, by its flag.
    OneLookIsEnough,
    /// The breaker never opens: more than all load balancers would have to be broken, by its flag.
    NoFleetBreaker,
}

impl Piece {
    /// All of them: first the eighteen of the list that the programme began with, in its order.
    pub const ALL: [Self; 58] = [
        Self::MissIsAnError,
        Self::ShutOffIsGone,
        Self::FloatingIpKept,
        Self::FloatingIpPerLook,
        Self::MonitorPortForgotten,
        Self::DriftStays,
        Self::PostSentAgain,
        Self::NodeDeleteForbidden,
        Self::BalancerReappears,
        Self::RuleGoneEndsAll,
        Self::MembersPutEachSync,
        Self::NoRevision,
        Self::AddressesAlwaysDiffer,
        Self::DeleteWithoutUid,
        Self::OwnNoteIsNews,
        Self::PendingNotFound,
        Self::NodesNotedTooEarly,
        Self::RemainsOfTheGone,
        Self::UnknownIsGone,
        Self::OneMissIsProof,
        Self::MissRemembered,
        Self::NoBrake,
        Self::NoElection,
        Self::LeaseBelieved,
        Self::FinalizerForgotten,
        Self::ReleasedTooEarly,
        Self::ShownTooEarly,
        Self::ProviderIdForgotten,
        Self::SharedLooksUnshared,
        Self::TagsReplaced,
        Self::NotesStay,
        Self::ErrorStays,
        Self::CreatedBeforeDeleted,
        Self::AffinityForgotten,
        Self::MembersWiped,
        Self::GroupStaysOnPorts,
        Self::RouteFailureForgotten,
        Self::SlowWorker,
        Self::CallsPerServer,
        Self::ForeignTaken,
        Self::TwoAtOnce,
        Self::SystemUuidIsServer,
        Self::ErrorIsUseless,
        Self::KeptAddressIsOwn,
        Self::DetachedAddressIsFree,
        Self::AnnotationIsProof,
        Self::DeletedWithUnknownParts,
        Self::SharedAcrossNamespaces,
        Self::NameIsProof,
        Self::ShownAddressIsFree,
        Self::PortIsFree,
        Self::OwnStaysBeside,
        Self::NamedIsLed,
        Self::ShownVipIsFree,
        Self::InternalPortIsFree,
        Self::NodePortIsFree,
        Self::OneLookIsEnough,
        Self::NoFleetBreaker,
    ];
}
