//! From what is wanted, what is there and what was recorded to the steps, in order. Pure: asks nobody.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::DynamicObject;

use super::{Entry, Inventory, ObjectId};
use crate::api::OWNER_LABEL;

/// What a dry run says of an object that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preview {
    /// An apply would change nothing.
    Same,
    /// It would change something.
    Changes,
    /// It is refused: a field cannot be changed, or what somebody else made of the object does not go with what is wanted.
    /// Then only another object can be as wanted, if that can be made at all.
    Refused,
}

/// One object as it was found.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The object, if it is there.
    pub live: Option<DynamicObject>,
    /// What an apply would do; of those that are there and wanted.
    pub preview: Option<Preview>,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyStep {
    /// It is not there.
    Create(ObjectId),
    /// It is there and differs.
    Update {
        /// Which.
        id: ObjectId,
        /// The one that was looked at.
        uid: String,
    },
    /// It is there and can only be made anew.
    Recreate {
        /// Which.
        id: ObjectId,
        /// The one that was looked at.
        uid: String,
    },
    /// It is being deleted: nothing can be done to it until it is gone.
    Await(ObjectId),
    /// It is not ours to change: nothing at all is done then.
    Refuse {
        /// Which.
        id: ObjectId,
        /// The other resource of ours that it belongs to; `None` if the operator did not make it.
        owner: Option<String>,
    },
    /// It is no longer wanted, and ours.
    Delete {
        /// Which.
        id: ObjectId,
        /// The one that was made.
        uid: String,
    },
}

/// What to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The inventory as it has to be before the first step.
    pub intent: Inventory,
    /// The steps, in order.
    pub steps: Vec<ApplyStep>,
}

/// Decides what to do for `owner`. Of what is no longer wanted, `kept` stays: pods may use it still. What the operator did not
/// make is changed only with `adopt`.
#[must_use]
pub fn plan(
    wanted: &[ObjectId],
    kept: &BTreeSet<ObjectId>,
    seen: &BTreeMap<ObjectId, Seen>,
    inventory: &Inventory,
    owner: &str,
    adopt: bool,
) -> Plan {
    let mut plan = Plan { intent: inventory.clone(), steps: Vec::new() };
    for id in wanted {
        let found = seen.get(id);
        match found.and_then(|found| found.live.as_ref().map(|live| (live, found.preview.as_ref()))) {
            None => plan.create(id),
            Some((live, preview)) => plan.bring(id, live, preview, Claim { owner, adopt }),
        }
    }
    if plan.steps.iter().any(|step| matches!(step, ApplyStep::Refuse { .. })) {
        let refusals = plan.steps.into_iter().filter(|step| matches!(step, ApplyStep::Refuse { .. }));
        return Plan { intent: inventory.clone(), steps: refusals.collect() };
    }
    let unwanted = inventory.entries().iter().rev().filter(|entry| !wanted.contains(&entry.id));
    for entry in unwanted.filter(|entry| !kept.contains(&entry.id)) {
        let live = seen.get(&entry.id).and_then(|found| found.live.as_ref());
        plan.prune(entry, live, owner);
    }
    plan
}

/// Who wants an object, and how far that goes.
#[derive(Debug, Clone, Copy)]
struct Claim<'a> {
    owner: &'a str,
    /// Whether what the operator did not make is taken over.
    adopt: bool,
}

impl Plan {
    fn create(&mut self, id: &ObjectId) {
        // An entry without a UID: what is made next, even if we crash before we hear of it.
        self.intent.record(Entry { id: id.clone(), uid: None, is_adopted: false });
        self.steps.push(ApplyStep::Create(id.clone()));
    }

    fn bring(&mut self, id: &ObjectId, live: &DynamicObject, preview: Option<&Preview>, claim: Claim<'_>) {
        let Claim { owner, adopt } = claim;
        // Its labels decide what pods in it may do, and they are its owner's: nothing a resource says changes them.
        if id.kind == "Namespace" {
            return;
        }
        if live.metadata.deletion_timestamp.is_some() {
            return self.steps.push(ApplyStep::Await(id.clone()));
        }
        let label = label_of(live);
        if let Some(other) = label.filter(|label| *label != owner) {
            return self.steps.push(ApplyStep::Refuse { id: id.clone(), owner: Some(other.to_owned()) });
        }
        let Some(uid) = live.metadata.uid.clone() else { return };
        self.recognise(id, &uid, label.is_some());
        if !adopt && self.intent.get(id).is_some_and(|entry| entry.is_adopted) {
            return self.steps.push(ApplyStep::Refuse { id: id.clone(), owner: None });
        }
        match preview {
            Some(Preview::Same) => {}
            None | Some(Preview::Changes) => self.steps.push(ApplyStep::Update { id: id.clone(), uid }),
            Some(Preview::Refused) => self.steps.push(ApplyStep::Recreate { id: id.clone(), uid }),
        }
    }

    /// What is there is ours if we were about to make it, or if the inventory was lost and it has our label; else it was
    /// there before us.
    fn recognise(&mut self, id: &ObjectId, uid: &str, has_label: bool) {
        let entry = match self.intent.get(id) {
            // Without our label it is still the one that we made: a label that somebody removed comes back.
            Some(Entry { uid: Some(known), .. }) if known == uid => return,
            Some(Entry { uid: None, .. }) => !has_label,
            Some(_) => true,
            None => !(self.intent.is_lost() && has_label),
        };
        self.intent.record(Entry { id: id.clone(), uid: Some(uid.to_owned()), is_adopted: entry });
    }

    fn prune(&mut self, entry: &Entry, live: Option<&DynamicObject>, owner: &str) {
        let is_ours = |live: &DynamicObject, uid: &String| {
            live.metadata.uid.as_ref() == Some(uid) && label_of(live) == Some(owner)
        };
        match (live, &entry.uid) {
            (Some(live), Some(uid)) if is_ours(live, uid) && !entry.is_adopted && may_go(&entry.id) => {
                self.steps.push(ApplyStep::Delete { id: entry.id.clone(), uid: uid.clone() });
            }
            // Gone, a namesake, somebody else's, or not to be removed by us.
            _ => self.intent.forget(&entry.id),
        }
    }
}

/// A namespace may hold what others have put there: credentials, for one. It stays.
fn may_go(id: &ObjectId) -> bool {
    id.kind != "Namespace"
}

fn label_of(object: &DynamicObject) -> Option<&str> {
    object.metadata.labels.as_ref()?.get(OWNER_LABEL).map(String::as_str)
}
