//! The taints of a stopped machine, and edits of the taint list of a Node. Pure.
//!
//! Edits are JSON patch operations on indices of the observed list, so they are valid for exactly that version of the Node. Other taints
//! are not sent back: their fields, including unknown ones, stay unchanged.

use bowline_cloud::Taint;
use serde_json::{Value, json};

/// The key of the taint of a node whose machine is shut down.
pub const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// The key of the taint that makes Kubernetes delete the pods and detach the volumes of a Node that stays down.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The value of [`OUT_OF_SERVICE`] for a shutdown.
const NODE_SHUTDOWN: &str = "nodeshutdown";

/// `node.cloudprovider.kubernetes.io/shutdown:NoSchedule`.
#[must_use]
pub fn shutdown() -> Taint {
    Taint { key: SHUTDOWN.into(), value: None, effect: "NoSchedule".into() }
}

/// `node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`.
#[must_use]
pub fn out_of_service() -> Taint {
    Taint { key: OUT_OF_SERVICE.into(), value: Some(NODE_SHUTDOWN.into()), effect: "NoExecute".into() }
}

/// Whether both have the same key and effect. The value is ignored.
#[must_use]
pub fn same(one: &Taint, other: &Taint) -> bool {
    one.key == other.key && one.effect == other.effect
}

/// Whether the list has a taint with this key and effect. The value is ignored.
#[must_use]
pub fn has(taints: &[Taint], wanted: &Taint) -> bool {
    taints.iter().any(|taint| same(taint, wanted))
}

/// The operations that make `have` contain `wanted`; empty if it does already. A taint with the same key and effect but another value is
/// replaced.
#[must_use]
pub fn add(have: &[Taint], wanted: &[Taint]) -> Vec<Value> {
    let mut operations = Vec::new();
    let mut new = Vec::new();
    for taint in wanted {
        let mut namesakes = have.iter().enumerate().filter(|(_, there)| same(there, taint)).peekable();
        if namesakes.peek().is_none() {
            new.push(on_the_wire(taint));
        }
        for (at, _) in namesakes.filter(|(_, there)| *there != taint) {
            operations.push(json!({"op": "replace", "path": path(at), "value": on_the_wire(taint)}));
        }
    }
    if have.is_empty() && !new.is_empty() {
        return vec![json!({"op": "add", "path": "/spec/taints", "value": new})];
    }
    operations.extend(new.into_iter().map(|t| json!({"op": "add", "path": "/spec/taints/-", "value": t})));
    operations
}

/// The operations that remove all `unwanted` taints from `have`; empty if there are none.
#[must_use]
pub fn remove(have: &[Taint], unwanted: impl Fn(&Taint) -> bool) -> Vec<Value> {
    let positions: Vec<_> = (0..).zip(have).filter(|(_, taint)| unwanted(taint)).map(|(at, _)| at).collect();
    if !positions.is_empty() && positions.len() == have.len() {
        return vec![json!({"op": "remove", "path": "/spec/taints"})];
    }
    // From the end, so that no removal shifts the index of a later one.
    positions.into_iter().rev().map(|at: usize| json!({"op": "remove", "path": path(at)})).collect()
}

fn path(at: usize) -> String {
    format!("/spec/taints/{at}")
}

fn on_the_wire(taint: &Taint) -> Value {
    match &taint.value {
        Some(value) => json!({"key": taint.key, "value": value, "effect": taint.effect}),
        None => json!({"key": taint.key, "effect": taint.effect}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(n: u8) -> Taint {
        Taint { key: format!("other-{n}").into(), value: None, effect: "NoExecute".into() }
    }

    fn shutdown_on_the_wire() -> Value {
        json!({"key": SHUTDOWN, "effect": "NoSchedule"})
    }

    #[test]
    fn a_taint_is_added_to_an_empty_list_and_to_others() {
        let wire = shutdown_on_the_wire();
        assert_eq!(add(&[], &[shutdown()]), [json!({"op": "add", "path": "/spec/taints", "value": [wire]})]);
        assert_eq!(
            add(&[other(1)], &[shutdown()]),
            [json!({"op": "add", "path": "/spec/taints/-", "value": wire})]
        );
    }

    #[test]
    fn a_taint_that_is_there_is_not_added_and_one_that_is_not_there_is_not_removed() {
        assert!(add(&[other(1), shutdown()], &[shutdown()]).is_empty());
        assert!(remove(&[other(1)], |taint| same(taint, &shutdown())).is_empty());
        assert!(remove(&[], |_| true).is_empty());
    }

    #[test]
    fn key_and_effect_make_a_taint_and_another_value_is_replaced() {
        let strange = Taint { value: Some("yes".into()), ..shutdown() };
        let replace = json!({"op": "replace", "path": "/spec/taints/1", "value": shutdown_on_the_wire()});
        assert_eq!(add(&[other(1), strange], &[shutdown()]), [replace]);
        let other_effect = Taint { effect: "NoExecute".into(), ..shutdown() };
        assert_eq!(add(&[other_effect], &[shutdown()]).len(), 1);
    }

    #[test]
    fn all_matches_are_removed_from_the_end_and_the_list_goes_with_its_last_taint() {
        let have = [shutdown(), other(1), shutdown()];
        assert_eq!(
            remove(&have, |taint| same(taint, &shutdown())),
            [
                json!({"op": "remove", "path": "/spec/taints/2"}),
                json!({"op": "remove", "path": "/spec/taints/0"})
            ]
        );
        assert_eq!(
            remove(&[shutdown()], |taint| same(taint, &shutdown())),
            [json!({"op": "remove", "path": "/spec/taints"})]
        );
    }
}
