//! The expressions of the policy, in CEL.
//!
//! `variables.said` are the keys whose values are judged: not empty, and not the same before. Regular expressions are RE2's.

use crate::loadbalancer::annotations::{
    ANNOTATIONS, Kind, LONGEST_TEXT_CHARS, PROXY_PROTOCOL, X_FORWARDED_FOR,
};
use crate::loadbalancer::intent::{ProxyProtocol, node_selector};
use crate::loadbalancer::subnet_choice;

/// The Services that the controller gives a load balancer.
pub(in crate::loadbalancer) const MATCHES: &str =
    r#"object.spec.type == "LoadBalancer" && !has(object.spec.loadBalancerClass)"#;

/// Nothing is wrong.
pub(super) const ACCEPTS: &str = "size(variables.wrong) == 0 && !variables.exclusive";

/// The value of the annotation that is being judged.
const VALUE: &str = "variables.annotations[key]";
/// What Rust trims: `White_Space`, inside of a class.
const BLANK: &str = r"\t-\r\x{85}\p{Z}";
/// The most letters of a value that are shown: as many as the controller shows bytes.
const SHOWN: usize = 128;

/// Whether the policy judges all values of a kind as the controller does.
///
/// It does not know the classes of cloud.conf nor its `container-store`, without which any text that is not too long may be a
/// certificate; CEL cannot tell whether a text is a regular expression; and networks the API server judges itself.
#[must_use]
pub fn judges(kind: Kind) -> bool {
    kind != Kind::Certificate && wrong(kind).is_some()
}

/// Whether the policy refuses any value of a kind.
pub(super) fn refuses(kind: Kind) -> bool {
    wrong(kind).is_some()
}

/// When a value of a kind is wrong.
fn wrong(kind: Kind) -> Option<String> {
    match kind {
        Kind::Flag => Some(format!("!({VALUE} in {})", list(&["true", "false"]))),
        Kind::Word(words) => Some(format!("!({VALUE} in {})", list(words))),
        // No limit has more than 18 digits, and so many always fit into the integers of CEL.
        Kind::Number { least, most, .. } => Some(format!(
            "!({VALUE}.matches(r'^[+-]?0*[0-9]{{1,18}}$') && int({VALUE}) >= {least} && int({VALUE}) <= {most})"
        )),
        Kind::Duration { most } => Some(format!(
            "!({VALUE}.matches(r'^[+-]?(0|({})+)$') && duration({VALUE}) >= duration(\"0\") && \
             duration({VALUE}) <= duration(\"{most}s\"))",
            time()
        )),
        Kind::Id => Some(format!(
            "(!{VALUE}.matches(r'^[!\"$&-.0->@-\\[\\]-~]{{1,255}}$') || {VALUE} in {})",
            list(&[".", ".."])
        )),
        // Sizes are in characters here and in bytes there, so nothing is refused that the controller accepts.
        Kind::Tags => Some(format!(
            "(size({VALUE}) > {} || {VALUE}.matches(r'^!?&?[{BLANK},]*$'))",
            subnet_choice::LONGEST_TEXT_BYTES
        )),
        Kind::Selector => Some(format!(
            "(size({VALUE}) > {} || {VALUE}.matches(r'(^|,)[{BLANK}]*='))",
            node_selector::LONGEST_TEXT_BYTES
        )),
        Kind::ShortText | Kind::Certificate => Some(format!("size({VALUE}) > {LONGEST_TEXT_CHARS}")),
        // The API server's own function does not take IPv4 addresses that are written as IPv6; the controller does.
        Kind::Address => Some(format!("!isIP({VALUE}) && !{VALUE}.matches(r'(?i)^[0:]*ffff:')")),
        Kind::Text | Kind::ExtraTags | Kind::Class | Kind::NamePattern | Kind::Networks => None,
    }
}

