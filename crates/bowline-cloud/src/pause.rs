//! The word for a pause (safety rail SR-15): one annotation, on a Service for that Service, on the Lease of the election for
//! the whole cluster. Who obeys it is said where the annotation is read.

use std::collections::BTreeMap;

/// While an object has this annotation with any text but a clear no, nothing is written for it. The text is the reason.
pub const PAUSED: &str = "bowline.dev/paused";

/// What a person says against any write. Only a clear no, or nothing, is none: who writes `yes` or a reason means it.
#[must_use]
pub fn pause_said(annotations: &BTreeMap<String, String>) -> Option<&str> {
    let said_no = |value: &str| matches!(value, "" | "0" | "f" | "F" | "false" | "False" | "FALSE");
    annotations.get(PAUSED).map(String::as_str).filter(|value| !said_no(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_no_or_nothing_is_no_pause() {
        let with = |value: &str| BTreeMap::from([(PAUSED.to_owned(), value.to_owned())]);
        for value in ["true", "yes", "rack 7 moves", "1", " "] {
            assert_eq!(pause_said(&with(value)), Some(value));
        }
        for value in ["", "false", "False", "0"] {
            assert_eq!(pause_said(&with(value)), None, "{value:?}");
        }
        assert_eq!(pause_said(&BTreeMap::new()), None);
    }
}
