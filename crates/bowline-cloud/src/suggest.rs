//! "Did you mean": the nearest known name, for flags and for keys of configuration. Pure.

/// The candidate nearest to what was written, if it is near enough to be a slip of the fingers.
#[must_use]
pub fn nearest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (written.chars().count() / 3).clamp(1, 4);
    let written = written.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&written, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// A sentence end such as `; did you mean --profiling?`, or nothing.
#[must_use]
pub fn hint<'a>(written: &str, prefix: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(written, candidates).map(|name| format!("; did you mean {prefix}{name}?")).unwrap_or_default()
}

/// Edits (insert, delete, replace) between two texts.
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
}
