//! What the manager is seen to do: something is made, and after a while something else has happened to it.

use serde_json::{Value, json};

use crate::audit::Refusal;
use crate::cloud::{BADGE, NOTE};
use crate::harness::Harness;
use crate::manager::Manager;
use bowline_testkit::nodes::UNINITIALIZED;

/// Something that the manager does, and that others can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A Node that joins is initialised, with provider ID, addresses and pod range.
    Initialised,
    /// A Node whose machine is gone is deleted.
    Deleted,
    /// A Node that has its route is said to be reachable.
    Reachable,
    /// A Node gets the label of the cloud's own controller.
    Badge,
    /// A Service gets an address, the finalizer, and what the cloud notes of its load balancer.
    Balanced,
    /// A Service gets the annotation of the cloud's own controller.
    Ribbon,
    /// People are told of what fails, and how often: the kind of object that makes somebody talk, the reason, the count.
    Told(Talker, i32),
    /// A caller with a token may see what the cluster lets it see.
    Page,
}

/// Who writes events, by which we know them: the name of an object on which they fail, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talker {
    Node,
    Service,
    Route,
    Badge,
    Ribbon,
    Cloud,
}

impl Talker {
    /// The client that writes its events.
    const fn client(self) -> &'static str {
        match self {
            Self::Node => "node-controller",
            Self::Service => "service-controller",
            Self::Route => "route-controller",
            Self::Badge => "badge-controller",
            Self::Ribbon => "ribbon-controller",
            Self::Cloud => "cloud-controller-manager",
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Node => "CloudNodeInitializationFailed",
            Self::Service => "SyncLoadBalancerFailed",
            Self::Route => "FailedToCreateRoute",
            Self::Badge | Self::Ribbon => "ReconcileFailed",
            Self::Cloud => "Noise",
        }
    }
}

impl Effect {
    /// What an object has to be called that shows it.
    fn kind(self) -> &'static str {
        match self {
            Self::Deleted => "gone",
            Self::Told(Talker::Node | Talker::Service, _) => "stuck",
            Self::Told(Talker::Route, _) => "cut",
            Self::Told(Talker::Badge, _) => "plain",
            Self::Told(Talker::Ribbon, _) => "loose",
            Self::Told(Talker::Cloud, _) => "noisy",
            _usual => "fresh",
        }
    }

    fn is_of_a_service(self) -> bool {
        matches!(self, Self::Balanced | Self::Ribbon | Self::Told(Talker::Service | Talker::Ribbon, _))
    }

    /// Makes the object that should show it, and says its name.
    pub(crate) async fn provoke(self, site: &Harness) -> anyhow::Result<String> {
        let name = site.cluster.unique_name(self.kind());
        match self {
            Self::Page => {}
            Self::Deleted => site.join_not_ready(&name).await?,
            _ if self.is_of_a_service() => site.make_service(&name).await?,
            _ => site.join(&name).await?,
        }
        Ok(name)
    }

    /// Gives a reason to try again at once, where the manager would let time pass: its patience is not tested here.
    pub(crate) async fn nudge(self, site: &Harness, name: &str, times: u32) -> anyhow::Result<()> {
        let nudge = json!({"test/nudge": times.to_string()});
        match self {
            Self::Page | Self::Deleted => Ok(()),
            _ if self.is_of_a_service() => {
                site.services.edit(name, &json!({"metadata": {"annotations": nudge}})).await
            }
            _ => site.nodes.edit(name, &json!({"metadata": {"labels": nudge}})).await,
        }
    }

    /// Whether this refusal is why it is not to be seen.
    pub(crate) async fn is_refused_by(
        self,
        site: &Harness,
        name: &str,
        refusal: &Refusal,
    ) -> anyhow::Result<bool> {
        Ok(match (self, refusal.verb(), refusal.resource().as_str()) {
            // What everything else stands on.
            (_, "get" | "list" | "watch", _) | (_, _, "leases") => true,
            (_, _, "serviceaccounts" | "serviceaccounts/token") => true,
            // What is refused is not read, so that nobody knows the object of the event.
            (Self::Told(talker, _), "create", "events") => refusal.is_from(talker.client()),
            (Self::Told(talker, _), "patch", "events") => {
                site.event_name(name, talker.reason()).await?.as_deref() == Some(refusal.name())
            }
            (Self::Page, ..) => true,
            (Self::Initialised | Self::Deleted, ..) => {
                refusal.name() == name && refusal.is_from("node-controller")
            }
            (Self::Reachable, ..) => refusal.name() == name && refusal.is_from("route-controller"),
            (Self::Badge, ..) => refusal.name() == name && refusal.is_from("badge-controller"),
            (Self::Balanced, ..) => refusal.name() == name && refusal.is_from("service-controller"),
            (Self::Ribbon, ..) => refusal.name() == name && refusal.is_from("ribbon-controller"),
            (Self::Told(..), ..) => false,
        })
    }

    /// How many such refusals it takes to be sure that the one was among them: others write an event or two with the same
    /// client, who is meant here goes on and on.
    pub(crate) fn refusals(self, verb: &str) -> usize {
        if matches!(self, Self::Told(..)) && verb == "create" { 3 } else { 1 }
    }

    /// Whether it is to be seen.
    pub(crate) async fn is_there(
        self,
        site: &Harness,
        manager: &Manager,
        name: &str,
    ) -> anyhow::Result<bool> {
        Ok(match self {
            Self::Initialised => is_initialised(&site.node_json(name).await?),
            Self::Deleted => site.node_json(name).await?.is_null(),
            Self::Reachable => is_reachable(&site.node_json(name).await?),
            Self::Badge => site.node_json(name).await?["metadata"]["labels"][BADGE] == "yes",
            Self::Balanced => is_balanced(&site.service_json(name).await?),
            Self::Ribbon => site.service_json(name).await?["metadata"]["annotations"][BADGE] == "yes",
            Self::Told(talker, times) => site.told(name, talker.reason()).await? >= times,
            Self::Page => {
                // Somebody new each time: the manager remembers answers for a while.
                let caller = site.cluster.unique_name("reader");
                let token = site.cluster.token(&site.namespace, &caller).await?;
                manager.page_as(&token, "/configz").await? == 200
            }
        })
    }
}

fn is_initialised(node: &Value) -> bool {
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    node["spec"]["providerID"].is_string()
        && node["spec"]["podCIDR"].is_string()
        && node["status"]["addresses"][0]["address"].is_string()
        && !taints.iter().any(|taint| taint["key"] == UNINITIALIZED)
}

fn is_reachable(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| {
        condition["type"] == "NetworkUnavailable"
            && condition["status"] == "False"
            && condition["reason"] == "RouteCreated"
    })
}

fn is_balanced(service: &Value) -> bool {
    service["status"]["loadBalancer"]["ingress"][0]["ip"] == "198.51.100.1"
        && service["metadata"]["finalizers"][0] == "service.kubernetes.io/load-balancer-cleanup"
        && service["metadata"]["annotations"][NOTE] == service["metadata"]["uid"]
}
