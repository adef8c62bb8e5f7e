//! The security groups of Services: asked for here, told by [`crate::loadbalancer::group`].

use super::{Grouped, Referred};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::features::Features;
use crate::loadbalancer::trouble::Trouble;

impl Balancers {
    /// Adds the security group that each Service wants, and the one that is there.
    // `group` is not there yet: nobody wants one, and none is looked for.
    pub(super) async fn groups_of_all<'a>(
        &self,
        referred: Vec<Result<Referred<'a>, Trouble>>,
        _features: Features,
    ) -> Vec<Result<Grouped<'a>, Trouble>> {
        let none = |referred| Grouped { referred, wanted: None, found: None };
        referred.into_iter().map(|one| one.map(none)).collect()
    }
}
