//! Patterns and tags as users of OCCM write them.

use super::*;

#[test]
fn a_pattern_fits_whole_names() {
    for (pattern, name, fits) in [
        ("public", "public", true),
        ("public", "public2", false),
        ("public*", "public-a", true),
        ("public*", "public/a", false),
        ("public-?", "public-a", true),
        ("public-?", "public-", false),
        ("public-{a,b}", "public-b", true),
        ("public-{a,b}", "public-c", false),
        ("{a,ab}", "ab", true),
        ("a,b", "a,b", true),
        ("public-[a-c]", "public-b", true),
        ("public-[a-c]", "public-d", false),
        ("**/leaf", "some/where/leaf", true),
        ("**/leaf", "leaf", true),
        ("a.b", "axb", false),
        ("a(b)+$^|=", "a(b)+$^|=", true),
        ("!public*", "public-a", false),
        ("!public*", "private", true),
        ("~pub.*", "public", true),
        ("~pub", "public", false),
        ("~a|ab", "ab", false),
        ("!~pub.*", "public", false),
        ("!~pub.*", "private", true),
    ] {
        assert_eq!(NamePattern::parse(pattern).unwrap().fits(name), fits, "{pattern} {name}");
    }
}

#[test]
fn what_is_no_pattern_is_refused() {
    for pattern in ["~(", "~[", "!~*", "public-[", "public-{a"] {
        assert!(NamePattern::parse(pattern).is_none(), "{pattern}");
    }
}

#[test]
fn tags_ask_for_any_all_none_or_not_all() {
    let two = || vec!["a".to_owned(), "b".to_owned()];
    let none = TagFilter::default;
    assert_eq!(tags("a,b"), Some(TagFilter { any: two(), ..none() }));
    assert_eq!(tags("& a, b"), Some(TagFilter { all: two(), ..none() }));
    assert_eq!(tags("!a, b "), Some(TagFilter { not_any: two(), ..none() }));
    assert_eq!(tags("!&a,,b"), Some(TagFilter { not_all: two(), ..none() }));
    assert_eq!(tags("a b").unwrap().any, ["a b"], "a tag may have blanks inside");
    for wrong in ["!", "&", "!&", " , "] {
        assert_eq!(tags(wrong), None, "{wrong:?}");
    }
}
