//! Safety rail SR-15: while a person has paused the cluster, nothing is written to the cloud, to Services or to Nodes.
//!
//! The fence refuses every write while the pause lasts, whoever asks. Controllers ask here before they begin something, so
//! that they wait for the end of the pause in place of failing against it, and say why. Looks and plans go on. A Service
//! alone is paused by its own annotation: see the service controller.

use std::time::Duration;

use bowline_cloud::{Fence, Pause};

/// When to ask again whether the pause is over. Asking costs nothing.
pub const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// All changes are paused: the pause says why and until when.
pub type Paused = Pause;

/// Whether something may be begun.
///
/// # Errors
///
/// [`Paused`] while a person has paused all changes.
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
