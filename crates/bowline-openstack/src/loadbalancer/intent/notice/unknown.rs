//! Annotations with our prefix that no row of the table knows. A namespace user may write thousands of them, so the notices and the
//! search for similar names are bounded.

use super::IGNORED;
use super::Notice;
use crate::loadbalancer::annotations::{PREFIX, clipped};

/// Unknown keys that get a notice of their own. One more notice counts the others.
const MOST_KEYS: usize = 5;

/// The notices about unknown keys: one for each of the first five, and one that counts the rest.
///
/// `suggest` compares a key with every known one. It is called for those five at most; the other keys cost one lookup each.
pub(super) fn notices<'a>(
    keys: impl Iterator<Item = &'a str>,
    is_known: impl Fn(&str) -> bool,
    mut suggest: impl FnMut(&str) -> String,
) -> Vec<Notice> {
    let mut unknown = keys.filter(|key| key.starts_with(PREFIX) && !is_known(key));
    let mut notices: Vec<Notice> = unknown
        .by_ref()
        .take(MOST_KEYS)
        .map(|key| {
            let message = format!("annotation {} is not known{}", clipped(key), suggest(key));
            Notice { reason: IGNORED, message }
        })
        .collect();
    let more = unknown.count();
    if more > 0 {
        let message = format!("and {more} more annotations that begin with {PREFIX} are not known");
        notices.push(Notice { reason: IGNORED, message });
    }
    notices
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many keys as fit into the 256 KiB that the API server allows for the annotations of one object.
    const ATTACK: usize = 7_939;

    /// The notices for `keys`, and how many of them were compared with the known ones.
    fn told(keys: &[String]) -> (Vec<Notice>, usize) {
        let mut compared = 0;
        let notices = notices(
            keys.iter().map(String::as_str),
            |key| key.ends_with("/known"),
            |_key| {
                compared += 1;
                "; did you mean x?".to_owned()
            },
        );
        (notices, compared)
    }

    #[test]
    fn thousands_of_unknown_keys_cost_five_comparisons_and_six_notices() {
        let short: Vec<String> = (0..ATTACK).map(|n| format!("{PREFIX}{n:04}")).collect();
        let long: Vec<String> = (0..ATTACK).map(|n| format!("{PREFIX}{n:04}{}", "x".repeat(5_000))).collect();
        let wide: Vec<String> =
            (0..ATTACK).map(|n| format!("{PREFIX}{n:04}{}", "\u{1f600}".repeat(500))).collect();
        for keys in [short, long, wide] {
            let (notices, compared) = told(&keys);
            assert_eq!((notices.len(), compared), (6, 5));
            let last = &notices[5].message;
            assert!(last.starts_with("and 7934 more annotations"), "{last}");
            for notice in &notices {
                assert!(notice.message.len() < 256, "{}", notice.message);
            }
        }
    }

    #[test]
    fn a_few_unknown_keys_are_told_without_a_count() {
        let keys = ["a/b", "loadbalancer.openstack.org/known", "loadbalancer.openstack.org/new"];
        let (notices, compared) = told(&keys.map(str::to_owned));
        assert_eq!(compared, 1);
        let messages: Vec<_> = notices.iter().map(|notice| notice.message.as_str()).collect();
        assert_eq!(messages, ["annotation loadbalancer.openstack.org/new is not known; did you mean x?"]);
    }
}
