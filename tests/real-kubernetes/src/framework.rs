//! A cloud that is written down nowhere but in the memory of a test: it does what it is told, remembers every call, and
//! notices what must never happen. Managers reach it over loopback, so it outlives every one of them.
//!
//! Only tests use it: `framework-ccm` is the manager under test, `tests/real_framework` is what happens to it.

pub mod cloud;
pub mod protocol;
pub mod server;
