//! Extracts the objects from the body of a list response while it arrives, one at a time, and passes the rest of the response to kube.
//!
//! kube holds a response in memory twice before it parses it: 500 nodes of 16 kB are 16 MB, of which 0.4 MB are kept. This module holds one
//! object at a time. The rest of the response has the same keys and an empty array, so kube reads the resource version and the continue
//! token as usual. A response that is not a well-formed list from its first byte to its last is refused, here or by kube.

use std::str::{Utf8Error, from_utf8};

use thiserror::Error;

use super::brackets::Brackets;

/// The JSON field with the objects of a list.
const FIELD: &[u8] = b"items";
/// The bracket depth inside the array, and inside an object of the array.
const ARRAY: usize = 2;
const OBJECT: usize = 3;
/// The longest object that is accepted. etcd's default limit is 1.5 MB; some clusters raise it to a few MB.
const LONGEST_OBJECT_BYTES: usize = 16 << 20;

/// Why a list was refused.
#[derive(Debug, Error)]
pub(super) enum BrokenList {
    #[error(
        "the API server, or what is in front of it, sent a list in which something other than an object stands"
    )]
    NoObject,
    #[error("the API server sent an object of more than {} MiB in a list", LONGEST_OBJECT_BYTES >> 20)]
    TooLong,
    #[error("the API server sent a list with an object that is no text: {0}")]
    NoText(#[from] Utf8Error),
    /// The message contains no value: serde's own message quotes the value that does not fit, which may be a secret.
    #[error(
        "the API server sent a list with an object that cannot be read, at its line {line}, column {column}"
    )]
    Unreadable { line: usize, column: usize },
}

impl From<serde_json::Error> for BrokenList {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable { line: error.line(), column: error.column() }
    }
}

/// The position in the response.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    /// In the array, before its first object.
    Begin,
    Object,
    BehindObject,
    BehindComma,
}

/// The state of reading one response.
#[derive(Debug, Default)]
pub(super) struct Items {
    place: Place,
    brackets: Brackets,
    /// The last string outside of the array, up to one byte more than the name of the field.
    last_text: Vec<u8>,
    /// The start of an object whose end has not arrived yet.
    begun: Vec<u8>,
}

