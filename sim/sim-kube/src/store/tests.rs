use super::*;

fn bucket() -> BucketKey {
    (String::new(), "nodes".into())
}

fn key(name: &str) -> ObjectKey {
    (String::new(), name.into())
}

fn node(name: &str, color: &str) -> Value {
    json!({"metadata": {"name": name, "uid": name}, "spec": {"color": color}})
}

#[test]
fn a_snapshot_of_the_past_undoes_what_came_later() {
    let mut store = Store::new(100);
    store.put(&bucket(), &key("a"), node("a", "red"));
    store.put(&bucket(), &key("b"), node("b", "red"));
    let then = store.version();
    store.put(&bucket(), &key("a"), node("a", "blue"));
    store.remove(&bucket(), &key("b"));
    store.put(&bucket(), &key("c"), node("c", "red"));
    let past = store.snapshot_at(&bucket(), then).unwrap();
    let colors: Vec<_> = past.values().map(|v| (object::name(v), v["spec"]["color"].as_str())).collect();
    assert_eq!(colors, [("a", Some("red")), ("b", Some("red"))]);
}

#[test]
fn history_is_bounded_and_says_from_where_it_remembers() {
    let mut store = Store::new(2);
    for color in ["1", "2", "3"] {
        store.put(&bucket(), &key("a"), node("a", color));
    }
    assert_eq!(store.changes_after(&bucket(), 1).unwrap_err(), Compacted { oldest: 2 });
    assert_eq!(store.changes_after(&bucket(), 2).unwrap().len(), 2);
}

#[test]
fn dependents_follow_owner_references() {
    let mut store = Store::new(10);
    let mut child = node("child", "red");
    object::meta(&mut child).insert("ownerReferences".into(), json!([{"uid": "boss"}]));
    store.put(&bucket(), &key("child"), child);
    assert_eq!(store.dependents("boss"), [(bucket(), key("child"))]);
    store.put(&bucket(), &key("child"), node("child", "red"));
    assert_eq!(store.dependents("boss"), []);
}
