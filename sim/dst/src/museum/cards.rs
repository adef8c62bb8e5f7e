//! What stands beside each piece: what it does, who had it, and by which rule it has to be found.

use super::Piece;
use crate::invariants::Rule;

/// What stands beside a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// What is wrong.
    pub title: &'static str,
    /// Who had it.
    pub source: &'static str,
    /// The rules by which it may be found; the first that is broken ends a run.
    pub rules: &'static [Rule],
    /// Within so many seeds it has to be found.
    pub seeds: u64,
}

const fn card(title: &'static str, source: &'static str, rules: &'static [Rule], seeds: u64) -> Card {
    Card { title, source, rules, seeds }
}

impl Piece {
    /// What stands beside it.
    #[must_use]
    pub const fn card(self) -> Card {
        use Rule::{L1, L2, S1, S2, S3, S4, S5, S6, S7, S8, S9, S11, S12, S13};
        match self {
            Self::MissIsAnError => card(
                "a server that is not found is an error, and its Node stays",
                "OCCM #2999, #3114",
                &[L1],
                1,
            ),
            Self::ShutOffIsGone => card("a server that is shut off counts as gone", "k/k #59931", &[S2], 1),
            Self::FloatingIpKept => {
                card("the floating IP stays when a Service becomes internal", "OCCM #2167", &[L1], 1)
            }
            Self::FloatingIpPerLook => card(
                "a floating IP for every look at a load balancer that is not ACTIVE",
                "CAPO #1114, #1159",
                &[S1],
                1,
            ),
            Self::MonitorPortForgotten => {
                card("the update of members forgets their monitor port", "OCCM #1750", &[L1], 1)
            }
            Self::DriftStays => card("what was right once is never compared again", "OCCM #2962", &[L1], 1),
            Self::PostSentAgain => {
                card("a creation without an answer is sent again", "OCCM #1304, #2753", &[S1], 1)
            }
            Self::NodeDeleteForbidden => {
                card("the role lost the right to delete Nodes", "OCCM #3225", &[L1], 1)
            }
            Self::BalancerReappears => {
                card("a load balancer is made again after its Service is gone", "OCI #166", &[S4, L1], 1)
            }
            Self::RuleGoneEndsAll => card(
                "a rule that is gone already ends the work on the security group, and success is reported",
                "OCCM loadbalancer_sg.go",
                &[L1],
                8,
            ),
            Self::MembersPutEachSync => card(
                "members are written on every sync, since one field never compares equal",
                "OCCM loadbalancer.go",
                &[S9, L1],
                1,
            ),
            Self::NoRevision => card(
                "the groups of a port are read, changed and written without its revision",
                "OCCM loadbalancer_sg.go",
                &[S3],
                8,
            ),
            Self::AddressesAlwaysDiffer => card(
                "the addresses of a Node always look changed, and are written every time",
                "k/cloud-provider node_controller.go",
                &[L1],
                1,
            ),
            Self::DeleteWithoutUid => card("a Node is deleted by its name alone", "k/k #93287", &[S2], 1),
            Self::OwnNoteIsNews => card(
                "the annotation that we write is taken for an edit, and all is done twice",
                "OCCM loadbalancer.go",
                &[S11],
                1,
            ),
            Self::PendingNotFound => card(
                "the look for a load balancer misses one that is being made",
                "OCCM getLoadbalancerByName",
                &[S1],
                1,
            ),
            Self::NodesNotedTooEarly => card(
                "nodes are noted as served before the update has succeeded",
                "k/cloud-provider lastSyncedNodes",
                &[L1],
                1,
            ),
            Self::RemainsOfTheGone => card(
                "a load balancer that somebody else deleted leaves its floating IP behind",
                "k/cloud-provider GetLoadBalancer before delete",
                &[S4],
                1,
            ),
            Self::UnknownIsGone => card("a failed look counts as gone", "vSphere CCM #479, #642", &[S2], 1),
            Self::OneMissIsProof => {
                card("one 404 counts as gone, whoever said it", "k/k #28901, #71562", &[S2], 8)
            }
            Self::MissRemembered => {
                card("a miss is remembered by name, and meets the namesake", "vSphere CCM #397", &[L1, S2], 1)
            }
            Self::NoBrake => card("as many Nodes are deleted at once as look gone", "k/k #28901", &[S2], 1),
            Self::NoElection => {
                card("two replicas work at once", "OpenStack in OpenShift: two controllers at once", &[S7], 1)
            }
            Self::LeaseBelieved => card(
                "who could not renew its lease takes itself for the leader still",
                "OpenStack in OpenShift: two controllers at once",
                &[S7],
                1,
            ),
            Self::FinalizerForgotten => {
                card("a load balancer is made before the finalizer stands", "k/k #53451", &[S4], 1)
            }
            Self::ReleasedTooEarly => card(
                "the finalizer goes while the load balancer is still being deleted",
                "OCCM util loadbalancer.go:281",
                &[S4],
                1,
            ),
            Self::ShownTooEarly => card(
                "the address is shown before the load balancer is made",
                "OCCM util loadbalancer.go:166",
                &[S6],
                1,
            ),
            Self::ProviderIdForgotten => card(
                "the taint goes although the provider ID was not written",
                "k/cloud-provider before 1.30",
                &[S5],
                1,
            ),
            Self::SharedLooksUnshared => card(
                "a shared load balancer looks unshared, and goes with everybody's listeners",
                "OCCM loadbalancer.go:2121",
                &[L1, S1, S3],
                1,
            ),
            Self::TagsReplaced => card(
                "the tags of a shared load balancer are replaced, not extended",
                "OCCM loadbalancer.go:1104",
                &[L1],
                1,
            ),
            Self::NotesStay => card(
                "annotations stay on a Service that gave its load balancer up, and forbid it another one",
                "OCCM #2751",
                &[L1],
                1,
            ),
            Self::ErrorStays => {
                card("a load balancer in ERROR stays so", "OCCM loadbalancer.go:1759", &[L1], 1)
            }
            Self::CreatedBeforeDeleted => card(
                "a listener is made before the one in its place is deleted",
                "OCCM loadbalancer.go:1786",
                &[L1],
                1,
            ),
            Self::AffinityForgotten => card(
                "session affinity of a Service that has a load balancer is not applied",
                "OCCM loadbalancer.go:880",
                &[L1],
                1,
            ),
            Self::MembersWiped => {
                card("an update sees no nodes, and empties all pools", "OCCM #2699", &[L1], 1)
            }
            Self::GroupStaysOnPorts => {
                card("the security group stays on the ports of nodes that left", "OCCM #2695", &[L1], 1)
            }
            Self::RouteFailureForgotten => card(
                "a route that could not be made is forgotten",
                "k/cloud-provider route_controller.go",
                &[L1],
                1,
            ),
            Self::SlowWorker => {
                card("one slow load balancer keeps all others waiting", "OCCM #2858, #1524", &[L2], 1)
            }
            Self::CallsPerServer => {
                card("three calls for each server on each look", "hcloud CCM #661, OCCM #2089", &[S11], 1)
            }
            Self::ForeignTaken => card(
                "a load balancer of somebody else is deleted",
                "DigitalOcean CCM #916, OCCM #2682",
                &[S3, S12],
                1,
            ),
            Self::SystemUuidIsServer => card(
                "the system UUID of a machine counts as a server of this cloud, and bare metal is deleted",
                "hcloud CCM #7, #753; cloud-provider #35",
                &[S2],
                1,
            ),
            Self::ErrorIsUseless => card(
                "a load balancer in ERROR is replaced at once, although it serves",
                "Bowline before SR-19",
                &[S13],
                1,
            ),
            Self::KeptAddressIsOwn => card(
                "every floating IP of the cluster counts as the Service's own, and a kept one is deleted with another Service",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::DetachedAddressIsFree => card(
                "the floating IP of a Service whose load balancer is away is given to another Service",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::AnnotationIsProof => card(
                "annotations prove that the load balancer of another cluster is ours",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::DeletedWithUnknownParts => card(
                "the last Service that leaves a load balancer made for a Service deletes it whole, with listeners that are not its own",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::SharedAcrossNamespaces => card(
                "a Service joins the load balancer of another namespace",
                "Bowline before SR-20, OCCM",
                &[S12],
                4,
            ),
            Self::NameIsProof => card(
                "the load balancer of a Service of the same namespace and name in another cluster of the same name is taken over",
                "Bowline before SR-20, OCCM",
                &[S12],
                4,
            ),
            Self::ShownAddressIsFree => card(
                "a person's floating IP that another Service shows is taken while the load balancer of that Service is away",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::PortIsFree => card(
                "a load balancer is created at a port to which the floating IP of another Service leads",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::OwnStaysBeside => card(
                "the own load balancer of a deleted Service stays, since the Service named another one at last",
                "Bowline, seed 12854",
                &[L1],
                4,
            ),
            Self::NamedIsLed => card(
                "the floating IP of a load balancer that a Service only names counts as led by that Service",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::ShownVipIsFree => card(
                "the VIP that an internal Service shows is given to another one while its load balancer is away",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::InternalPortIsFree => card(
                "the port of an internal Service is given to another one while its load balancer is away",
                "Bowline before SR-20",
                &[S12],
                4,
            ),
            Self::NodePortIsFree => card(
                "a load balancer is created at the port of a server",
                "Bowline before SR-20, OCCM",
                &[S12],
                4,
            ),
            Self::OneLookIsEnough => card(
                "one look that shows no traffic is enough to replace a load balancer in ERROR",
                "Bowline before SR-19",
                &[S13],
                1,
            ),
            Self::NoFleetBreaker => card(
                "load balancers in ERROR are replaced however many there are at once",
                "Bowline before SR-19",
                &[S13],
                1,
            ),
            Self::TwoAtOnce => card("two workers change one load balancer at once", "k/k #100846", &[S8], 8),
        }
    }
}
