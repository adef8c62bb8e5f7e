//! The word for a pause (safety rail SR-15): one annotation, on a Service for that Service, on the Lease of the election for
//! the whole cluster. Who obeys it is said where the annotation is read.

/// While an object has this annotation with any text but a clear no, nothing is written for it. The text is the reason.
pub const PAUSED: &str = "bowline.dev/paused";

/// What a person says against any write, by the value of the annotation. Only a clear no, or nothing, is none: who writes
/// `yes` or a reason means it.
#[must_use]
pub fn pause_said(value: Option<&str>) -> Option<&str> {
    let said_no = |value: &str| matches!(value, "" | "0" | "f" | "F" | "false" | "False" | "FALSE");
    value.filter(|value| !said_no(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_no_or_nothing_is_no_pause() {
        for value in ["true", "yes", "rack 7 moves", "1", " "] {
            assert_eq!(pause_said(Some(value)), Some(value));
        }
        for value in ["", "false", "False", "0"] {
            assert_eq!(pause_said(Some(value)), None, "{value:?}");
        }
        assert_eq!(pause_said(None), None);
    }
}
