//! The command line as people use it: the binary, a real API server with its rights, and a manager at work on a simulated OpenStack over HTTP.
//! Who has which rights is as `docs/guides/command-line.md` has it: its roles are applied from the page.

mod harness;
mod lacking;
mod looking;
mod person;
mod writing;

use bowline_testkit::kubectl::Kubectl;

use crate::people::harness::Harness;

/// One cluster for all of it, since each step goes on from the state that the last one left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_is_told_what_is_true_as_far_as_their_rights_go_and_which_right_is_missing_beyond()
-> anyhow::Result<()> {
    let Some(kubectl) = Kubectl::locate()? else { return Ok(()) };
    let site = Harness::start(&kubectl).await?;
    let (reader, writer) = (site.reader().await?, site.writer().await?);
    looking::at_what_is_well(&site, &reader).await?;
    looking::at_the_leader_that_the_lease_names(&site, &reader).await?;
    looking::at_the_cloud_that_the_cluster_names(&site).await?;
    looking::without_a_way_to_the_manager_or_the_cloud(&site, &reader).await?;
    lacking::all_rights(&site).await?;
    lacking::all_but_one_namespace(&site).await?;
    lacking::the_lease(&site).await?;
    lacking::one_rule_of_the_roles(&site).await?;
    writing::a_drift_is_seen_by_one_and_repaired_for_another(&site, &reader, &writer).await?;
    writing::nodes_are_let_go_of_by_who_may(&site, &reader, &writer).await?;
    site.end().await
}
