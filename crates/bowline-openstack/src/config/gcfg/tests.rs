//! The format by example. What gcfg itself says about each rule is in `golden`.

use super::*;

fn entries(text: &str) -> Vec<(String, Option<String>)> {
    let document = parse(text);
    assert_eq!(document.errors(), [], "{text}");
    let entry = |item: &Item| match &item.kind {
        ItemKind::Entry(entry) => {
            Some((entry.key.clone(), entry.value.as_ref().map(|value| value.text.to_string())))
        }
        _ => None,
    };
    document.items().iter().filter_map(entry).collect()
}

fn value(written: &str) -> String {
    let entries = entries(&format!("[s]\nkey={written}\n"));
    assert_eq!(entries.len(), 1, "{written}");
    entries[0].1.clone().unwrap()
}

fn error(text: &str) -> (String, Syntax, Option<String>) {
    let document = parse(text);
    assert_eq!(document.errors().len(), 1, "{text}: {:?}", document.errors());
    let SyntaxError { position, key, problem } = document.errors()[0].clone();
    (position.to_string(), problem, key)
}

#[test]
fn values_are_trimmed_unquoted_and_continued() {
    for (written, wanted) in [
        ("", ""),
        (" \t a  b \t ", "a  b"),
        ("a # b", "a"),
        ("a;b", "a"),
        ("\"a # b\"", "a # b"),
        ("a\"b c\"d", "ab cd"),
        ("\"  a \" ", "  a "),
        ("\"\\\\ \\\" \\n \\t\"", "\\ \" \n \t"),
        ("a\\\"b", "a\"b"),
        ("a\\\n  b", "a  b"),
        ("a\\\r\nb\r", "ab"),
        ("'a'", "'a'"),
        ("a=b", "a=b"),
        ("größe", "größe"),
    ] {
        assert_eq!(value(written), wanted, "{written:?}");
    }
}

#[test]
fn a_key_alone_is_not_the_same_as_an_empty_value() {
    assert_eq!(
        entries("[s]\na\nb=\nc # x\nd"),
        [
            ("a".to_owned(), None),
            ("b".to_owned(), Some(String::new())),
            ("c".to_owned(), None),
            ("d".to_owned(), None)
        ]
    );
}

#[test]
fn headers_have_names_and_perhaps_sub_sections() {
    for (text, name, subsection) in [
        ("[Global]", "Global", None),
        (" [ \tGlobal\t] # c", "Global", None),
        ("[a \"b\"]", "a", Some("b")),
        ("[a\"b\"]", "a", Some("b")),
        ("[a \"b\\\\c\\\"d]#;\"]", "a", Some("b\\c\"d]#;")),
        ("[größe-1]", "größe-1", None),
    ] {
        let document = parse(text);
        let [Item { kind: ItemKind::Section(section), .. }] = document.items() else {
            panic!("{text}: {document:?}")
        };
        assert_eq!((section.name.as_str(), section.subsection.as_deref()), (name, subsection), "{text}");
    }
}

#[test]
fn every_error_says_where_what_and_which_key() {
    for (text, at, problem, key) in [
        ("\u{feff}[s]\n", "1:1", Syntax::ByteOrderMark, None),
        ("a=b\n", "1:1", Syntax::NoSection, Some("a")),
        ("[s]\n a = \"b\n", "2:6", Syntax::NotTerminated, Some("a")),
        ("[s]\na = \"b\\x\"\n", "2:8", Syntax::UnknownEscape, Some("a")),
        ("[s]\na = b\\c\n", "2:5", Syntax::LoneBackslash, Some("a")),
        ("[s]\na_b = c\n", "2:2", Syntax::IllegalCharacter('_'), Some("a")),
        ("[s]\na b\n", "2:3", Syntax::NoAssignment, Some("a")),
        ("[s]\n=\n", "2:1", Syntax::NoDeclaration, None),
        ("[s]\na = \0\n", "2:5", Syntax::Nul, Some("a")),
        ("# ä\0\n", "1:4", Syntax::Nul, None),
        ("[]\n", "1:2", Syntax::NoSectionName, None),
        ("[a.b]\n", "1:3", Syntax::IllegalCharacter('.'), None),
        ("[a b]\n", "1:4", Syntax::NoBracketOrSubsection, None),
        ("[a \"b\"\n", "1:7", Syntax::NoBracket, None),
        ("[a \"\"]\n", "1:4", Syntax::EmptySubsection, None),
        ("[a \"b\n", "1:4", Syntax::NotTerminated, None),
        ("[a \"\\n\"]\n", "1:6", Syntax::UnknownEscape, None),
        ("[a] b\n", "1:5", Syntax::NoLineEnd, None),
    ] {
        assert_eq!(error(text), (at.to_owned(), problem, key.map(str::to_owned)), "{text:?}");
    }
}

#[test]
fn reading_goes_on_after_a_wrong_line() {
    let document = parse("[s]\na_b=1\nc=2\nd=\"3\ne=4\n");
    let lines: Vec<usize> = document.errors().iter().map(|error| error.position.line).collect();
    assert_eq!(lines, [2, 4]);
    let entries = document.items().iter().filter(|item| matches!(item.kind, ItemKind::Entry(_)));
    assert_eq!(entries.count(), 2);
}

#[test]
fn keys_below_a_wrong_header_belong_to_nobody() {
    let document = parse("[s]\na=1\n[t.u]\nb=2\n[v]\nc=3\n");
    let kinds: Vec<&str> = document
        .items()
        .iter()
        .map(|item| match &item.kind {
            ItemKind::Blank => "blank",
            ItemKind::Section(_) => "section",
            ItemKind::Entry(_) => "entry",
            ItemKind::Homeless(_) => "homeless",
            ItemKind::Broken => "broken",
        })
        .collect();
    assert_eq!(kinds, ["section", "entry", "broken", "homeless", "section", "entry"]);
}

#[test]
fn a_comment_right_behind_a_value_is_noticed() {
    let touches = |text: &str| match &parse(&format!("[s]\n{text}\n")).items()[1].kind {
        ItemKind::Entry(entry) => entry.value.as_ref().unwrap().touches_comment,
        other => panic!("{other:?}"),
    };
    for (text, wanted) in
        [("a=b#c", true), ("a=\"b\";c", true), ("a=b #c", false), ("a=#c", false), ("a=b", false)]
    {
        assert_eq!(touches(text), wanted, "{text}");
    }
}

#[test]
fn bytes_that_are_no_text_are_told_with_their_place() {
    let error = text_of(b"[Global]\nusername=a\xffb\n").unwrap_err();
    assert_eq!((error.position.to_string().as_str(), error.problem), ("2:11", Syntax::NotUtf8));
}

#[test]
fn no_debug_shows_a_value() {
    let document = parse("[Global]\npassword = hunter2\n# hunter2\n");
    assert!(!format!("{document:?}").contains("hunter2"));
}