/// A time as Go writes it, with no more digits than a day has: more of them are too much for CEL, or for the row.
fn time() -> String {
    let units =
        [("ns", 14), ("us", 11), ("\u{b5}s", 11), ("\u{3bc}s", 11), ("ms", 8), ("s", 5), ("m", 4), ("h", 2)];
    let part = |(unit, digits)| format!("(0*[0-9]{{1,{digits}}}([.][0-9]*)?|[.][0-9]+){unit}");
    units.map(part).join("|")
}

/// The annotations that the Service has, and those that it had.
pub(super) fn annotations_now_and_before() -> Vec<(&'static str, String)> {
    // A Service that becomes a load balancer is judged like a new one: only now do its annotations count.
    let before = format!(
        "oldObject != null && {} && has(oldObject.metadata.annotations) ?\noldObject.metadata.annotations : {{}}",
        MATCHES.replace("object.", "oldObject.")
    );
    vec![
        ("annotations", "has(object.metadata.annotations) ? object.metadata.annotations : {}".to_owned()),
        ("before", before),
    ]
}

/// The variables in the order in which they need each other.
pub(super) fn variables() -> Vec<(&'static str, String)> {
    let said = format!(
        "variables.annotations.filter(key, {VALUE} != \"\" &&\n\
         !(key in variables.before && variables.before[key] == {VALUE}))"
    );
    let judged = [("said", said), ("wrong", wrong_pairs()), ("exclusive", exclusive())];
    annotations_now_and_before().into_iter().chain(judged).collect()
}

/// A list of all wrong keys, each with what it accepts. Rows of the same kind share a line.
fn wrong_pairs() -> String {
    let mut kinds: Vec<Kind> = Vec::new();
    for row in ANNOTATIONS {
        if refuses(row.kind) && !kinds.contains(&row.kind) {
            kinds.push(row.kind);
        }
    }
    let lists = kinds.into_iter().filter_map(|kind| {
        let keys: Vec<_> = ANNOTATIONS.iter().filter(|row| row.kind == kind).map(|row| row.key).collect();
        let (keys, wrong, accepted) =
            (list(&keys).replace(", ", ",\n  "), wrong(kind)?, quoted(&kind.accepted()));
        Some(format!("variables.said.map(key, key in {keys} &&\n  {wrong},\n  [string(key), {accepted}])"))
    });
    lists.collect::<Vec<_>>().join(" +\n")
}

/// Two annotations of which one at most may be on, if one of them was touched.
fn exclusive() -> String {
    let Kind::Word(words) = PROXY_PROTOCOL.kind else { return "false".to_owned() };
    let on: Vec<_> = words.iter().copied().filter(|word| ProxyProtocol::asked(word).is_some()).collect();
    let (proxy, forwarded) = (quoted(PROXY_PROTOCOL.key), quoted(X_FORWARDED_FOR.key));
    format!(
        "{proxy} in variables.annotations && variables.annotations[{proxy}] in {} &&\n\
         {forwarded} in variables.annotations && variables.annotations[{forwarded}] == \"true\" &&\n\
         ({proxy} in variables.said || {forwarded} in variables.said)",
        list(&on)
    )
}

/// All that is wrong, in one line: the API server shows no message that has several.
pub(super) fn message() -> String {
    let shown = shown("variables.annotations[pair[0]]");
    let (one, other) = (PROXY_PROTOCOL.key, X_FORWARDED_FOR.key);
    let exclusive = quoted(&format!("annotations {one} and {other} exclude each other; remove one of them"));
    format!(
        "(variables.wrong.map(pair, \"annotation \" + pair[0] + \" is \\\"\" +\n\
         {shown} +\n\
         \"\\\"; accepted: \" + pair[1]) +\n\
         (variables.exclusive ? [{exclusive}] : [])).join(\"; \")"
    )
}

/// A value as messages show it: in one line, and no more of it than one can read.
pub(in crate::loadbalancer) fn shown(value: &str) -> String {
    format!(
        "(size({value}) > {SHOWN} ? {value}.substring(0, {SHOWN}) + \"...\" : {value}).replace(\"\\n\", \" \")"
    )
}

/// A list of texts.
pub(super) fn list(texts: &[&str]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// A text between quotes.
pub(in crate::loadbalancer) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}
