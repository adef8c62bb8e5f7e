//! Names compared without regard to case, as Go's simple folding does. Pure.

/// Whether a written name is this known one. Known names are ASCII; two letters beyond ASCII fold into it.
#[must_use]
pub fn equal_fold(written: &str, known: &str) -> bool {
    written.chars().map(folded).eq(known.chars().map(folded))
}

fn folded(c: char) -> char {
    match c {
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        other => other.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_matter_and_dashes_do() {
        assert!(equal_fold("AUTH-Url", "auth-url"));
        assert!(equal_fold("networ\u{212a}ing", "Networking"));
        assert!(equal_fold("reque\u{17f}t-timeout", "request-timeout"));
        assert!(!equal_fold("authurl", "auth-url"));
        assert!(!equal_fold("reg\u{131}on", "region"));
    }
}
