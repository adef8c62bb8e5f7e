//! What the suites on a real API server are made of, as functions and values that need no cluster: the cloud that outlives its managers, and
//! the plans of migrations. The suites themselves are in `tests/`.

pub mod framework;
pub mod migration;
