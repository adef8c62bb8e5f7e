//! What a migration decides.
