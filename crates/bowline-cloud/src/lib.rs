//! bowline-cloud
