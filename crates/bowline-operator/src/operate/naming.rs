//! How the objects of one resource are named: with the prefix, or as an operator before the prefix named them. Pure.
//!
//! A workload that runs under its old name keeps it: making it anew under another one would leave the cluster without a manager in
//! between. That it is ours is shown by the inventory, which only the operator writes; where the inventory was lost, or there never
//! was one (files of `bowline operator render`), by our label on the workload and on the account that it runs as. Neither can be
//! had by naming a resource after something. When the workload is gone, what is made anew has the prefix.

use kube::api::DynamicObject;

use crate::api::{Form, OWNER_LABEL};
use crate::apply::{Inventory, ObjectId};
use crate::render::Naming;

const ACCOUNT: (&str, &str) = ("v1", "ServiceAccount");
const WORKLOADS: [(&str, &str); 2] = [("apps/v1", "Deployment"), ("apps/v1", "DaemonSet")];

/// The objects under the bare name that decide. Nothing has to be looked at for a resource that never had one.
pub(super) fn candidates(owner: &str, namespace: &str, inventory: &Inventory) -> Vec<ObjectId> {
    let id = |(api_version, kind): (&str, &str)| ObjectId {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: Some(namespace.to_owned()),
        name: owner.to_owned(),
    };
    let workloads = WORKLOADS.map(id);
    if inventory.is_lost() {
        return workloads.into_iter().chain([id(ACCOUNT)]).collect();
    }
    workloads.into_iter().filter(|id| inventory.get(id).is_some()).collect()
}

/// How the objects of `owner` are named, if `live` are those of the candidates that are there.
pub(super) fn naming(
    owner: &str,
    form: Form,
    inventory: &Inventory,
    live: &[(ObjectId, DynamicObject)],
) -> Naming {
    let is_ours = |id: &ObjectId, object: &DynamicObject| match inventory.get(id) {
        Some(entry) if entry.uid.is_some() => entry.uid == object.metadata.uid,
        Some(_) => is_labelled(object, owner),
        None => inventory.is_lost() && is_labelled(object, owner),
    };
    let has_account = !inventory.is_lost()
        || live.iter().any(|(id, object)| id.kind == ACCOUNT.1 && is_labelled(object, owner));
    // Static pods replace what ran before only when they run; a workload of another form goes when the new one was made.
    let is_of_form = |kind: &str| match form {
        Form::Deployment => kind == "Deployment",
        Form::DaemonSet => kind == "DaemonSet",
        Form::StaticPod => kind != ACCOUNT.1,
    };
    let mut workloads = live.iter().filter(|(id, _)| is_of_form(&id.kind));
    if has_account && workloads.any(|(id, object)| is_ours(id, object)) {
        Naming::Bare
    } else {
        Naming::Prefixed
    }
}

fn is_labelled(object: &DynamicObject, owner: &str) -> bool {
    object
        .metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(OWNER_LABEL))
        .is_some_and(|label| label == owner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::apply::Entry;

    fn id(kind: &str) -> ObjectId {
        let all = candidates("main", "n", &Inventory::lost());
        all.into_iter().find(|id| id.kind == kind).unwrap()
    }

    fn live(kind: &str, uid: &str, owner: Option<&str>) -> (ObjectId, DynamicObject) {
        let labels = owner.map_or(json!({}), |owner| json!({ OWNER_LABEL: owner }));
        let metadata = json!({ "name": "main", "namespace": "n", "uid": uid, "labels": labels });
        (id(kind), serde_json::from_value(json!({ "metadata": metadata })).unwrap())
    }

    fn recorded(kind: &str, uid: Option<&str>, is_adopted: bool) -> Inventory {
        let mut inventory = Inventory::default();
        inventory.record(Entry { id: id(kind), uid: uid.map(str::to_owned), is_adopted });
        inventory
    }

    fn of_deployment(inventory: &Inventory, live: &[(ObjectId, DynamicObject)]) -> Naming {
        naming("main", Form::Deployment, inventory, live)
    }

    #[test]
    fn a_new_resource_gets_the_prefix_whatever_is_there_under_its_name() {
        for owner in [None, Some("other")] {
            let (account, deployment) = (live("ServiceAccount", "a", owner), live("Deployment", "d", owner));
            for found in [vec![], vec![account.clone()], vec![account, deployment]] {
                assert_eq!(of_deployment(&Inventory::lost(), &found), Naming::Prefixed);
                assert_eq!(of_deployment(&Inventory::default(), &found), Naming::Prefixed);
            }
        }
        assert_eq!(candidates("main", "n", &Inventory::default()), []);
    }

    #[test]
    fn a_workload_that_an_earlier_operator_made_keeps_its_name_as_long_as_it_is_there() {
        let inventory = recorded("Deployment", Some("d"), false);
        let ours = live("Deployment", "d", Some("main"));
        assert_eq!(candidates("main", "n", &inventory), [id("Deployment")]);
        assert_eq!(of_deployment(&inventory, std::slice::from_ref(&ours)), Naming::Bare);
        assert_eq!(
            of_deployment(&inventory, &[live("Deployment", "d", None)]),
            Naming::Bare,
            "a label that is gone"
        );
        assert_eq!(
            of_deployment(&recorded("Deployment", None, false), std::slice::from_ref(&ours)),
            Naming::Bare
        );
        assert_eq!(of_deployment(&inventory, &[]), Naming::Prefixed);
        let namesake = live("Deployment", "e", Some("main"));
        assert_eq!(of_deployment(&inventory, &[namesake]), Naming::Prefixed);
        // Whether what it only took over may be used is the plan's to say, and it refuses without `adopt`.
        assert_eq!(of_deployment(&recorded("Deployment", Some("d"), true), &[ours]), Naming::Bare);
    }

    #[test]
    fn another_form_is_made_with_the_prefix_and_static_pods_wait_beside_the_old_one() {
        let (inventory, old) =
            (recorded("Deployment", Some("d"), false), [live("Deployment", "d", Some("main"))]);
        assert_eq!(naming("main", Form::DaemonSet, &inventory, &old), Naming::Prefixed);
        assert_eq!(naming("main", Form::StaticPod, &inventory, &old), Naming::Bare);
    }

    #[test]
    fn a_lost_inventory_needs_our_label_on_the_workload_and_on_its_account() {
        let account = live("ServiceAccount", "a", Some("main"));
        let deployment = live("Deployment", "d", Some("main"));
        let lost = Inventory::lost();
        assert_eq!(of_deployment(&lost, &[deployment.clone(), account.clone()]), Naming::Bare);
        // An account that an earlier operator took over keeps our label when its resource is deleted, and has no workload.
        for found in [[account.clone()], [deployment.clone()]] {
            assert_eq!(of_deployment(&lost, &found), Naming::Prefixed);
        }
        let foreign = live("ServiceAccount", "a", None);
        assert_eq!(of_deployment(&lost, &[deployment, foreign]), Naming::Prefixed);
    }
}
