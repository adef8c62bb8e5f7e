//! Takes away each verb of each rule in turn, and shows what no longer works; then gives it back, and shows that nothing
//! else was wrong.

use std::time::Instant;

use anyhow::{Context, bail, ensure};
use bowline_testkit::eventually;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::DeleteParams;

use crate::audit::Since;
use crate::effect::{Effect, Talker};
use crate::harness::{Form, Harness};
use crate::manager::Manager;
use crate::roles::{Grant, grants};
use crate::scenario::{let_them_read, seen};

/// How a verb is shown to be needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// While it is missing, this does not happen.
    Missing(Effect),
    /// The same, and it shows only when a process starts without it.
    MissingFromTheStart(Effect),
    /// Without it, changes are seen only as often as everything is listed anew: the watch is refused, again and again, and that
    /// is said. Whether this happens meanwhile is chance, for a list may come in between; with it, it happens.
    Unwatched(Effect),
    /// The same, when there is no Lease yet.
    WithoutALease(Effect),
    /// The same, when there is no ServiceAccount of the node controller yet.
    WithoutAnAccount(Effect),
    /// Without it, the process does not start, and says why.
    NoStart(&'static str),
    /// A fallback: without it all works, and it is said that it is missing.
    Said(&'static str),
    /// A fallback: without it a standby still takes over, at its next look.
    SlowerTakeOver,
}

/// Which proof a verb gets. Whoever adds a row to the table has to say here what does not work without it.
fn proof(grant: &Grant) -> anyhow::Result<Proof> {
    use Effect::{Badge, Balanced, Deleted, Initialised, Page, Reachable, Ribbon, Told};
    use Proof::{Missing, MissingFromTheStart};
    let talker = match grant.account() {
        // With accounts of their own, only the cloud's events are written by the process.
        None if grant.said_as().ends_with("events") => Talker::Cloud,
        None | Some("node-controller") => Talker::Node,
        Some("service-controller") => Talker::Service,
        Some("route-controller") => Talker::Route,
        Some("badge-controller") => Talker::Badge,
        Some("ribbon-controller") => Talker::Ribbon,
        Some(other) => bail!("nothing is known of account {other}"),
    };
    Ok(match (grant.account(), grant.verb.as_str(), grant.resource()) {
        (_, "list", "nodes") => MissingFromTheStart(Initialised),
        (_, "list", "services") => MissingFromTheStart(Balanced),
        (_, "watch", "nodes") => Proof::Unwatched(Initialised),
        (_, "watch", "services") => Proof::Unwatched(Balanced),
        (Some("badge-controller"), "patch", "nodes") => Missing(Badge),
        (_, "patch", "nodes") => Missing(Initialised),
        (_, "delete", "nodes") => Missing(Deleted),
        (Some("route-controller"), "patch", "nodes/status") => Missing(Reachable),
        (_, "patch", "nodes/status") => Missing(Initialised),
        (_, "patch", "services") => Missing(Ribbon),
        (_, "patch", "services/status") => Missing(Balanced),
        (_, "create", "events") => Missing(Told(talker, 1)),
        (_, "patch", "events") => Missing(Told(talker, 2)),
        (_, "create", "tokenreviews" | "subjectaccessreviews") => Missing(Page),
        (_, "get", "namespaces") => Proof::Said("get namespaces"),
        (_, "get", "configmaps") => Proof::NoStart("extension-apiserver-authentication"),
        (_, "get", "leases") if grant.is_of_the_ledger() => Proof::Said("get leases.coordination.k8s.io"),
        (_, "update", "leases") if grant.is_of_the_ledger() => {
            Proof::Said("update leases.coordination.k8s.io")
        }
        (_, "create", "leases") => Proof::WithoutALease(Initialised),
        (_, "get" | "update", "leases") => MissingFromTheStart(Initialised),
        (_, "watch", "leases") => Proof::SlowerTakeOver,
        (_, "get", "serviceaccounts") | (_, "create", "serviceaccounts/token") => {
            MissingFromTheStart(Initialised)
        }
        (_, "create", "serviceaccounts") => Proof::WithoutAnAccount(Initialised),
        _ => bail!("nothing is known to need {grant:?}"),
    })
}

/// The trials of one site; a manager runs while nothing else is asked for.
struct Trials {
    site: Harness,
    manager: Manager,
}

impl Trials {
    async fn start(form: Form) -> anyhow::Result<Self> {
        let site = Harness::new(form).await?;
        let_them_read(&site).await?;
        let manager = Manager::start(&site, form.flags())?;
        let trials = Self { site, manager };
        trials.works(Effect::Initialised).await?;
        Ok(trials)
    }

    /// Provokes an effect and sees it.
    async fn works(&self, effect: Effect) -> anyhow::Result<()> {
        let name = effect.provoke(&self.site).await?;
        seen(&self.site, &self.manager, effect, &name).await?;
        self.site.remove(&name).await
    }

    /// Another process in place of this one, without waiting for the Lease to run out.
    async fn restart(&mut self) -> anyhow::Result<()> {
        self.manager.kill()?;
        self.site.free_lease().await?;
        self.manager = Manager::start(&self.site, self.site.form.flags())?;
        Ok(())
    }

    async fn run(&mut self, grant: &Grant, proof: Proof) -> anyhow::Result<()> {
        match proof {
            Proof::Missing(effect) => {
                grant.take(&self.site).await?;
                self.missing(grant, effect, false).await
            }
            Proof::MissingFromTheStart(effect) => {
                grant.take(&self.site).await?;
                self.restart().await?;
                self.missing_from_the_start(grant, effect).await
            }
            Proof::Unwatched(effect) => {
                grant.take(&self.site).await?;
                let since = Since::now(&self.site);
                self.restart().await?;
                self.manager.serves().await?;
                eventually("a watch that is refused twice", async || {
                    let refusals = since.refusals(&self.site);
                    let wanting = refusals.iter().filter(|refusal| grant.is_wanting_in(refusal));
                    Ok((wanting.count() > 1).then_some(()))
                })
                .await?;
                self.manager.says_it_lacks(&grant.said_as()).await?;
                grant.give_back(&self.site).await?;
                self.works(effect).await
            }
            Proof::Said(what) => {
                grant.take(&self.site).await?;
                self.restart().await?;
                self.manager.says_it_lacks(what).await?;
                self.works(Effect::Initialised).await?;
                grant.give_back(&self.site).await
            }
            Proof::WithoutALease(effect) => {
                grant.take(&self.site).await?;
                self.manager.kill()?;
                self.site.delete_lease().await?;
                self.manager = Manager::start(&self.site, self.site.form.flags())?;
                self.missing_from_the_start(grant, effect).await
            }
            Proof::WithoutAnAccount(effect) => {
                grant.take(&self.site).await?;
                self.manager.kill()?;
                let accounts = Api::<ServiceAccount>::namespaced(self.site.admin.clone(), "kube-system");
                accounts.delete("node-controller", &DeleteParams::default()).await?;
                self.restart().await?;
                self.missing_from_the_start(grant, effect).await
            }
            Proof::NoStart(says) => self.no_start(grant, says).await,
            Proof::SlowerTakeOver => self.slower_take_over(grant).await,
        }
    }

    async fn missing_from_the_start(&self, grant: &Grant, effect: Effect) -> anyhow::Result<()> {
        self.manager.serves().await?;
        self.missing(grant, effect, true).await
    }

    /// The verb is gone: the request that would bring the effect is refused, and the effect is not there. The verb is
    /// back: it is. A manager that started without the verb also says so.
    async fn missing(&self, grant: &Grant, effect: Effect, says_so: bool) -> anyhow::Result<()> {
        let since = Since::now(&self.site);
        let name = effect.provoke(&self.site).await?;
        if effect == Effect::Page {
            ensure!(!effect.is_there(&self.site, &self.manager, &name).await?, "shown without the right");
        }
        self.is_refused(grant, effect, &name, &since).await?;
        ensure!(!effect.is_there(&self.site, &self.manager, &name).await?, "{effect:?} without the right");
        if says_so {
            self.manager.says_it_lacks(&grant.said_as()).await?;
        }
        grant.give_back(&self.site).await?;
        seen(&self.site, &self.manager, effect, &name).await?;
        self.site.remove(&name).await
    }

    /// Waits until exactly the request that would bring the effect is refused, for want of exactly this verb.
    async fn is_refused(
        &self,
        grant: &Grant,
        effect: Effect,
        name: &str,
        since: &Since,
    ) -> anyhow::Result<()> {
        let mut looks = 0;
        eventually(&format!("a refusal that prevents {effect:?} of {name}"), async || {
            looks += 1;
            if looks % 20 == 0 {
                effect.nudge(&self.site, name, looks).await?;
            }
            let mut refusals = 0;
            for refusal in since.refusals(&self.site) {
                if grant.is_wanting_in(&refusal) && effect.is_refused_by(&self.site, name, &refusal).await? {
                    refusals += 1;
                }
            }
            Ok((refusals >= effect.refusals(&grant.verb)).then_some(()))
        })
        .await
    }

    async fn no_start(&mut self, grant: &Grant, says: &str) -> anyhow::Result<()> {
        grant.take(&self.site).await?;
        self.restart().await?;
        ensure!(self.manager.ended().await? == Some(1), "it ends with code 1");
        ensure!(self.manager.log().contains(says), "it says why");
        grant.give_back(&self.site).await?;
        self.restart().await?;
        self.works(Effect::Initialised).await
    }

    async fn slower_take_over(&mut self, grant: &Grant) -> anyhow::Result<()> {
        let leader = eventually("a leader", async || self.site.holder().await).await?;
        grant.take(&self.site).await?;
        let since = Since::now(&self.site);
        let standby = Manager::start(&self.site, self.site.form.flags())?;
        standby.serves().await?;
        eventually("a refused watch", async || {
            let refusals = since.refusals(&self.site);
            Ok(refusals.iter().any(|refusal| grant.is_wanting_in(refusal)).then_some(()))
        })
        .await?;
        standby.says_it_lacks(&grant.said_as()).await?;
        ensure!(self.site.holder().await? == Some(leader.clone()), "it only stands by");
        self.manager.kill()?;
        self.manager = standby;
        eventually("another leader", async || {
            Ok(self.site.holder().await?.filter(|holder| *holder != leader).map(drop))
        })
        .await?;
        grant.give_back(&self.site).await?;
        self.works(Effect::Initialised).await
    }
}

async fn every_verb_is_needed(form: Form) -> anyhow::Result<()> {
    let mut trials = Trials::start(form).await?;
    let grants = grants(&trials.site.manifest)?;
    for grant in &grants {
        let (began, proof) = (Instant::now(), proof(grant)?);
        let shown = trials.run(grant, proof).await;
        shown.with_context(|| {
            format!("without {} of {}: {}", grant.said_as(), grant.subject, trials.manager.log())
        })?;
        println!("{form:?}: {} of {}: {proof:?} ({:?})", grant.said_as(), grant.subject, began.elapsed());
    }
    println!("{form:?}: {} verbs, each needed", grants.len());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_identity_needs_every_verb_it_is_given() -> anyhow::Result<()> {
    every_verb_is_needed(Form::OneIdentity).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_of_their_own_need_every_verb_they_are_given() -> anyhow::Result<()> {
    every_verb_is_needed(Form::OwnAccounts).await
}
