//! Turns changes of Services and Nodes into keys to work on. What a change means is said in `desire` and `nodes`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{NodeView, Notes, ServiceView};
use bowline_kube::informer::{Change, ObjectKey, Subscription};
use bowline_kube::queue::Priority;
use futures::StreamExt;
use tokio::time::{Instant, sleep_until};
use tracing::info;

use super::burst::{Burst, Pace};
use super::desire::{has_finalizer, needs_cleanup, needs_update, wants};
use super::fan_out;
use super::nodes::Audience;
use super::noted::with_notes;
use super::work::Work;
use crate::node::plan::UNINITIALIZED_TAINT;

/// A Service that changed begins when no other did for so long: who makes, or deletes, several has them some milliseconds apart.
const GATHER_QUIET: Duration = Duration::from_millis(50);

/// But not later than this after the first. A call of a cloud takes about as long.
const GATHER_MOST: Duration = Duration::from_millis(250);

/// Whether a change of a Service asks for a run, and how soon. What we noted on it ourselves does not.
pub(super) fn asks_for(change: &Change<Arc<ServiceView>>, noted: &Notes) -> Option<Priority> {
    match change {
        Change::Added { new } => (wants(new) || needs_cleanup(new)).then(|| {
            // After a restart: what looks finished is verified when nobody waits for anything else.
            let looks_finished = !needs_cleanup(new) && has_finalizer(new) && !new.status.ingress.is_empty();
            if looks_finished { Priority::Background } else { Priority::User }
        }),
        Change::Updated { old, new } => {
            let leaves = old.deleted_at.is_none() && new.deleted_at.is_some();
            let expected = with_notes(&old.view, noted);
            let by_us = !Arc::ptr_eq(&expected, &old.view) || old.condition != new.condition;
            let only_by_us = || by_us && unsaid(&expected) == unsaid(new);
            if needs_update(&expected, new) || (needs_cleanup(new) && !only_by_us()) || leaves {
                return Some(Priority::User);
            }
            let lost_finalizer = wants(new) && has_finalizer(old) && !has_finalizer(new);
            lost_finalizer.then_some(Priority::Background)
        }
        // If we worked for it, and it went without asking us, its load balancer has to go.
        Change::Deleted { .. } => Some(Priority::User),
    }
}

/// All but what we say of it: a removal that fails must not be tried again because we said so.
fn unsaid(service: &ServiceView) -> ServiceView {
    ServiceView { condition: None, ..service.clone() }
}

impl Work {
    /// Those that come within moments of each other begin together: they share their looks at the cloud. Ends with the informer.
    pub(super) async fn feed_services(&self, mut changes: Subscription<Arc<ServiceView>>) {
        while let Some(change) = changes.next().await {
            let Some(first) = self.asked_by(&change) else { continue };
            let mut asked = vec![first];
            let latest = Instant::now() + GATHER_MOST;
            let mut due = Instant::now() + GATHER_QUIET;
            let mut ended = false;
            while !ended {
                tokio::select! {
                    // First, so that changes without end cannot put the look off beyond its limit.
                    biased;
                    () = sleep_until(due.min(latest)) => break,
                    change = changes.next() => match change {
                        Some(change) => if let Some(another) = self.asked_by(&change) {
                            asked.push(another);
                            due = Instant::now() + GATHER_QUIET;
                        },
                        None => ended = true,
                    },
                }
            }
            asked.iter().for_each(|(key, _priority)| self.turns.wake(key));
            self.queue.add_all(asked);
        }
    }

    /// The Service that has to run because of a change, and how soon.
    fn asked_by(&self, change: &Change<Arc<ServiceView>>) -> Option<(ObjectKey, Priority)> {
        let noted = match change {
            Change::Updated { new, .. } => self.memories.update(&new.key, &new.view),
            Change::Added { .. } | Change::Deleted { .. } => None,
        };
        let priority = asks_for(change, &noted.unwrap_or_default())?;
        Some((change.key().clone(), priority))
    }

