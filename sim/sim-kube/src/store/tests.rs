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
    let mut store = Store::new(100, 1_000_000);
    store.put(&bucket(), &key("a"), node("a", "red"));
    store.put(&bucket(), &key("b"), node("b", "red"));
    let then = store.version();
    store.put(&bucket(), &key("a"), node("a", "blue"));
    store.remove(&bucket(), &key("b"));
    store.put(&bucket(), &key("c"), node("c", "red"));
    let past = store.view_at(&bucket(), then, "", None).unwrap();
    let colors: Vec<_> = past.iter().map(|(_, v)| (object::name(v), v["spec"]["color"].as_str())).collect();
    assert_eq!(colors, [("a", Some("red")), ("b", Some("red"))]);
    let second = store.view_at(&bucket(), then, "", Some(&key("a"))).unwrap();
    assert_eq!(second.iter().map(|(key, _)| key.1.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_namespace_is_found_without_a_look_at_the_others_and_in_the_order_of_etcd() {
    let mut store = Store::new(100, 1_000_000);
    for (namespace, name) in [("a", "x"), ("a-b", "y"), ("b", "z"), ("a", "w"), ("a0", "v")] {
        let object =
            json!({"metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}{name}")}});
        store.put(&bucket(), &(namespace.into(), name.into()), object);
    }
    let names = |found: Vec<&ObjectKey>| -> String {
        found.iter().map(|(namespace, name)| format!("{namespace}/{name} ")).collect()
    };
    let bucket = bucket();
    assert_eq!(names(store.objects(&bucket).map(|(key, _)| key).collect()), "a-b/y a/w a/x a0/v b/z ");
    assert_eq!(names(store.inside(&bucket, "a").map(|(key, _)| key).collect()), "a/w a/x ");
    for (namespace, after, left) in [
        ("", ("a", "w"), "a/x a0/v b/z "),
        ("a", ("a", "w"), "a/x "),
        ("a", ("b", "z"), ""),
        ("b", ("a", "x"), "b/z "),
    ] {
        let after = (after.0.to_owned(), after.1.to_owned());
        let view = store.view_at(&bucket, store.version(), namespace, Some(&after)).unwrap();
        assert_eq!(names(view.iter().map(|(key, _)| key).collect()), left, "{namespace} after {after:?}");
    }
}

#[test]
fn history_is_bounded_and_says_from_where_it_remembers() {
    let mut store = Store::new(2, 1_000_000);
    for color in ["1", "2", "3"] {
        store.put(&bucket(), &key("a"), node("a", color));
    }
    assert_eq!(store.changes_after(&bucket(), 1).unwrap_err(), Compacted { oldest: 2 });
    assert_eq!(store.changes_after(&bucket(), 2).unwrap().len(), 2);
}

#[test]
fn history_is_bounded_in_bytes_too() {
    let mut store = Store::new(100, 3_000);
    for _ in 0..5 {
        store.put(&bucket(), &key("a"), node("a", &"x".repeat(1_000)));
    }
    let last = store.version();
    assert!(store.changes_after(&bucket(), last - 4).is_err());
    assert_eq!(store.changes_after(&bucket(), last - 2).unwrap().len(), 2);
}

#[test]
fn dependents_follow_owner_references() {
    let mut store = Store::new(10, 1_000_000);
    let mut child = node("child", "red");
    object::meta(&mut child).insert("ownerReferences".into(), json!([{"uid": "boss"}]));
    store.put(&bucket(), &key("child"), child);
    assert_eq!(store.dependents("boss"), [(bucket(), key("child"))]);
    store.put(&bucket(), &key("child"), node("child", "red"));
    assert_eq!(store.dependents("boss"), []);
}
