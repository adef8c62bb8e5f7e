//! How the manager comes to the cloud, and what happens when that changes.

use crate::scenario::Scenario;

pub(crate) const SCENARIOS: &[Scenario] = &[];
