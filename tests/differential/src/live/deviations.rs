//! The table of known differences between the simulator and a running cloud.

use crate::deviations::Deviation;

pub(super) const DEVIATIONS: &[Deviation] = &[];
