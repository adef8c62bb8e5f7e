//! Minutes without a pause.
