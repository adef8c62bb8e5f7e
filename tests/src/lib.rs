//! Tests on the real thing.
