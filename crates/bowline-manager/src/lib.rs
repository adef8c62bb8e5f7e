//! bowline-manager
