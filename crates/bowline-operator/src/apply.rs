//! Objects that shall exist, brought to the API server: server-side apply with one field manager, an inventory of what was
//! made, and the removal of what is no longer wanted.
//!
//! What is done is decided by [`plan`], a pure function of what is wanted, what is there and what was recorded. An object is
//! removed only if the inventory has its UID and it has our label; one that was there before us is never removed. A write that
//! would change nothing is not sent: the server is asked first, by a dry run, what a write would change.

mod compare;
mod execute;
mod id;
mod inventory;
mod plan;
mod prepare;
mod run;
#[cfg(test)]
mod tests;

pub use self::compare::differs;
pub use self::execute::{Applied, Applier, ApplyError, Done, Target};
pub use self::id::{KINDS, Kind, ObjectId, UnknownKind, kind_of};
pub use self::inventory::{Entry, INVENTORY_KEY, Inventory, InventoryError, inventory_name};
pub use self::plan::{ApplyStep, Plan, Preview, Seen, plan};
pub use self::prepare::{Unfit, prepare};
