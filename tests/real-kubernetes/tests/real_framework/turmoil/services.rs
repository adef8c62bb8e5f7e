//! The lives of Services: each is made, edited field by field, switched to other types and back, paused, made anew under
//! the same name; some are deleted while the turmoil lasts, the others at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use bowline_cloud::PAUSED;
use bowline_testkit::eventually;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Service, ServicePort};
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;

use super::edits::{EDITS, Edit, Tally, spec};
use crate::world::World;

pub(super) const NAMESPACE: &str = "default";
pub(super) const APP: &str = "turmoil";
const ROUNDS: usize = 8;

/// What the Services asked for.
#[derive(Debug, Default)]
pub(super) struct Lived {
    /// How often a Service began to want a load balancer: so many may have been made at most.
    pub(super) wanted: usize,
}

struct Life<'a> {
    api: Api<Service>,
    world: &'a World,
    name: String,
    rng: StdRng,
    tally: Tally,
    wanted: usize,
    /// Whether it waits for its load balancer before it is edited, or edits into the making of it.
    patient: bool,
}

/// All lives, at the same time.
pub(super) async fn live_all(
    world: &World,
    count: usize,
    seed: u64,
    tally: &mut Tally,
) -> anyhow::Result<Lived> {
    let life = |n: usize| Life {
        api: Api::namespaced(world.client.clone(), NAMESPACE),
        world,
        name: format!("service-{n:03}"),
        rng: StdRng::seed_from_u64(seed.wrapping_add(1 + n as u64)),
        tally: Tally::default(),
        wanted: 0,
        patient: n.is_multiple_of(2),
    };
    let lives = try_join_all((0..count).map(|n| life(n).live(n))).await?;
    lives.iter().for_each(|life| tally.add(&life.tally));
    Ok(Lived { wanted: lives.iter().map(|life| life.wanted).sum() })
}

/// Everybody goes.
pub(super) async fn delete_all(world: &World) -> anyhow::Result<()> {
    let api = Api::<Service>::namespaced(world.client.clone(), NAMESPACE);
    let ours = api.list(&ListParams::default().labels(&format!("app={APP}"))).await?;
    for service in ours {
        let name = service.metadata.name.context("a name")?;
        api.delete(&name, &DeleteParams::default()).await?;
    }
    Ok(())
}

