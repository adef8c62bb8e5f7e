//! Values that count only for a Service that has a load balancer already: those that the rules of its namespace forbid, and those that
//! cannot be read. A Service without a load balancer is refused because of them; one that has a load balancer keeps it.

use bowline_cloud::{Refusal, ServiceView};
use openstack_client::load_balancer::LoadBalancer;
use tokio::time::Instant;

use super::find::At;
use super::{Run, Wish, yield_between};
use crate::loadbalancer::annotations::Unreadable;
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::{FoundBalancer, Tree};
use crate::loadbalancer::intent::{Intent, Surroundings};
use crate::loadbalancer::tenancy::rules::{self, Forbidden, Outcome};
use crate::loadbalancer::trouble::Trouble;
use crate::loadbalancer::unreadable::{self, Serving};

impl Balancers {
    /// The same runs, as the rules of their namespaces allow.
    pub(super) async fn within_rules<'a>(
        &self,
        found: Vec<Result<(Run<'a>, At), Trouble>>,
    ) -> Vec<Result<(Run<'a>, At), Trouble>> {
        let is_fine = |one: &Result<(Run<'_>, At), Trouble>| {
            one.as_ref().map_or(true, |(run, _at)| run.unreadable.is_empty())
        };
        if self.tenancy.0.is_empty() && found.iter().all(is_fine) {
            return found;
        }
        let mut judged = Vec::with_capacity(found.len());
        for (place, one) in found.into_iter().enumerate() {
            yield_between(place).await;
            judged.push(match one {
                Ok((run, at)) => self.judge(run, &at).await.map(|run| (run, at)),
                Err(trouble) => Err(trouble),
            });
        }
        judged
    }

    async fn judge<'a>(&self, run: Run<'a>, at: &At) -> Result<Run<'a>, Trouble> {
        let Wish::Ensure(intent) = &run.wish else { return Ok(run) };
        let forbidden = rules::forbidden(&run.request.service, &self.conf);
        if forbidden.is_empty() && run.unreadable.is_empty() {
            return Ok(run);
        }
        let served = |there: &&FoundBalancer| rules::is_served(&intent.names, &there.balancer);
        let Some(there) = at.balancer.as_ref().filter(served) else {
            let unreadable = run.unreadable.into_iter().map(|one| one.message);
            let problems = unreadable.chain(forbidden.into_iter().map(|one| one.message)).collect();
            return Err(Trouble::Refused(Refusal { problems }));
        };
        let needs_tree = forbidden.iter().any(|one| one.needs_tree(&self.conf))
            || run.unreadable.iter().any(Unreadable::needs_tree);
        let tree = match needs_tree {
            true => Some(self.known_or_read(&there.balancer).await?),
            false => None,
        };
        let serving = Serving { names: &intent.names, balancer: &there.balancer, tree: tree.as_ref() };
        let kept = self.kept(&run, forbidden, serving)?;
        Ok(Run { wish: Wish::Ensure(Box::new(kept)), ..run })
    }

    async fn known_or_read(&self, balancer: &LoadBalancer) -> Result<Tree, Trouble> {
        if let Some(tree) = self.memory.tree(balancer, Instant::now()) {
            return Ok(tree);
        }
        let mut read = self.trees(std::slice::from_ref(balancer)).await;
        read.pop().unwrap_or_else(|| {
            Err(Trouble::refused("a load balancer was not read; this is a defect of Bowline"))
        })
    }

    /// The wish of a Service that has a load balancer, without forbidden values that are not in force, and with what counts in place of
    /// values that cannot be read.
    fn kept(
        &self,
        run: &Run<'_>,
        forbidden: Vec<Forbidden>,
        serving: Serving<'_>,
    ) -> Result<Intent, Trouble> {
        let request = run.request;
        let mut service = (*request.service).clone();
        let mut outcomes = Vec::with_capacity(forbidden.len());
        for one in forbidden.iter().filter(|one| !one.is_class()) {
            let outcome = one.outcome(&request.service, serving);
            if outcome != Outcome::Kept {
                unreadable::replace(&mut service, one.place, None);
            }
            outcomes.push((one, outcome));
        }
        let mut told = Vec::with_capacity(run.unreadable.len());
        for one in &run.unreadable {
            let substitute = one.substitute(&request.service, serving);
            told.push(one.told(substitute.as_deref()));
            unreadable::replace(&mut service, one.place, substitute);
        }
        let (config, classes, features) = (&self.conf.load_balancer, &self.conf.classes, run.features);
        let around = Surroundings { cluster: &request.cluster, config, classes, features };
        let mut intent = Intent::of(&service, &around).map_err(Trouble::Refused)?;
        if let Some(class) = forbidden.iter().find(|one| one.is_class()) {
            // After all else: a key of the class may take the place of another value that is withheld.
            let (within, outcome) = without_class(intent, service, class, &around, serving)?;
            intent = within;
            outcomes.push((class, outcome));
        }
        let (withheld, kept): (Vec<_>, Vec<_>) =
            outcomes.into_iter().partition(|(_one, outcome)| *outcome == Outcome::Withheld);
        intent.notices.extend(kept.into_iter().map(|(one, _outcome)| rules::notice(one)));
        intent.withheld = withheld.into_iter().map(|(one, _outcome)| one.message.clone()).collect();
        intent.forbidden = forbidden.into_iter().map(|one| one.message).collect();
        intent.unreadable = told;
        Ok(intent)
    }
}

/// The wish without a forbidden class, or with as much of the class as is in force.
fn without_class(
    with: Intent,
    mut service: ServiceView,
    class: &Forbidden,
    around: &Surroundings<'_>,
    serving: Serving<'_>,
) -> Result<(Intent, Outcome), Trouble> {
    unreadable::replace(&mut service, class.place, None);
    let without = Intent::of(&service, around).map_err(Trouble::Refused)?;
    let outcome = rules::class::outcome(&with, &without, serving);
    let intent = match outcome {
        Outcome::Kept => with,
        Outcome::Unsaid => Intent { floating: without.floating, ..with },
        Outcome::Withheld => without,
    };
    Ok((intent, outcome))
}
