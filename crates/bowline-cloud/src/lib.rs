//! The provider interface of Bowline: traits and value types.

pub mod bucket;
pub mod fence;

pub use bucket::TokenBucket;
pub use fence::{Fence, Fenced, Unfenced};
