//! bowline-controllers
