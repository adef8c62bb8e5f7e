//! The security groups of Services: asked for here, told by [`crate::loadbalancer::group`].
//!
//! Where groups are managed each Service wants one. Where they are not, what is left of another time is looked for once. Who goes
//! leaves none behind, whatever is configured.

use bowline_cloud::service::FINALIZER;
use bowline_cloud::{CloudError, Doubt};
use openstack_client::network::SecurityGroup;
use openstack_client::{ProjectId, SecurityGroupId};
use tokio::time::Instant;

use super::{FEW, Grouped, Referred, Run, Wish, together};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::FoundBalancer;
use crate::loadbalancer::group::{Asked, GroupError, Observed, Targets, WantedGroup, observe, observe_many};
use crate::loadbalancer::trouble::Trouble;

/// A group that is looked for, and the Nodes that shall have it.
struct Search {
    name: String,
    targets: Targets,
    made: Option<SecurityGroupId>,
    untouched: Option<SecurityGroup>,
    list_is_proof: bool,
}

impl Balancers {
    /// Adds the security group that each Service wants, and the one that is there.
    pub(super) async fn groups_of_all<'a>(
        &self,
        referred: Vec<Result<Referred<'a>, Trouble>>,
    ) -> Vec<Result<Grouped<'a>, Trouble>> {
        let project = match self.project().await {
            Ok(project) => project,
            Err(trouble) => return referred.iter().map(|_one| Err(trouble.clone())).collect(),
        };
        let searches: Vec<Option<Search>> =
            referred.iter().map(|one| one.as_ref().ok().and_then(|one| self.search(one))).collect();
        let mut observed = self.observe_groups(&searches, &project).await.into_iter();
        let mut grouped = Vec::with_capacity(referred.len());
        for (one, search) in referred.into_iter().zip(searches) {
            let seen = search.is_some().then(|| observed.next()).flatten();
            grouped.push(self.grouped(one, search, seen, &project));
        }
        together(grouped).await
    }

    /// The group to look for now; none where [`LeftOvers`](crate::loadbalancer::group::LeftOvers) knows, or nobody can act.
    fn search(&self, referred: &Referred<'_>) -> Option<Search> {
        if !self.conf.load_balancer.manage_security_groups {
            return None;
        }
        let sight = &referred.sight;
        match (&sight.run.wish, &referred.references) {
            // Before there is a load balancer nothing is done about its group.
            (Wish::Ensure(_), Some(_)) if sight.at.balancer.is_none() => None,
            (Wish::Ensure(intent), Some(references)) => {
                let targets = Targets::of(intent, &sight.run.request.nodes, &references.members);
                let is_new = self.is_new(&sight.run);
                Some(self.search_for(intent.names.security_group(), targets, is_new))
            }
            (Wish::Remove(_), _) if self.leaves_group_unread(&sight.run, sight.at.balancer.as_ref()) => None,
            (Wish::Remove(removal), _) => {
                let name = removal.names.security_group();
                let is_deleted = self.made_groups.was_deleted(&name, Instant::now());
                Some(self.search_for(name, Targets::default(), is_deleted))
            }
            (Wish::Ensure(_), None) => None,
        }
    }

    /// Whether the group of a Service that goes is not read yet: it is removed together with the load balancer, or when the Service has
    /// left that, and before Octavia has completed its work neither can begin.
    pub(super) fn leaves_group_unread(&self, run: &Run<'_>, at: Option<&FoundBalancer>) -> bool {
        let (Wish::Remove(removal), Some(at)) = (&run.wish, at) else { return false };
        let (names, balancer) = (&removal.names, &at.balancer);
        let uses_it = balancer.name == names.load_balancer()
            || balancer.name == names.legacy_load_balancer()
            || balancer.tags.contains(&names.tag());
        self.conf.load_balancer.manage_security_groups && uses_it && balancer.provisioning_status.is_pending()
    }

    /// Whether nobody can have created a group for a Service yet: it has no finalizer of ours, or this process has just created its first
    /// load balancer.
    fn is_new(&self, run: &Run<'_>) -> bool {
        let service = &run.request.service;
        let has_new_balancer = || {
            let name = run.names().load_balancer();
            service.status.ingress.is_empty() && self.memory.may_be_unshown(&name, Instant::now()).is_some()
        };
        !service.finalizers.contains(FINALIZER) || has_new_balancer()
    }

    fn search_for(&self, name: String, targets: Targets, list_is_proof: bool) -> Search {
        let now = Instant::now();
        let (made, untouched) =
            (self.made_groups.named(&name, now), self.made_groups.take_untouched(&name, now));
        Search { name, targets, made, untouched, list_is_proof }
    }

    async fn observe_groups(
        &self,
        searches: &[Option<Search>],
        project: &ProjectId,
    ) -> Vec<Result<Observed, Trouble>> {
        let network = self.client.network();
        let asked: Vec<Asked<'_>> = searches
            .iter()
            .flatten()
            .map(|search| Asked {
                name: &search.name,
                targets: &search.targets,
                made: search.made.as_ref(),
                untouched: search.untouched.as_ref(),
                list_is_proof: search.list_is_proof,
            })
            .collect();
        let answers = if asked.len() > FEW {
            match observe_many(&network, project, &asked).await {
                Ok(answers) => answers,
                Err(error) => asked.iter().map(|_asked| Err(error.clone())).collect(),
            }
        } else {
            together(asked.into_iter().map(|asked| observe(&network, project, asked)).collect()).await
        };
        answers.into_iter().map(|answer| answer.map_err(Trouble::from)).collect()
    }

    async fn grouped<'a>(
        &self,
        referred: Result<Referred<'a>, Trouble>,
        search: Option<Search>,
        seen: Option<Result<Observed, Trouble>>,
        project: &ProjectId,
    ) -> Result<Grouped<'a>, Trouble> {
        let referred = referred?;
        let network = self.client.network();
        let (Some(search), Some(seen)) = (search, seen) else {
            let names = match &referred.sight.run.wish {
                Wish::Ensure(intent) => &intent.names,
                Wish::Remove(removal) => &removal.names,
            };
            let found = if self.conf.load_balancer.manage_security_groups {
                None
            } else {
                self.left_overs.find(&network, project, &names.security_group()).await?
            };
            return Ok(Grouped { referred, wanted: None, found });
        };
        let Observed { found, ports } = seen?;
        if let Some(found) = &found {
            self.made_groups.shown(&search.name, &found.group.id, Instant::now());
        }
        self.port_turns.sees(found.iter().flat_map(|found| &found.ports).chain(&ports));
        let wanted = match &referred.sight.run.wish {
            Wish::Ensure(intent) => {
                let ranges = self.ranges.of(&network, &search.targets.subnets(&ports)).await?;
                Some(WantedGroup::of(
                    intent,
                    &search.targets,
                    &ports,
                    &ranges,
                    referred.sight.run.features.ovn,
                )?)
            }
            Wish::Remove(_) => None,
        };
        Ok(Grouped { referred, wanted, found })
    }
}

impl From<GroupError> for Trouble {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::Call(error) => error.into(),
            passing @ GroupError::NotShown { .. } => Self::Unknown(Doubt::from(&CloudError::from(passing))),
            wrong => Self::refused(wrong.to_string()),
        }
    }
}
