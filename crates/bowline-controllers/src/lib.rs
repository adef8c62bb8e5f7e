//! The controllers of Bowline.
pub mod view;
