//! Whatever the bytes are: no panic, and the text comes back.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::config::read_anything;

/// Pieces that the format has a meaning for, so that random texts are not only noise.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("[Global]\n".to_owned()),
        Just("[LoadBalancerClass \"a\"]\n".to_owned()),
        prop::sample::select(vec![
            "[",
            "]",
            "\"",
            "\\",
            "=",
            "\n",
            "\r\n",
            "\r",
            "#",
            ";",
            " ",
            "\t",
            "\\\n",
            "\\\"",
            "\\n",
            "\0",
            "\u{feff}",
            "ß",
            "password",
            "enabled",
            "monitor-delay=5s",
            "public-network-name",
            "0x",
            "1h",
            "-",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_text_prints_as_it_was(text in text()) {
        prop_assert_eq!(parse(&text).to_string(), text);
    }

    #[test]
    fn the_lines_follow_each_other_without_gaps(text in text()) {
        let mut at = 0;
        for item in parse(&text).items() {
            prop_assert_eq!(item.span.start, at);
            prop_assert!(item.span.end > at);
            at = item.span.end;
        }
        prop_assert_eq!(at, text.len());
    }

    #[test]
    fn every_broken_line_has_one_error_in_it(text in text()) {
        let document = parse(&text);
        let broken = document.items().iter().filter(|item| item.kind == ItemKind::Broken).count();
        prop_assert_eq!(broken, document.errors().len());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(read_anything(&bytes), Ok(()));
    }

    #[test]
    fn no_text_makes_it_panic(text in text()) {
        prop_assert_eq!(read_anything(text.as_bytes()), Ok(()));
    }

    #[test]
    fn a_quoted_value_comes_back(value in any::<String>()) {
        prop_assume!(!value.contains(['\0', '\r']));
        let quoted = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let document = parse(&format!("[Global]\nkey = \"{quoted}\" # c\n"));
        let found = document.items().iter().find_map(|item| match &item.kind {
            ItemKind::Entry(entry) => entry.value.as_ref().map(|value| value.text.to_string()),
            _ => None,
        });
        prop_assert_eq!(found, Some(value));
    }
}

#[test]
fn the_corpus_of_the_fuzzer_is_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/cloud_conf");
    let mut read = 0;
    for file in std::fs::read_dir(&corpus).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        // Every beginning of a file is a file that somebody is just writing.
        for end in 0..=bytes.len() {
            assert_eq!(read_anything(&bytes[..end]), Ok(()));
        }
        read += 1;
    }
    assert!(read >= 4, "{read}");
}
