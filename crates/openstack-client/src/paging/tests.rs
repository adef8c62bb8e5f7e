//! Pages and links, also of services that do not behave.

use proptest::prelude::*;
use serde::Deserialize;

use super::{
    Listed,
    page::{Page, Step, from_link, next_step, read},
};

#[derive(Debug, Deserialize, PartialEq)]
struct Thing {
    id: String,
}

impl Listed for Thing {
    const COLLECTION: &'static str = "things";
    fn marker(&self) -> Option<&str> {
        Some(&self.id)
    }
}

fn page(body: &str) -> Page<Thing> {
    read(body.as_bytes()).unwrap()
}

fn next(body: &str, size: u32) -> Option<Step> {
    next_step(&page(body), size).unwrap()
}

#[test]
fn of_a_link_only_the_marker_is_taken() {
    for href in [
        "http://127.0.0.1:9876/v2/lbaas/things?limit=2&marker=m%201",
        "http://elsewhere/?marker=m+1#x",
        "?marker=m%201",
    ] {
        assert_eq!(from_link(href), Ok(Step::Linked("m 1".to_owned())), "{href}");
    }
}

#[test]
fn a_link_without_a_marker_is_followed_by_its_parameters() {
    let pairs = vec![("offset".to_owned(), "10".to_owned()), ("limit".to_owned(), "5".to_owned())];
    assert_eq!(from_link("http://x/things?offset=10&limit=5"), Ok(Step::Query(pairs)));
    assert!(from_link("http://x/things").is_err());
    assert!(from_link("").is_err());
}

#[test]
fn pages_that_differ_in_any_parameter_are_different_pages() {
    let key = |href: &str| from_link(href).unwrap().key();
    assert_ne!(key("x?offset=10&limit=5"), key("x?offset=15&limit=5"));
    assert_eq!(key("x?offset=10&limit=5"), key("y?offset=10&limit=5"));
}

#[test]
fn the_links_of_a_page_decide_where_there_are_any() {
    let with =
        |links: &str| format!(r#"{{"things": [{{"id": "a"}}, {{"id": "b"}}], "things_links": {links}}}"#);
    let both = r#"[{"rel": "previous", "href": "x?marker=z"}, {"rel": "next", "href": "x?marker=b"}]"#;
    assert_eq!(next(&with(both), 2), Some(Step::Linked("b".into())));
    assert_eq!(next(&with(r#"[{"rel": "previous", "href": "x?marker=z"}]"#), 2), None);
    assert_eq!(next(&with("[]"), 2), None);
    assert_eq!(next(&with("null"), 2), None);
    let empty = r#"{"things": [], "things_links": [{"rel": "next", "href": "x?marker=b"}]}"#;
    assert_eq!(next(empty, 2), Some(Step::Linked("b".into())), "an empty page is not the end");
}

#[test]
fn without_links_a_full_page_is_followed_by_the_last_id() {
    let body = r#"{"things": [{"id": "a"}, {"id": "b"}], "others_links": []}"#;
    assert_eq!(next(body, 2), Some(Step::Guessed("b".into())));
    assert_eq!(next(body, 3), None);
    assert_eq!(next(body, 1), None, "a service that gives more than was asked for knows no pages");
    assert!(Step::Guessed("b".into()).is_repeated_by(&page(body)));
    assert!(!Step::Guessed("a".into()).is_repeated_by(&page(body)));
}

#[test]
fn what_is_no_list_is_never_an_empty_one() {
    for body in [
        "",
        "{}",
        "[]",
        "null",
        "<html></html>",
        r#"{"things": null}"#,
        r#"{"things": {}}"#,
        r#"{"thing": []}"#,
        r#"{"things": [{"name": "without an id"}]}"#,
        r#"{"things": [{"id": "a"}, {"id": "#,
        r#"{"things": []} x"#,
    ] {
        assert!(read::<Thing>(body.as_bytes()).is_err(), "{body}");
    }
    assert_eq!(page(r#"{"more": {"a": [1]}, "things": [], "x": null}"#).items, []);
}

proptest! {
    #[test]
    fn no_link_makes_the_reader_panic(href: String) {
        if let Ok(Step::Linked(marker)) = from_link(&href) {
            prop_assert!(!marker.is_empty());
        }
    }

    #[test]
    fn a_marker_survives_its_way_through_a_link(marker in "[ -~]{1,40}") {
        let encoded = percent_encoding::utf8_percent_encode(&marker, percent_encoding::NON_ALPHANUMERIC).to_string();
        prop_assert_eq!(from_link(&format!("http://x/y?limit=1&marker={encoded}")), Ok(Step::Linked(marker)));
    }

    #[test]
    fn no_body_makes_the_reader_panic(body: Vec<u8>, cut in 0usize..60) {
        drop(read::<Thing>(&body));
        let whole = br#"{"things": [{"id": "a"}], "things_links": [{"rel": "next"}]}"#;
        let cut = cut.min(whole.len() - 1);
        prop_assert!(read::<Thing>(&whole[..cut]).is_err(), "a cut-off list is never a list");
    }
}
