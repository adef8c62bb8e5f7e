//! Incidents with other clusters in the same project.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::cluster::Cluster;
use crate::folder::Folder;
use crate::kubelet::Kubelets;
use crate::manager::Recipe;
use crate::news::News;
use crate::stage::Stage;

const WATCHED: Duration = Duration::from_secs(4);

/// The second cluster, as servers and people call it; its manager has the name that all have.
const SECOND: &str = "blue";

pub(super) async fn two_of_one_name(stage: &mut Stage, folder: &Folder) -> anyhow::Result<String> {
    let address = stage.cluster.address_of("web");
    let balancer = stage.cloud.balancers().into_iter().next().context("there is no load balancer")?;
    let members = stage.cloud.members(&balancer.id);

    let (listener, _) = stage.house.listen.bind(0).await?;
    let second = Cluster::start(listener)?;
    let kubeconfig = folder.write("kubeconfig-blue", &second.kubeconfig())?;
    let flags = ["--load-balancer-repair-period=2s".to_owned()];
    let recipe = Recipe::new(
        stage.house.make,
        &kubeconfig,
        &folder.file("cloud.conf"),
        &flags,
        stage.house.log_level.clone(),
    );
    let news = News::start(second.kube.clone(), None, stage.terminal().clone(), "(blue) ");
    for number in 1..=2 {
        stage.cloud.add_server(&format!("blue-{number}"), SECOND);
    }
    let _kubelets = Kubelets::start(second.kube.clone(), Arc::clone(&stage.cloud), SECOND, false);
    let manager = recipe.start()?;
    let played = async {
        stage.until("the second cluster's nodes are initialised", || news.now().initialised == 2).await?;
        second.create_service("web", &json!({}))?;
        let refused = || second.events("SyncLoadBalancerFailed").into_iter().next();
        stage.until("the second cluster's manager refuses", || refused().is_some()).await?;
        let as_before = || {
            let same =
                stage.cloud.balancers().iter().any(|one| one.id == balancer.id && one.tags == balancer.tags);
            same && stage.cloud.members(&balancer.id) == members
        };
        stage.stays(WATCHED, "the first cluster's load balancer is as it was", as_before).await?;
        ensure!(second.address_of("web").is_none(), "the second cluster shows the first one's address");
        stage.tell("the second cluster's Service is deleted");
        second.services().delete("web")?;
        let gone = || second.services().get("web").is_ok_and(|service| service.is_none());
        stage.until("it is gone", gone).await?;
        stage.stays(WATCHED, "the first cluster's load balancer is as it was", as_before).await?;
        ensure!(
            stage.cluster.address_of("web") == address,
            "the first cluster's Service has another address"
        );
        anyhow::Ok(refused().unwrap_or_default())
    };
    let said = played.await;
    manager.end().await;
    news.end().await;
    let said = said?;
    ensure!(said.contains("tagged as of cluster"), "it does not say whose the load balancer is: {said}");
    Ok("refused to touch what belongs to the other cluster, said whose it is, and let the Service go without it".to_owned())
}
