//! bowline-testkit
