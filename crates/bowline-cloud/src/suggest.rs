//! "Did you mean": the nearest known name, for flags and for keys of configuration. Pure.

/// Texts longer than this, in bytes, are not compared: they are not misspellings of a known name.
const LONGEST_BYTES: usize = 128;

/// The candidate nearest to `written`, or `None` if no candidate is similar enough for a misspelling.
///
/// Users of a namespace can choose the text, so the work is bounded: a text of more than 128 bytes is not compared at all, and a candidate
/// only if its length is similar enough.
#[must_use]
pub fn nearest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_by(written, candidates, distance)
}

fn nearest_by<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    mut distance: impl FnMut(&str, &str) -> usize,
) -> Option<&'a str> {
    if written.len() > LONGEST_BYTES {
        return None;
    }
    let length = written.chars().count();
    let limit = (length / 3).clamp(1, 4);
    let written = written.to_ascii_lowercase();
    candidates
        .into_iter()
        // The difference in length is a lower bound of the distance.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= limit)
        .map(|candidate| (distance(&written, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The end of a sentence, such as `; did you mean --profiling?`, or an empty string.
#[must_use]
pub fn hint<'a>(written: &str, prefix: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, candidates).map(|name| format!("; did you mean {prefix}{name}?")).unwrap_or_default()
}

/// The edit distance (insertions, deletions, replacements) between two texts.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (above, from_char) in from.chars().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        let mut next = vec![left];
        for (to_char, up) in to.chars().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(from_char != to_char)).min(left + 1).min(up + 1);
            diagonal = *up;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_edits() {
        for (from, to, edits) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("abc", "abc", 0)]
        {
            assert_eq!(distance(from, to), edits, "{from} {to}");
            assert_eq!(distance(to, from), edits, "{to} {from}");
        }
    }

    #[test]
    fn only_a_near_name_is_offered() {
        let names = ["profiling", "cloud-provider", "cloud-config"];
        assert_eq!(nearest("profilin", names), Some("profiling"));
        assert_eq!(nearest("Cloud-Provder", names), Some("cloud-provider"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(hint("profilin", "--", names), "; did you mean --profiling?");
    }

    #[test]
    fn only_short_texts_are_compared_and_only_with_candidates_of_similar_length() {
        let names = ["profiling", "cloud-provider", "cloud-config"];
        let comparisons = |written: &str| {
            let mut count = 0;
            nearest_by(written, names, |_written, _candidate| {
                count += 1;
                usize::MAX
            });
            count
        };
        assert_eq!(comparisons("profilin"), 1, "the others are longer by more than the limit");
        assert_eq!(comparisons("cloud-provider2"), 2);
        for long in ["x".repeat(LONGEST_BYTES + 1), "\u{1f600}".repeat(LONGEST_BYTES), "x".repeat(1 << 20)] {
            assert_eq!(comparisons(&long), 0, "{} bytes", long.len());
        }
        assert_eq!(comparisons(&"\u{e9}".repeat(15)), 2, "characters count, not bytes");
    }
}
