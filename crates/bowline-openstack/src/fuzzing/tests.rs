//! What the fuzzer does, in a small way: its corpus, and seeds.

use std::path::Path;

use super::*;

fn corpus(target: &str, entry: fn(&[u8]) -> Held) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files: Vec<_> = std::fs::read_dir(&corpus).unwrap().collect();
    assert!(files.len() >= 3, "{}", corpus.display());
    for file in files {
        let path = file.unwrap().path();
        assert_eq!(entry(&std::fs::read(&path).unwrap()), Ok(()), "{}", path.display());
    }
}

#[test]
fn the_corpora_hold() {
    corpus("provider_id", provider_id);
    corpus("annotations", annotations);
    corpus("plan", plan);
}

#[test]
fn every_provider_id_is_written_as_it_was_read() {
    const PIECES: [&str; 12] = [
        "openstack",
        "://",
        "/",
        ":",
        "RegionOne",
        "7b9cf879-7146-417c-abfd-cb4272f0c935",
        "?",
        "%2F",
        " ",
        "ß",
        "\0",
        "..",
    ];
    seeds::run("provider_id", 5_000, |bytes| {
        let mut choices = Choices::new(bytes);
        let pieces: Vec<&str> = (0..choices.below(8)).map(|_piece| choices.of(&PIECES)).collect();
        provider_id(pieces.concat().as_bytes()).and_then(|()| provider_id(&bytes[..bytes.len() / 32]))
    });
}

#[test]
fn every_service_is_understood_or_told_why_not() {
    seeds::run("annotations", 400, annotations);
}

#[test]
fn every_plan_keeps_to_what_is_ours_and_does_not_depend_on_the_order_of_things() {
    seeds::run("plan", 10_000, plan);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_others_give_others() {
    assert_eq!(bytes(7), bytes(7));
    assert_ne!(bytes(7), bytes(8));
}