    /// A burst of changes becomes one look at the set: when it was quiet for a while, but not later than a limit.
    pub(super) async fn feed_nodes(&self, mut changes: Subscription<Arc<NodeView>>) {
        // Nodes that come without end put nothing off: what was told after the limit is brought.
        let mut has_no_end = false;
        while let Some(change) = changes.next().await {
            let Some(mut burst) = Burst::begun_by(&change, || self.pace()) else { continue };
            loop {
                if burst.audience == Audience::All && !has_no_end {
                    self.turns.nodes_come();
                }
                tokio::select! {
                    // First, so that changes without end cannot put the look off beyond its limit.
                    biased;
                    () = sleep_until(burst.due()) => if !burst.waits_for(|node| self.is_coming(node)) {
                        break;
                    },
                    change = changes.next() => match change {
                        Some(change) => {
                            burst.goes_on_with(&change);
                        }
                        None => return,
                    },
                }
            }
            has_no_end = burst.is_at_its_limit();
            let put_off = self.turns.nodes_have_come();
            self.tell_of_new_nodes(burst.audience);
            fan_out::tell(&self.queue, put_off);
            self.tell_of_labels(&burst.labels);
        }
    }

    /// After each replacement of the provider's configuration every Service is reconciled: what was refused may be allowed now, and what is
    /// there may have to change.
    pub(super) async fn feed_reconfigurations(&self) {
        let mut reconfigurations = self.context.cloud.reconfigurations();
        while reconfigurations.next().await.is_some() {
            let services = self.context.services.snapshot();
            let services = services.objects().iter().map(|object| (&object.key, &*object.view));
            let keys = fan_out::keys_of(services, wants);
            info!(
                services = keys.len(),
                "the configuration of the cloud was replaced; reconciling all Services"
            );
            fan_out::tell(&self.queue, keys);
        }
    }

    /// How long to wait for more, with as many load balancers as there are.
    fn pace(&self) -> Pace {
        let services = self.context.services.snapshot();
        let balancers = services.objects().iter().filter(|object| wants(object)).count();
        Pace::of(&self.options, balancers)
    }

    /// Whether a Node is here, and who it is will be known soon.
    fn is_coming(&self, node: &ObjectKey) -> bool {
        let here = self.context.nodes.get(node);
        here.is_some_and(|node| node.taints.iter().any(|taint| taint.key == UNINITIALIZED_TAINT))
    }

    /// The Services that choose Nodes by one of these labels are looked at. Without such Services this costs nothing but asking
    /// the provider for each of them.
    fn tell_of_labels(&self, labels: &BTreeSet<String>) {
        if labels.is_empty() {
            return;
        }
        let (services, policy) = (self.context.services.snapshot(), self.balancers.policy());
        let chooses = |service: &ServiceView| {
            wants(service) && policy.node_labels(service).iter().any(|key| labels.contains(key))
        };
        for object in services.objects().iter().filter(|object| chooses(&object.view)) {
            self.queue.add(object.key.clone(), Priority::Background);
        }
    }

