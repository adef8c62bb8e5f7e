//! What a migration decides.

mod model;
