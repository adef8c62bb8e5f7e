//! A change of nodes reaches the Services that it concerns: each is asked about once, whatever the number of nodes. Pure.
//!
//! No set of nodes is seen here. They are compared once for all Services (`nodes`), by number.

use bowline_cloud::ServiceView;
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{KeyedQueue, Priority};

/// The keys of the Services that are `concerned`, in the order in which they come.
pub fn keys_of<'a>(
    services: impl IntoIterator<Item = (&'a ObjectKey, &'a ServiceView)>,
    concerned: impl Fn(&ServiceView) -> bool,
) -> Vec<ObjectKey> {
    let concerned = services.into_iter().filter(|(_key, service)| concerned(service));
    concerned.map(|(key, _service)| key.clone()).collect()
}

/// Gives each of them a place at the end of the line: nobody waits for it.
pub fn tell(queue: &KeyedQueue<ObjectKey>, keys: impl IntoIterator<Item = ObjectKey>) {
    queue.add_all(keys.into_iter().map(|key| (key, Priority::Background)));
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use bowline_kube::queue::QueueSettings;

    use super::*;

    #[test]
    fn each_service_is_asked_about_once_and_those_concerned_get_one_place() {
        let services: Vec<_> = (0..1000)
            .map(|n| {
                let name = format!("web-{n}");
                (
                    ObjectKey::namespaced("shop", &name),
                    ServiceView { name: name.into(), ..ServiceView::default() },
                )
            })
            .collect();
        let asked = Cell::new(0);
        let concerned = |service: &ServiceView| {
            asked.set(asked.get() + 1);
            service.name.ends_with('7')
        };
        let keys = keys_of(services.iter().map(|(key, service)| (key, service)), concerned);
        assert_eq!((asked.get(), keys.len()), (1000, 100));
        let queue = KeyedQueue::fair("service", QueueSettings::default(), ObjectKey::namespace);
        tell(&queue, keys.clone());
        tell(&queue, keys);
        assert_eq!((queue.len(), queue.load().depth), (100, 100));
    }
}