    /// One number is compared; only if it differs, the Services that it concerns get a place at the end of the line.
    fn tell_of_new_nodes(&self, audience: Audience) {
        let audience = self.nodes.announce(audience == Audience::All, self.context.clock.now());
        let policy = self.balancers.policy();
        let concerned = |service: &ServiceView| match audience {
            Audience::Nobody => false,
            Audience::Draining => wants(service) && policy.drains(service).is_some(),
            Audience::All => wants(service),
        };
        let services = self.context.services.snapshot();
        let services = services.objects().iter().map(|object| (&object.key, &*object.view));
        let keys = fan_out::keys_of(services, concerned);
        if keys.is_empty() {
            return;
        }
        info!(services = keys.len(), "the set of nodes behind load balancers changed");
        self.rounds.begin(&keys);
        fan_out::tell(&self.queue, keys);
        self.turns.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{Ingress, LoadBalancerStatus};
    use bowline_kube::informer::{Incarnation, Object};

    use super::*;
    use crate::service::desire::FINALIZER;

    fn object(edit: impl FnOnce(&mut ServiceView)) -> Arc<Object<Arc<ServiceView>>> {
        let mut view =
            ServiceView { uid: "u-1".into(), kind: "LoadBalancer".into(), ..ServiceView::default() };
        edit(&mut view);
        let key = ObjectKey::namespaced("shop", "web");
        Arc::new(Object {
            key,
            incarnation: Incarnation::of(&view.uid),
            resource_version: "1".into(),
            view: Arc::new(view),
        })
    }

    fn finished(service: &mut ServiceView) {
        service.finalizers = [FINALIZER].into();
        service.status = LoadBalancerStatus { ingress: vec![Ingress::default()] };
    }

    #[test]
    fn what_users_wait_for_goes_before_what_looks_finished() {
        let added = |new| asks_for(&Change::Added { new }, &Notes::default());
        assert_eq!(added(object(|_| {})), Some(Priority::User));
        assert_eq!(added(object(finished)), Some(Priority::Background));
        let leaving = object(|s| {
            finished(s);
            s.kind = "ClusterIP".into();
        });
        assert_eq!(added(leaving), Some(Priority::User));
        assert_eq!(added(object(|s| s.kind = "ClusterIP".into())), None);
        assert_eq!(added(object(|s| s.load_balancer_class = Some("other".into()))), None);
    }

    #[test]
    fn an_update_asks_for_a_run_only_if_it_matters() {
        let updated = |old, new| asks_for(&Change::Updated { old, new }, &Notes::default());
        assert_eq!(updated(object(|_| {}), object(finished)), None, "our own writes");
        assert_eq!(updated(object(finished), object(|_| {})), Some(Priority::Background), "a lost finalizer");
        let leaving = |said: bool| {
            object(move |s| {
                s.finalizers = [FINALIZER].into();
                s.kind = "ClusterIP".into();
                s.condition = said.then(|| Box::new(crate::service::condition::unknown("no answer")));
            })
        };
        assert_eq!(updated(leaving(false), leaving(true)), None, "what we said of a failing removal");
        assert_eq!(updated(leaving(true), leaving(true)), Some(Priority::User), "as upstream");
        let edited = object(|s| s.load_balancer_ip = Some("192.0.2.1".into()));
        assert_eq!(updated(object(|_| {}), edited), Some(Priority::User));
    }

    #[test]
    fn what_we_noted_asks_for_nothing_and_what_a_user_makes_of_it_does() {
        let noted = Notes::default().with("id", "85a2");
        let updated = |old, new| asks_for(&Change::Updated { old, new }, &noted);
        let with = |id: &'static str, kind: &'static str| {
            object(move |s| {
                s.annotations = [("id", id)].into();
                (s.kind, s.finalizers) = (kind.into(), [FINALIZER].into());
            })
        };
        let without =
            |kind: &'static str| object(move |s| (s.kind, s.finalizers) = (kind.into(), [FINALIZER].into()));
        let wanted = "LoadBalancer";
        assert_eq!(updated(without(wanted), with("85a2", wanted)), None);
        assert_eq!(updated(with("old", wanted), with("85a2", wanted)), None);
        assert_eq!(updated(without(wanted), with("mine", wanted)), Some(Priority::User), "overtaken");
        assert_eq!(updated(with("85a2", wanted), with("mine", wanted)), Some(Priority::User));
        assert_eq!(updated(with("85a2", wanted), without(wanted)), Some(Priority::User));
        // Of a removal that fails.
        assert_eq!(updated(without("ClusterIP"), with("85a2", "ClusterIP")), None);
        assert_eq!(updated(with("85a2", "ClusterIP"), without("ClusterIP")), Some(Priority::User));
    }
}
