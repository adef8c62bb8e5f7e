//! A cloud.conf that changes while the cloud works.

use std::time::Duration;

use bowline_cloud::{AddressKind, Cloud, ErrorClass};
use bowline_testkit::eventually_virtual;
use sim_openstack::MEMBER;

use super::{Bench, found, supported};
use crate::instances::simulation::{class, present};

#[tokio::test(start_paused = true)]
async fn a_password_is_rotated_under_a_controller_that_runs() {
    let bench = Bench::new(1);
    let cloud = bench.working().await;
    let instances = supported(cloud.instances());
    present(&found(&instances, "node-1").await);
    let project = cloud.identity().await.unwrap();

    bench.simulation.change_password("new-secret").unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(class(&found(&instances, "node-1").await), Some(ErrorClass::Unauthenticated));
    // The old token would not have run out yet, but Keystone does not stand by it.
    assert_eq!(cloud.identity().await.unwrap_err().class(), ErrorClass::Unauthenticated);
    bench.write("new-secret", "");
    eventually_virtual("the new password", || cloud.current.reloader.status().generation == 2).await;
    present(&found(&instances, "node-1").await);
    assert_eq!(cloud.identity().await.unwrap(), project);
}

#[tokio::test(start_paused = true)]
async fn rules_for_addresses_take_effect_without_a_restart() {
    let bench = Bench::new(1);
    let cloud = bench.working().await;
    let instances = supported(cloud.instances());
    let kind = |evidence| present(&evidence).addresses[0].kind;
    assert_eq!(kind(found(&instances, "node-1").await), AddressKind::InternalIP);
    bench.write(MEMBER.password, "[Networking]\npublic-network-name=k8s-net\n");
    eventually_virtual("the new rules", || cloud.current.reloader.status().generation == 2).await;
    assert_eq!(kind(found(&instances, "node-1").await), AddressKind::ExternalIP);
}

#[tokio::test(start_paused = true)]
async fn a_comment_is_no_new_configuration() {
    let bench = Bench::new(1);
    let cloud = bench.working().await;
    eventually_virtual("the project", || cloud.current.reloader.status().project.is_some()).await;
    let (parts, calls) = (cloud.current.parts(), bench.simulation.calls());
    bench.write(MEMBER.password, "# nothing new\n");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(std::sync::Arc::ptr_eq(&parts, &cloud.current.parts()));
    assert_eq!(bench.simulation.calls(), calls);
}

#[tokio::test(start_paused = true)]
async fn credentials_of_another_project_and_files_that_are_wrong_change_nothing() {
    let bench = Bench::new(1);
    let cloud = bench.working().await;
    let project = cloud.identity().await.unwrap();
    for (password, more) in [
        ("k8s-secret", "[Global]\ntenant-name=admin\nusername=admin\npassword=admin-secret\n"),
        ("p", "[Global\n"),
    ] {
        bench.write(password, more);
        eventually_virtual("refused", || cloud.current.reloader.status().refused.is_some()).await;
        assert_eq!(cloud.identity().await.unwrap(), project);
        present(&found(&supported(cloud.instances()), "node-1").await);
        assert_eq!(cloud.current.reloader.status().generation, 1);
        bench.write(MEMBER.password, "");
        eventually_virtual("taken back", || cloud.current.reloader.status().refused.is_none()).await;
    }
}
