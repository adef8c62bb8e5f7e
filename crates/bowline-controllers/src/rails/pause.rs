//! Safety rail SR-15: while an administrator has paused the cluster, nothing is written to the cloud, to Services or to Nodes.
//!
//! The fence rejects every write during the pause, for every caller. Controllers call [`judge`] before they begin work, so they wait for
//! the end of the pause and report it instead of failing. Observing and planning continue. A single Service is paused by its own
//! annotation: see the service controller.

use std::time::Duration;

use bowline_cloud::{Fence, Pause};

/// How long to wait before the next check whether the pause is over. The check is cheap.
pub const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// All changes are paused, with the reason and what ends the pause.
pub type Paused = Pause;

/// Checks whether work may begin.
///
/// # Errors
///
/// [`Paused`] while an administrator has paused all changes.
pub fn judge(fence: &dyn Fence) -> Result<(), Paused> {
    fence.paused().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{PAUSED, Unfenced};
    use bowline_testkit::fence::TestFence;

    use super::*;

    #[test]
    fn a_pause_holds_and_its_end_lets_pass() {
        let fence = TestFence::default();
        assert_eq!(judge(&fence), Ok(()));
        fence.pause("rack 7 moves");
        let held = judge(&fence).unwrap_err().to_string();
        assert!(held.contains("rack 7 moves") && held.contains(PAUSED), "{held}");
        fence.resume();
        assert_eq!(judge(&fence), Ok(()));
        assert_eq!(judge(&Unfenced), Ok(()), "nobody can pause what has no lease");
    }
}
