//! Turns changes of Services and Nodes into keys to work on. What a change means is said in `desire` and `nodes`.

use std::sync::Arc;

use bowline_cloud::{NodeView, ServiceView};
use bowline_kube::informer::{Change, Subscription};
use bowline_kube::queue::Priority;
use tokio::time::{Instant, sleep_until};
use tracing::info;

use super::desire::{has_finalizer, needs_cleanup, needs_update, wants};
use super::nodes::is_worth_a_look;
use super::work::Work;

/// Whether a change of a Service asks for a run, and how soon.
pub(super) fn asks_for(change: &Change<Arc<ServiceView>>) -> Option<Priority> {
    match change {
        Change::Added { new } => (wants(new) || needs_cleanup(new)).then(|| {
            // After a restart: what looks finished is verified when nobody waits for anything else.
            let looks_finished = !needs_cleanup(new) && has_finalizer(new) && !new.status.ingress.is_empty();
            if looks_finished { Priority::Background } else { Priority::User }
        }),
        Change::Updated { old, new } => {
            let leaves = old.deleted_at.is_none() && new.deleted_at.is_some();
            if needs_update(old, new) || (needs_cleanup(new) && !says_only(old, new)) || leaves {
                return Some(Priority::User);
            }
            let lost_finalizer = wants(new) && has_finalizer(old) && !has_finalizer(new);
            lost_finalizer.then_some(Priority::Background)
        }
        // If we worked for it, and it went without asking us, its load balancer has to go.
        Change::Deleted { .. } => Some(Priority::User),
    }
}

/// Whether nothing changed but what we say of it: a removal that fails must not be tried again because we said so.
fn says_only(old: &ServiceView, new: &ServiceView) -> bool {
    let unsaid = |service: &ServiceView| ServiceView { condition: None, ..service.clone() };
    old.condition != new.condition && unsaid(old) == unsaid(new)
}

/// Whether a change of a Node may change the set of nodes.
pub(super) fn may_change_the_set(change: &Change<Arc<NodeView>>) -> bool {
    match change {
        Change::Added { .. } | Change::Deleted { .. } => true,
        Change::Updated { old, new } => is_worth_a_look(old, new),
    }
}

impl Work {
    /// Ends with the informer.
    pub(super) async fn feed_services(&self, mut changes: Subscription<Arc<ServiceView>>) {
        while let Some(change) = changes.next().await {
            if let Change::Updated { new, .. } = &change {
                self.memories.update(&new.key, &new.view);
            }
            if let Some(priority) = asks_for(&change) {
                self.queue.add(change.key().clone(), priority);
            }
        }
    }

    /// A burst of changes becomes one look at the set: when it was quiet for a while, but not later than a limit.
    pub(super) async fn feed_nodes(&self, mut changes: Subscription<Arc<NodeView>>) {
        while let Some(change) = changes.next().await {
            if !may_change_the_set(&change) {
                continue;
            }
            let latest = Instant::now() + self.options.node_burst;
            let mut due = Instant::now() + self.options.node_quiet;
            loop {
                tokio::select! {
                    change = changes.next() => match change {
                        Some(change) if may_change_the_set(&change) => due = Instant::now() + self.options.node_quiet,
                        Some(_) => {}
                        None => return,
                    },
                    () = sleep_until(due.min(latest)) => break,
                }
            }
            self.tell_all_of_new_nodes();
        }
    }

    /// One number is compared; only if it differs, every Service gets a place at the end of the line.
    fn tell_all_of_new_nodes(&self) {
        let Some(set) = self.nodes.announce() else { return };
        let services = self.context.services.snapshot();
        let keys: Vec<_> =
            services.objects().iter().filter(|object| wants(object)).map(|o| o.key.clone()).collect();
        info!(
            nodes = set.nodes.len(),
            services = keys.len(),
            "the set of nodes behind load balancers changed"
        );
        self.rounds.begin(keys.iter().cloned().collect());
        for key in keys {
            self.queue.add(key, Priority::Background);
        }
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{Ingress, LoadBalancerStatus};
    use bowline_kube::informer::{Incarnation, Object, ObjectKey};

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
        let added = |new| asks_for(&Change::Added { new });
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
        let updated = |old, new| asks_for(&Change::Updated { old, new });
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
}
