//! What the fuzzer does, in a small way: its corpus, every beginning of it, and bytes by chance.

use std::path::Path;

use proptest::prelude::*;

use super::{Held, catalog, error_body, every_error_body, paging_links};

/// Runs `entry` over the corpus of a fuzz target, and says how many files it has.
fn corpus(target: &str, entry: fn(&[u8]) -> Held) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut read = 0;
    for file in std::fs::read_dir(&corpus).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        // Every beginning is an answer that was cut off.
        for end in 0..=bytes.len() {
            assert_eq!(entry(&bytes[..end]), Ok(()), "the first {end} bytes of {}", path.display());
        }
        read += 1;
    }
    read
}

#[test]
fn the_corpus_of_catalogs_is_read() {
    assert!(corpus("catalog", catalog) >= 3);
}

#[test]
fn the_corpus_of_pages_and_links_is_read() {
    assert!(corpus("paging_links", paging_links) >= 3);
}

#[test]
fn the_corpus_of_error_bodies_is_read() {
    assert!(corpus("error_body", error_body) >= 6);
    // Each begins with the choice of a service and a status.
    assert!(corpus("error_body", |bytes| every_error_body(bytes.get(1..).unwrap_or_default())) >= 6);
}

/// Bytes by chance, and texts made of the pieces that the readers look for, which chance alone would never find.
fn anything() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: [&str; 32] = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "null",
        "\\u0000",
        "\\n",
        "1",
        "\"type\"",
        "\"compute\"",
        "\"endpoints\"",
        "\"url\"",
        "\"http://h/v2.1\"",
        "\"interface\"",
        "\"public\"",
        "\"servers\"",
        "\"servers_links\"",
        "\"rel\"",
        "\"next\"",
        "\"href\"",
        "\"?marker=%00\"",
        "\"error\"",
        "\"message\"",
        "\"code\"",
        "\"faultstring\"",
        "\"NeutronError\"",
        "<html><title>",
        "</title>",
        "\n",
    ];
    let pieces = prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..40);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        pieces.prop_map(|pieces| pieces.concat().into_bytes())
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_of_catalogs_panic(bytes in anything()) {
        prop_assert_eq!(catalog(&bytes), Ok(()));
    }

    #[test]
    fn no_bytes_make_the_reader_of_links_panic(bytes in anything()) {
        prop_assert_eq!(paging_links(&bytes), Ok(()));
    }

    #[test]
    fn no_bytes_make_the_reader_of_errors_panic(bytes in anything()) {
        prop_assert_eq!(every_error_body(&bytes), Ok(()));
    }

    #[test]
    fn no_kind_of_service_in_a_catalog_breaks_the_line_of_a_log(kind: String, region: String) {
        let endpoint = serde_json::json!({"interface": "admin", "region": region, "url": kind});
        let raw = serde_json::json!([{"type": kind, "endpoints": [endpoint]}, {"type": "compute", "endpoints": [endpoint]}]);
        prop_assert_eq!(catalog(raw.to_string().as_bytes()), Ok(()));
    }
}