impl Items {
    /// Reads the next bytes. Passes each object that they complete to `take`, and returns the bytes that are not part of an object.
    pub(super) fn take_out(
        &mut self,
        bytes: &[u8],
        take: impl Fn(&str) -> Result<(), serde_json::Error>,
    ) -> Result<Vec<u8>, BrokenList> {
        let mut rest = Vec::new();
        let mut object_from = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            match self.place {
                Place::Outside => {
                    rest.push(byte);
                    self.outside(byte);
                }
                Place::Object => {
                    self.brackets.follow(byte);
                    if self.brackets.depth == ARRAY {
                        self.place = Place::BehindObject;
                        self.complete(bytes.get(object_from..=at).unwrap_or_default(), &take)?;
                    }
                }
                between => {
                    self.place = match (between, byte) {
                        (_, blank) if blank.is_ascii_whitespace() => between,
                        (Place::Begin | Place::BehindComma, b'{') => {
                            (self.brackets.depth, object_from) = (OBJECT, at);
                            Place::Object
                        }
                        (Place::BehindObject, b',') => Place::BehindComma,
                        (Place::Begin | Place::BehindObject, b']') => {
                            self.brackets.depth = ARRAY - 1;
                            rest.push(byte);
                            Place::Outside
                        }
                        _ => return Err(BrokenList::NoObject),
                    };
                }
            }
        }
        if self.place == Place::Object {
            self.keep(bytes.get(object_from..).unwrap_or_default())?;
        }
        Ok(rest)
    }

    fn outside(&mut self, byte: u8) {
        let Brackets { in_text, escaped, .. } = self.brackets;
        if byte == b'"' && !in_text {
            self.last_text.clear();
        } else if in_text && (byte != b'"' || escaped) && self.last_text.len() <= FIELD.len() {
            self.last_text.push(byte);
        }
        let opens_array = byte == b'[' && !in_text;
        self.brackets.follow(byte);
        if opens_array && self.brackets.depth == ARRAY && self.last_text == FIELD {
            self.place = Place::Begin;
        }
    }

    /// Passes on an object that ends with `end`. Most objects arrive in one piece and are not copied.
    fn complete(
        &mut self,
        end: &[u8],
        take: &impl Fn(&str) -> Result<(), serde_json::Error>,
    ) -> Result<(), BrokenList> {
        if self.begun.is_empty() {
            return Ok(take(from_utf8(end)?)?);
        }
        self.keep(end)?;
        let taken = take(from_utf8(&self.begun)?);
        self.begun.clear();
        Ok(taken?)
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), BrokenList> {
        if self.begun.len() + part.len() > LONGEST_OBJECT_BYTES {
            return Err(BrokenList::TooLong);
        }
        self.begun.extend_from_slice(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;
    use serde::Deserialize;
    use serde::de::IgnoredAny;
    use serde_json::Value;

    use super::*;

    /// The result of a response that arrives in chunks of `size` bytes: its objects, and the rest.
    fn taken(answer: &str, size: usize) -> Result<(Vec<Value>, String), String> {
        let objects = RefCell::new(Vec::new());
        let (mut items, mut rest) = (Items::default(), Vec::new());
        for piece in answer.as_bytes().chunks(size) {
            let more = items.take_out(piece, |object| {
                objects.borrow_mut().push(serde_json::from_str(object)?);
                Ok(())
            });
            rest.extend(more.map_err(|error| error.to_string())?);
        }
        Ok((objects.into_inner(), String::from_utf8(rest).unwrap()))
    }

    const LIST: &str = r#"{"kind":"NodeList","metadata":{"resourceVersion":"7","continue":"next"},
        "items": [ {"a":"}]\"{","items":[{"x":1}]} , {"b":[[],{}]},{}], "more":[{"c":1}]}"#;

    #[test]
    fn objects_are_taken_out_however_the_answer_is_cut() {
        for size in [1, 2, 7, 64, LIST.len()] {
            let (objects, rest) = taken(LIST, size).unwrap();
            assert_eq!(objects.len(), 3);
            assert_eq!(objects[0]["a"], "}]\"{");
            assert_eq!(objects[0]["items"][0]["x"], 1);
            let rest: Value = serde_json::from_str(&rest).unwrap();
            assert_eq!(rest["metadata"]["continue"], "next");
            assert_eq!(
                (&rest["items"], &rest["more"][0]["c"]),
                (&serde_json::json!([]), &serde_json::json!(1))
            );
        }
    }

    #[test]
    fn an_array_that_is_not_the_lists_own_stays_where_it_is() {
        for answer in [
            r#"{"metadata":{"items":[{"a":1}]}}"#,
            r#"[{"items":[{}]}]"#,
            r#"{"kind":"items","other":[{"a":1}]}"#,
            r#"{"items":null}"#,
            r#"{"items\"":[{}],"itemsitems":[{}]}"#,
        ] {
            assert_eq!(taken(answer, 3).unwrap(), (Vec::new(), answer.to_owned()));
        }
    }

    #[test]
    fn a_list_of_anything_but_objects_is_refused() {
        for answer in [
            r#"{"items":[1]}"#,
            r#"{"items":[null]}"#,
            r#"{"items":[{},]}"#,
            r#"{"items":[,{}]}"#,
            r#"{"items":[{} {}]}"#,
            r#"{"items":[{},,{}]}"#,
            r#"{"items":[{"a":}]}"#,
            r#"{"items":[{"a":[}]}"#,
            r#"{"items":[[]]}"#,
        ] {
            assert!(taken(answer, 1).is_err(), "{answer}");
            assert!(taken(answer, answer.len()).is_err(), "{answer}");
        }
    }

    #[test]
    fn an_object_without_an_end_does_not_fill_the_memory() {
        let (mut items, piece) = (Items::default(), vec![b'"'; 1 << 20]);
        items.take_out(br#"{"items":[{"#, |_object| Ok(())).unwrap();
        let refused = (0..17).find_map(|_| items.take_out(&piece, |_object| Ok(())).err());
        assert!(matches!(refused, Some(BrokenList::TooLong)), "{refused:?}");
    }

    #[derive(Deserialize)]
    struct Whole {
        items: Vec<serde_json::Map<String, Value>>,
        #[serde(flatten)]
        _rest: IgnoredAny,
    }

    proptest! {
        /// The dangerous failure: accepting a list that is not valid JSON.
        #[test]
        fn what_is_read_is_what_the_whole_answer_says(
            before in "[a\":,{}\\[\\] ]{0,6}", within in "[a\":,{}\\[\\]1 \\\\]{0,12}", behind in "[a\":,{}\\[\\] ]{0,4}", size in 1_usize..9,
        ) {
            let answer = format!(r#"{{{before}"items":[{within}]{behind}}}"#);
            let read = taken(&answer, size).ok().filter(|(_, rest)| serde_json::from_str::<Value>(rest).is_ok());
            if let Some((objects, rest)) = read {
                let whole: Result<Value, _> = serde_json::from_str(&answer);
                prop_assert!(whole.is_ok(), "{answer} was read as {objects:?} and {rest}");
                if let Ok(whole) = serde_json::from_str::<Whole>(&answer) && !objects.is_empty() {
                    prop_assert_eq!(whole.items.len(), objects.len(), "{}", answer);
                }
            }
        }
    }
}
