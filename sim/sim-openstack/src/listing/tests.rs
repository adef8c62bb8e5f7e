//! Pages and filters on a small table.

use serde_json::{Value, json};

use super::*;
use crate::http::Query;
use crate::table::{Row, Table};

struct Fruit(String, i64);

impl Row for Fruit {
    fn id(&self) -> &str {
        &self.0
    }
    fn project_id(&self) -> &str {
        "p"
    }
}

fn fruits() -> Table<Fruit> {
    let mut table = Table::default();
    for (name, weight) in [("cherry", 1), ("apple", 3), ("banana", 2), ("damson", 1)] {
        table.insert(Fruit(name.to_owned(), weight));
    }
    table
}

fn ids(window: &Window, keep: &dyn Fn(&Fruit) -> bool) -> Vec<String> {
    let weight = |fruit: &Fruit, _: &str| json!(fruit.1);
    page(&fruits(), None, window, keep, &weight).unwrap().iter().map(|fruit| fruit.0.clone()).collect()
}

#[test]
fn pages_follow_their_marker_in_both_directions() {
    let all = |_: &Fruit| true;
    let window = Window { limit: Some(2), ..Window::default() };
    assert_eq!(ids(&window, &all), ["apple", "banana"]);
    let window = Window { marker: Some("banana".into()), ..window };
    assert_eq!(ids(&window, &all), ["cherry", "damson"]);
    let window = Window { marker: Some("damson".into()), backwards: true, ..window };
    assert_eq!(ids(&window, &all), ["banana", "cherry"]);
    let window = Window { newest_first: true, limit: Some(2), ..Window::default() };
    assert_eq!(ids(&window, &all), ["damson", "cherry"]);
}

#[test]
fn filters_apply_before_the_limit_and_sorting_keeps_ties_in_order() {
    let window = Window { limit: Some(2), ..Window::default() };
    assert_eq!(ids(&window, &|fruit| fruit.1 == 1), ["cherry", "damson"]);
    let sort = vec![SortKey { attribute: "weight".into(), descending: true }];
    let window = Window { sort, marker: Some("banana".into()), limit: Some(9), ..Window::default() };
    assert_eq!(ids(&window, &|_| true), ["cherry", "damson"]);
}

#[test]
fn an_unknown_marker_is_an_error() {
    let window = Window { marker: Some("nut".into()), ..Window::default() };
    let weight = |_: &Fruit, _: &str| Value::Null;
    assert!(page(&fruits(), None, &window, &|_| true, &weight).is_err());
}

#[test]
fn tag_filters_mean_all_any_not_all_and_not_any() {
    let tags = ["a".to_owned(), "b".to_owned()];
    let accepts = |query: &str| TagFilter::of(&Query::parse(query)).accepts(&tags);
    assert!(accepts("tags=a,b") && !accepts("tags=a,c"));
    assert!(accepts("tags-any=c,b") && !accepts("tags-any=c"));
    assert!(!accepts("not-tags=a,b") && accepts("not-tags=a,c"));
    assert!(!accepts("not-tags-any=a,c") && accepts("not-tags-any=c"));
}

#[test]
fn filters_compare_texts_numbers_booleans_null_and_lists() {
    let row = json!({"name": "x", "port": 80, "up": true, "none": null, "groups": ["g", "h"]});
    let accept = |query: &str| {
        let filters = Filters::of(&Query::parse(query), &["limit"]);
        filters.accept(|name| row.get(name).cloned().unwrap_or(Value::Null))
    };
    assert!(accept("name=x&port=80&up=True&none=&groups=h&limit=1"));
    assert!(accept("name=y&name=x"));
    assert!(!accept("name=y") && !accept("port=81") && !accept("up=False") && !accept("groups=i"));
}
