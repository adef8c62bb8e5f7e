//! Every piece of the museum is found, by a rule by which it should be; and the same runs without it are sound.

use dst::museum::{Piece, each_piece, hunt, is_sound_without};

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// What is wrong with a piece: it is not found, or something is found without it.
fn wrong(piece: Piece) -> Option<String> {
    let began = std::time::Instant::now();
    let finding = hunt(piece);
    println!("{piece:?}: {finding} in {:.1} s", began.elapsed().as_secs_f64());
    let what =
        finding.found.as_ref().map(|(_, violation)| violation.what.chars().take(200).collect::<String>());
    println!("    {}", what.unwrap_or_default());
    if !finding.is_right() {
        return Some(format!("{piece:?}: {finding:?}"));
    }
    let seeds = finding.found.map_or(1, |(seeds, _)| seeds);
    let unsound = is_sound_without(piece, seeds)?;
    Some(format!("{piece:?}: not sound without it either: {:?}", unsound.violations))
}

#[test]
fn every_piece_is_found_and_nothing_is_found_without_it() {
    let chosen = std::env::var("PIECES").ok();
    let is_chosen = |piece: Piece| {
        chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|one| one == format!("{piece:?}")))
    };
    let wrong: Vec<String> = each_piece(threads(), |piece| {
        let wrong = is_chosen(piece).then(|| wrong(piece)).flatten();
        if let Some(wrong) = &wrong {
            println!("WRONG {wrong}");
        }
        wrong
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One piece by name, told as a story: `PIECE=NoBrake cargo test -p dst --test museum story -- --nocapture`.
#[test]
fn story() {
    let Ok(name) = std::env::var("PIECE") else { return };
    let piece =
        Piece::ALL.into_iter().find(|piece| format!("{piece:?}") == name).expect("a piece of that name");
    let seed = std::env::var("SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let case =
        if std::env::var("WITHOUT").is_ok() { dst::museum::case(piece, seed) } else { piece.case(seed) };
    let report = dst::run(&case);
    println!("{}", report.story());
    if std::env::var("ALL").is_ok() {
        for line in report.trace.lines() {
            println!("{line:?}");
        }
    }
    println!("{:?}", report.counts);
}
