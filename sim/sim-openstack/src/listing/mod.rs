//! Lists: filters, order, pages and field selection, the same machinery for every service; their dialects differ.

mod filter;
mod page;

pub(crate) use filter::{Filters, TagFilter};
pub(crate) use page::{SortKey, Window, page};

#[cfg(test)]
mod tests;
