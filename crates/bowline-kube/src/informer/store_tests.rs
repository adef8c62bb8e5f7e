//! Properties of the store and its mailboxes under any sequence of changes.

use std::collections::BTreeMap;

use bowline_core::Text;
use proptest::prelude::*;

use super::index::Indexes;
use super::store::{Delta, Store};
use super::subscribe::{Change, Mailbox};
use super::{Incarnation, Object, ObjectKey};

type View = u8;

#[derive(Debug, Clone)]
enum Step {
    Apply(u8, u8, View),
    Remove(u8),
    Relist(BTreeMap<u8, (u8, View)>),
    Read(usize),
    Subscribe,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..5, 0_u8..2, 0_u8..3).prop_map(|(k, u, v)| Step::Apply(k, u, v)),
        2 => (0_u8..5).prop_map(Step::Remove),
        1 => prop::collection::btree_map(0_u8..5, (0_u8..2, 0_u8..3), 0..5).prop_map(Step::Relist),
        4 => (0_usize..4).prop_map(Step::Read),
        1 => Just(Step::Subscribe),
    ]
}

fn key(n: u8) -> ObjectKey {
    ObjectKey::cluster(&format!("k{n}"))
}

fn object(n: u8, uid: u8, view: View) -> Object<View> {
    Object {
        key: key(n),
        incarnation: Incarnation::of(&uid.to_string()),
        resource_version: Text::new(),
        view,
    }
}

fn store() -> Store<View> {
    let mut indexes = Indexes::default();
    indexes.declare("view", Box::new(|view: &View| vec![view.to_string()]));
    Store::new(indexes)
}

/// A subscriber that believes what it is told, and complains when that cannot be.
struct Believer {
    mailbox: Mailbox<View>,
    believes: BTreeMap<ObjectKey, (Incarnation, View)>,
}

impl Believer {
    fn hear(&mut self) -> bool {
        let Some(change) = self.mailbox.next() else { return false };
        let known = self.believes.get(change.key()).copied();
        match change {
            Change::Added { new } => {
                assert_eq!(known, None, "added twice");
                self.believes.insert(new.key.clone(), (new.incarnation, new.view));
            }
            Change::Updated { old, new } => {
                assert_eq!(known, Some((old.incarnation, old.view)), "the old state is the one last told");
                assert_eq!(old.incarnation, new.incarnation, "an update is of one and the same object");
                assert_ne!(old.view, new.view, "an update shows a difference");
                self.believes.insert(new.key.clone(), (new.incarnation, new.view));
            }
            Change::Deleted { old } => {
                assert_eq!(known, Some((old.incarnation, old.view)), "the old state is the one last told");
                self.believes.remove(&old.key);
            }
        }
        true
    }
}

fn truth(store: &Store<View>) -> BTreeMap<ObjectKey, (Incarnation, View)> {
    store.objects().map(|object| (object.key.clone(), (object.incarnation, object.view))).collect()
}

fn by_hand(store: &Store<View>, view: View) -> Vec<ObjectKey> {
    store.objects().filter(|object| object.view == view).map(|object| object.key.clone()).collect()
}

proptest! {
    #[test]
    fn every_subscriber_ends_up_believing_the_truth_and_indexes_agree(steps in prop::collection::vec(step(), 0..80)) {
        let mut store = store();
        let mut believers: Vec<Believer> = Vec::new();
        for step in steps {
            let (before, epoch) = (truth(&store), store.epoch());
            let deltas: Vec<Delta<View>> = match step {
                Step::Apply(k, uid, view) => store.apply(object(k, uid, view)).into_iter().collect(),
                Step::Remove(k) => store.remove(&key(k)).into_iter().collect(),
                Step::Relist(list) => {
                    store.replace(list.into_iter().map(|(k, (uid, view))| (key(k), object(k, uid, view))).collect())
                }
                Step::Read(n) => {
                    if let Some(believer) = believers.get_mut(n) {
                        believer.hear();
                    }
                    Vec::new()
                }
                Step::Subscribe => {
                    let mailbox = Mailbox::full_of(store.objects());
                    believers.push(Believer { mailbox, believes: BTreeMap::new() });
                    Vec::new()
                }
            };
            for believer in &mut believers {
                deltas.iter().for_each(|delta| believer.mailbox.record(delta));
                prop_assert!(believer.mailbox.len() <= 5, "at most one place for each key");
            }
            prop_assert_eq!(truth(&store) == before, store.epoch() == epoch, "the epoch moves with the content");
            for view in 0..3 {
                let found = store.by_index("view", &view.to_string()).unwrap();
                let found: Vec<_> = found.iter().map(|object| object.key.clone()).collect();
                prop_assert_eq!(found, by_hand(&store, view));
            }
        }
        for believer in &mut believers {
            while believer.hear() {}
            prop_assert_eq!(&believer.believes, &truth(&store));
        }
    }
}

#[test]
fn a_snapshot_is_the_same_memory_until_something_changes() {
    let mut store = store();
    store.apply(object(2, 0, 1));
    store.apply(object(1, 0, 1));
    let first = store.snapshot();
    store.apply(object(1, 0, 1));
    let again = store.snapshot();
    assert!(std::ptr::eq(first.objects(), again.objects()));
    store.apply(object(1, 0, 2));
    let changed = store.snapshot();
    assert!(changed.epoch() > first.epoch());
    assert_eq!(first.get(&key(1)).map(|object| object.view), Some(1), "a snapshot never changes");
    assert_eq!(changed.get(&key(1)).map(|object| object.view), Some(2));
    assert_eq!(changed.get(&key(3)).map(|object| object.view), None);
    assert!(changed.objects().is_sorted_by_key(|object| &object.key));
}
