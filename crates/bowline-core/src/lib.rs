//! The small vocabulary that every crate of Bowline shares. No I/O, no clock, no Kubernetes and no cloud.
//!
//! [`Evidence`] says what is known of a thing, [`CloudError`] why a call failed, [`Fence`] whether a change may be made now, [`TokenBucket`],
//! [`CallBudget`] and [`FairSemaphore`] how much and in whose turn.

mod bucket;
mod budget;
mod error;
mod event_kind;
mod evidence;
mod fair;
mod fence;
mod pause;

pub use bucket::TokenBucket;
pub use budget::{CallBudget, Unlimited, Urgency};
/// A string in 16 bytes: short ones cost nothing more, clones are cheap. The views are kept by the thousand.
pub use ecow::EcoString as Text;
pub use error::{CloudError, ErrorClass, Retry};
pub use event_kind::EventKind;
pub use evidence::{Doubt, Evidence, Proof};
pub use fair::{FairPermit, FairSemaphore, namespace_in_turn, on_behalf_of};
pub use fence::{Fence, Fenced, Pause, Unfenced};
pub use pause::{PAUSED, pause_said};
