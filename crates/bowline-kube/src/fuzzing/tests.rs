//! What the fuzzer does, in a small way: its corpus, every beginning of it, lines that are mixed, and bytes by chance.

use std::path::Path;

use proptest::prelude::*;

use super::watch_frames;

#[test]
fn the_corpus_of_frames_is_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/watch_frames");
    let mut read = 0;
    for file in std::fs::read_dir(&corpus).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for end in (0..bytes.len()).step_by(17).chain([bytes.len()]) {
            assert_eq!(watch_frames(&bytes[..end]), Ok(()), "the first {end} bytes of {}", path.display());
        }
        read += 1;
    }
    assert!(read >= 4, "{read}");
}

#[test]
fn half_an_event_in_the_midst_of_others_is_not_passed_over() {
    let lost = "1{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\",\n\
                {\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"b\",\"namespace\":\"shop\",\"resourceVersion\":\"12\"}}}\n";
    assert_eq!(watch_frames(lost.as_bytes()), Ok(()));
}

#[test]
fn half_an_event_at_the_end_is_asked_for_again_also_if_it_ends_in_a_carriage_return() {
    let cut = "1{\"typound while parsing a string at line 1 column 10\r";
    assert_eq!(watch_frames(cut.as_bytes()), Ok(()));
}

#[test]
fn a_bookmark_without_a_version_leads_to_a_list() {
    let nowhere = "1{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"\"}}}\n";
    assert_eq!(watch_frames(nowhere.as_bytes()), Ok(()));
}

/// Lines of a watch, right and wrong, and pieces of lines.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let object = |name: &str, version: &str| {
        format!(
            "{{\"metadata\":{{\"name\":\"{name}\",\"namespace\":\"shop\",\"resourceVersion\":\"{version}\"}}}}"
        )
    };
    let event = |kind: &str, object: &str| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
    let status = "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410,\"reason\":\"Expired\",\"message\":\"old\"}";
    let whole = vec![
        event("ADDED", &object("c", "11")),
        event("MODIFIED", &object("a", "12")),
        event("DELETED", &object("b", "13")),
        event("DELETED", &object("never", "13")),
        event("BOOKMARK", &object("", "14")),
        event("BOOKMARK", &object("", "")),
        event("ADDED", &object("d", "")),
        event("ADDED", "{\"metadata\":{\"resourceVersion\":\"15\"}}"),
        event(
            "ADDED",
            "{\"metadata\":{\"name\":\"e\",\"resourceVersion\":\"16\"},\"spec\":{\"clusterIP\":7}}",
        ),
        event("ADDED", "{\"metadata\":{\"name\":\"e\",\"name\":\"f\",\"resourceVersion\":\"16\"}}"),
        event("ADDED", "null"),
        event("SYNCED", &object("a", "17")),
        event("ERROR", status),
        event("ERROR", "{}"),
        format!("{status}\n"),
        "\n".to_owned(),
        "\r\n".to_owned(),
        "<html>\n".to_owned(),
        "tru\n".to_owned(),
        "\u{feff}{}\n".to_owned(),
    ];
    let piece = (prop::sample::select(whole), 0_usize..4, any::<prop::sample::Index>(), any::<u8>());
    let piece = piece.prop_map(|(line, what, at, byte)| {
        let mut line = line.into_bytes();
        let at = at.index(line.len());
        match what {
            0 => line.truncate(at),
            1 => line[at] = byte,
            _ => {}
        }
        line
    });
    prop::collection::vec(piece, 0..6).prop_map(|pieces| [b"1".to_vec(), pieces.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_frames_make_a_wrong_picture(bytes in lines()) {
        prop_assert_eq!(watch_frames(&bytes), Ok(()));
    }

    #[test]
    fn no_bytes_make_a_wrong_picture(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(watch_frames(&bytes), Ok(()));
    }
}
