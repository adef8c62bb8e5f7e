//! A person pauses the whole cluster by an annotation of the Lease: who leads obeys, and so does who leads next.

use bowline_core::Fence;

use super::{server::LeaseServer, *};

#[tokio::test(start_paused = true)]
async fn an_annotation_closes_the_fence_with_the_next_renewal_and_leadership_stays() {
    let server = LeaseServer::default();
    let mut a = Running::start(elector(server.good_link().0, "a"));
    a.until_leading().await;
    assert!(a.fence.check().is_ok());
    server.annotate(Some("rack 7 moves"));
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(a.fence.said().as_deref(), Some("rack 7 moves"));
    assert!(a.fence.check().is_err());
    tokio::time::sleep(600 * SECOND).await;
    assert_eq!(server.holder(), "a", "a pause is no reason to lead no more");
    assert_eq!(server.annotation(), "rack 7 moves", "renewals keep it");
    server.annotate(None);
    tokio::time::sleep(3 * SECOND).await;
    assert!(a.fence.check().is_ok());
    assert_eq!(a.fence.paused(), None);
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_obeys_the_pause_that_it_finds_from_its_first_moment() {
    let server = LeaseServer::default();
    let mut a = Running::start(elector(server.good_link().0, "a"));
    a.until_leading().await;
    server.annotate(Some("yes"));
    tokio::time::sleep(5 * SECOND).await;
    let (mut elector_a, _) = a.stop().await;
    elector_a.release().await.unwrap();
    let mut b = Running::start(elector(server.good_link().0, "b"));
    b.until_leading().await;
    assert_eq!(b.fence.said().as_deref(), Some("yes"));
    assert!(b.fence.check().is_err());
}

#[tokio::test(start_paused = true)]
async fn deleting_the_lease_does_not_end_the_pause_and_taking_the_annotation_off_does() {
    let server = LeaseServer::default();
    let mut a = Running::start(elector(server.good_link().0, "a"));
    a.until_leading().await;
    server.annotate(Some("rack 7 moves"));
    tokio::time::sleep(3 * SECOND).await;
    server.delete();
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!((server.holder().as_str(), server.annotation().as_str()), ("a", "rack 7 moves"));
    assert!(a.fence.check().is_err());
    server.annotate(None);
    tokio::time::sleep(3 * SECOND).await;
    assert!(a.fence.check().is_ok());
    server.delete();
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(
        (server.holder().as_str(), server.annotation().as_str()),
        ("a", ""),
        "no pause, no annotation"
    );
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_finds_a_paused_lease_gone_makes_one_that_is_paused() {
    let server = LeaseServer::default();
    server.hold("a", 15, 0);
    server.annotate(Some("yes"));
    let mut b = Running::start(elector(server.good_link().0, "b"));
    tokio::time::sleep(5 * SECOND).await;
    server.delete();
    b.until_leading().await;
    assert_eq!(server.annotation(), "yes");
    assert_eq!(b.fence.said().as_deref(), Some("yes"));
}
