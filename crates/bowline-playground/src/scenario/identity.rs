//! Incidents with credentials: the cloud does not know us any more, or takes us for somebody else.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use sim_openstack::MEMBER;

use crate::folder::Folder;
use crate::stage::Stage;

/// So long nothing may happen.
const WATCHED: Duration = Duration::from_secs(4);

pub(super) async fn wrong_project(stage: &mut Stage) -> anyhow::Result<String> {
    let (before, balancers) = (stage.cluster.node_uids(), stage.cloud.balancers().len());
    let other = stage.cloud.swap_project();
    stage.kubelets.cut_off(true);
    frozen(stage, balancers).await?;
    stage.tell("the project has its name again, and the kubelets are heard");
    stage.cloud.swap_project_back(&other);
    stage.kubelets.cut_off(false);
    thawed(stage).await?;
    ensure!(stage.cluster.node_uids() == before, "a Node was deleted and made anew");
    Ok("changed nothing in the wrong project and deleted no Node; it went on by itself when it was itself again".to_owned())
}

pub(super) async fn wrong_password(stage: &mut Stage, folder: &Folder) -> anyhow::Result<String> {
    let (before, balancers) = (stage.cluster.node_uids(), stage.cloud.balancers().len());
    let password = "correct-horse";
    stage.cloud.change_password(password);
    stage.cloud.revoke_tokens();
    stage.kubelets.cut_off(true);
    frozen(stage, balancers).await?;
    stage.tell("cloud.conf gets the new password, and the kubelets are heard");
    folder.write("cloud.conf", &stage.cloud.conf(password))?;
    ensure!(password != MEMBER.password, "the password is another one");
    stage.kubelets.cut_off(false);
    thawed(stage).await?;
    ensure!(stage.cluster.node_uids() == before, "a Node was deleted and made anew");
    Ok("froze, kept every Node, and read the new password without a restart".to_owned())
}

/// The manager notices, says so, and changes nothing, although a person wants something.
async fn frozen(stage: &Stage, balancers: usize) -> anyhow::Result<()> {
    let nodes = stage.cluster.node_uids();
    let lost = || !stage.cluster.events("CloudIdentityLost").is_empty();
    stage.until("the manager says that the cloud does not know it", lost).await?;
    let written = stage.cloud.asked().writes;
    stage.tell("meanwhile somebody creates the Service late");
    stage.cluster.create_service("late", &json!({}))?;
    let as_before = || {
        stage.cluster.node_uids() == nodes
            && stage.cloud.balancers().len() == balancers
            && stage.cloud.asked().writes == written
    };
    stage.stays(WATCHED, "no Node is deleted and nothing is written to the cloud", as_before).await
}

async fn thawed(stage: &Stage) -> anyhow::Result<()> {
    let found = || !stage.cluster.events("CloudIdentityFound").is_empty();
    stage.until("the manager says that the cloud knows it again", found).await?;
    stage.until("all Nodes are ready", || stage.news.now().ready == stage.news.now().nodes).await?;
    stage.until("the Service late has its address", || stage.cluster.address_of("late").is_some()).await?;
    Ok(())
}
