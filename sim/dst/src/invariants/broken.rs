//! S13: a load balancer in ERROR is replaced only if it is proven to serve nobody, and not while many are in ERROR at once.

use bytes::Bytes;
use http::{Method, Request};
use jiff::SignedDuration;

use super::goal::{is_balanced, published};
use super::seen::{tag_of, text};
use super::{Judge, Rule};

/// A load balancer whose address was published has to serve nobody for this long before it is replaced, and those that have been in ERROR
/// for this long can be known to every process.
const SECOND_LOOK: SignedDuration = SignedDuration::from_secs(60);

/// The annotation that allows the replacement of the load balancer whose id it has.
const ALLOWS: &str = "bowline.dev/allow-load-balancer-replacement";

impl Judge {
    /// S13: a load balancer in ERROR that serves goes with its Service only. One of several that were made for a Service may go.
    pub(super) fn serves_nobody(&self, request: &Request<Bytes>) {
        let id = request.uri().path().rsplit_once("/lbaas/loadbalancers/").map(|(_, id)| id);
        let Some(id) = id.filter(|_id| request.method() == Method::DELETE) else { return };
        let wrong = self.replaced_too_early(id);
        self.check(wrong.is_none(), Rule::S13, || {
            format!("{id} is deleted, which is in ERROR and {}", wrong.clone().unwrap_or_default())
        });
    }

    /// Why a load balancer in ERROR may not be deleted now.
    fn replaced_too_early(&self, id: &str) -> Option<String> {
        let name = self.world.cloud.with(|cloud| {
            let balancers = &cloud.state().load_balancer.load_balancers;
            let one = balancers.get(id).filter(|one| one.provisioning_status == "ERROR")?;
            let namesakes = balancers.iter().filter(|other| other.name == one.name).count();
            (namesakes == 1).then(|| one.name.clone())
        })?;
        let services = self.world.kube.stored("", "services");
        let service =
            services.iter().find(|service| name == tag_of(service)).filter(|one| is_balanced(one))?;
        let Some(silent) = self.world.silent_for(id) else { return Some(format!("serves {name}")) };
        if published(service).is_empty() {
            return None;
        }
        if silent < SECOND_LOOK {
            return Some(format!("has served nobody of {name} for {silent:#} only"));
        }
        let is_allowed = text(&service["metadata"]["annotations"][ALLOWS]) == id;
        let are_too_many = !is_allowed && self.world.are_too_many_in_error(SECOND_LOOK);
        are_too_many.then(|| format!("is one of too many that are, {name}"))
    }
}