impl Life<'_> {
    async fn live(mut self, n: usize) -> anyhow::Result<Self> {
        let name = self.name.clone();
        self.run(n).await.with_context(|| format!("the life of {name}"))?;
        Ok(self)
    }

    async fn run(&mut self, n: usize) -> anyhow::Result<()> {
        self.pause(12_000).await;
        self.create().await?;
        for round in 0..ROUNDS {
            self.pause(2_400).await;
            // Each begins elsewhere in the list, so that together they edit every field often.
            match (n * 5 + round * 3) % (EDITS.len() + 6) {
                at if at < EDITS.len() => self.edit(EDITS[at]).await?,
                at if at == EDITS.len() => self.switch("to ClusterIP", "ClusterIP").await?,
                at if at == EDITS.len() + 1 => self.switch("to NodePort", "NodePort").await?,
                at if at == EDITS.len() + 2 => self.switch("to ExternalName", "ExternalName").await?,
                at if at == EDITS.len() + 3 => self.give_class().await?,
                at if at == EDITS.len() + 4 => self.pause_and_edit().await?,
                _ => self.make_anew().await?,
            }
        }
        if n % 4 == 3 {
            self.tally.made("deleted");
            self.api.delete(&self.name, &DeleteParams::default()).await?;
        }
        Ok(())
    }

    async fn pause(&mut self, most_millis: u64) {
        sleep(Duration::from_millis(self.rng.random_range(0..most_millis))).await;
    }

    async fn create(&mut self) -> anyhow::Result<()> {
        self.wanted += 1;
        let labels = Some(BTreeMap::from([("app".to_owned(), APP.to_owned())]));
        let metadata = ObjectMeta { name: Some(self.name.clone()), labels, ..ObjectMeta::default() };
        let mut service = Service { metadata, ..Service::default() };
        let port = ServicePort { name: Some("web".to_owned()), port: 80, ..ServicePort::default() };
        (spec(&mut service).type_, spec(&mut service).ports) =
            (Some("LoadBalancer".to_owned()), Some(vec![port]));
        self.api.create(&PostParams::default(), &service).await?;
        Ok(())
    }

    /// Whoever is patient is edited only once it is served.
    async fn is_served(&self) -> anyhow::Result<()> {
        let shows_an_address = || {
            let status = self.world.service(&self.name)?.status?.load_balancer?;
            status.ingress.filter(|ingress| !ingress.is_empty())
        };
        if !self.patient {
            return Ok(());
        }
        eventually(format!("{} served", self.name), async || Ok(shows_an_address().map(drop))).await
    }

    async fn edit(&mut self, (what, edit): (&'static str, Edit)) -> anyhow::Result<()> {
        self.wants_again().await?;
        self.is_served().await?;
        self.change(what, edit).await
    }

    /// Back to a load balancer of ours, if it is none now. From one with a class the way leads over another type.
    async fn wants_again(&mut self) -> anyhow::Result<()> {
        let service = self.api.get(&self.name).await?;
        let spec_now = service.spec.unwrap_or_default();
        let is_balancer = spec_now.type_.as_deref() == Some("LoadBalancer");
        if is_balancer && spec_now.load_balancer_class.is_none() {
            return Ok(());
        }
        if is_balancer {
            self.switch("to ClusterIP", "ClusterIP").await?;
        }
        self.wanted += 1;
        self.change("to LoadBalancer", |s, _| {
            spec(s).type_ = Some("LoadBalancer".to_owned());
            spec(s).external_name = None;
        })
        .await
    }

    async fn switch(&mut self, what: &'static str, to: &'static str) -> anyhow::Result<()> {
        self.change(what, move |s, _| {
            let spec = spec(s);
            spec.type_ = Some(to.to_owned());
            spec.load_balancer_source_ranges = None;
            if to == "ExternalName" {
                spec.external_name = Some("example.com".to_owned());
                (spec.cluster_ip, spec.cluster_ips, spec.ip_families) = (None, None, None);
                (spec.ip_family_policy, spec.session_affinity, spec.session_affinity_config) =
                    (None, None, None);
            } else {
                spec.external_name = None;
            }
        })
        .await
    }

    async fn give_class(&mut self) -> anyhow::Result<()> {
        self.wants_again().await?;
        self.switch("to ClusterIP", "ClusterIP").await?;
        self.change("a class", |s, _| {
            spec(s).type_ = Some("LoadBalancer".to_owned());
            spec(s).load_balancer_class = Some("example.com/other".to_owned());
        })
        .await
    }

    async fn pause_and_edit(&mut self) -> anyhow::Result<()> {
        self.wants_again().await?;
        let set = |s: &mut Service, _: &mut StdRng| {
            s.metadata.annotations.get_or_insert_default().insert(PAUSED.to_owned(), "true".to_owned());
        };
        self.change("paused", set).await?;
        self.pause(1_500).await;
        let (what, edit) = EDITS[self.rng.random_range(0..EDITS.len())];
        self.change(what, edit).await?;
        let clear = |s: &mut Service, _: &mut StdRng| {
            s.metadata.annotations.get_or_insert_default().remove(PAUSED);
        };
        self.change("goes on", clear).await
    }

    /// Deleted, and as soon as it is gone another of the same name is there.
    async fn make_anew(&mut self) -> anyhow::Result<()> {
        self.tally.made("made anew");
        self.api.delete(&self.name, &DeleteParams::default()).await?;
        let api = self.api.clone();
        eventually(format!("the end of {}", self.name), async || {
            Ok(api.get_opt(&self.name).await?.is_none().then_some(()))
        })
        .await?;
        self.create().await
    }

    /// Reads, changes, writes; again if somebody else wrote meanwhile, or if a port that was drawn is taken.
    async fn change(
        &mut self,
        what: &'static str,
        edit: impl Fn(&mut Service, &mut StdRng),
    ) -> anyhow::Result<()> {
        self.tally.made(what);
        for _try in 0..20 {
            let mut service = self.api.get(&self.name).await?;
            edit(&mut service, &mut self.rng);
            match self.api.replace(&self.name, &PostParams::default(), &service).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(kube::Error::Api(status)) if status.message.contains("already allocated") => {}
                Err(kube::Error::Api(status)) if status.message.contains("Duplicate value") => {}
                Err(error) => return Err(error).with_context(|| format!("{what}: {:?}", service.spec)),
            }
        }
        let found = self.world.cloud.with(|cloud| cloud.record.total_changes());
        bail!("{what}: somebody else always wrote first ({found} changes in the cloud so far)")
    }
}
