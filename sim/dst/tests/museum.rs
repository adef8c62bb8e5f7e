//! Every piece of the museum is found, by a rule by which it should be; and the same runs without it are sound.

use dst::museum::{Piece, hunt, is_sound_without, score};

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

#[test]
fn every_piece_is_found_and_nothing_is_found_without_it() {
    let findings = score(threads());
    for finding in &findings {
        println!("{finding}");
    }
    let missed: Vec<_> = findings.iter().filter(|finding| !finding.is_right()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// One piece by name, told as a story: `PIECE=NoBrake cargo test -p dst --test museum story -- --nocapture`.
#[test]
fn story() {
    let Ok(name) = std::env::var("PIECE") else { return };
    let piece = Piece::ALL.into_iter().find(|piece| format!("{piece:?}") == name).expect("a piece of that name");
    let seed = std::env::var("SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let case = if std::env::var("WITHOUT").is_ok() { dst::museum::case(piece, seed) } else { piece.case(seed) };
    let report = dst::run(&case);
    println!("{}", report.story());
    println!("{:?}", report.counts);
    let _both = (hunt, is_sound_without);
}
