//! `sim-openstack` beside a real OpenStack: the same requests go to both, and status codes, headers that matter, the shapes
//! and values of bodies and the words of errors are compared.
//!
//! [`run`] does it live, on a cloud that is running; the test `recorded` does it with exchanges that were recorded on one.
//! What differs must be in a table of [`Deviation`]s, each with its reason. Nothing here knows how a cloud is started.

mod answer;
mod compare;
mod deviations;
mod estate;
mod live;
mod real;
mod script;
mod session;
mod simulated;
mod translation;

pub use answer::Answer;
pub use compare::{Cut, Difference, compare};
pub use deviations::{Deviation, Judgement, judge};
pub use live::{Choice, Recording, Report, rerun, run, run_sessions, sessions};
pub use real::RealCloud;
pub use translation::Translation;
