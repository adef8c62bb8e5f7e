//! The pause annotation (safety rail SR-15): on a Service it pauses that Service, on the Lease of the leader election the whole cluster.

/// While an object has this annotation with any value other than an explicit no, nothing is changed for it. The value is the reason.
pub const PAUSED: &str = "bowline.dev/paused";

/// The reason for the pause, from the value of the annotation; `None` if there is no annotation or its value is an explicit no. `yes` and any
/// other text count as a pause.
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
