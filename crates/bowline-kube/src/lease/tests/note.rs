//! What a holder says of itself on the Lease goes with the writes of the election and with no others.

use http::Method;
use tokio::sync::watch;

use super::{server::LeaseServer, *};

const KEY: &str = "bowline.dev/serving-certificate-sha256";

fn said(server: &LeaseServer) -> Option<String> {
    server.lease()["metadata"]["annotations"][KEY].as_str().map(str::to_owned)
}

fn telling(client: Client, identity: &str, value: Option<&str>) -> (Elector, watch::Sender<Option<String>>) {
    let sender = watch::Sender::new(value.map(str::to_owned));
    (elector(client, identity).with_annotation(KEY, sender.subscribe()), sender)
}

#[tokio::test(start_paused = true)]
async fn a_new_value_is_on_the_lease_with_the_next_renewal_and_costs_no_write() {
    let server = LeaseServer::default();
    let (client, log) = server.good_link();
    let (elector, value) = telling(client, "a", Some("one"));
    let mut a = Running::start(elector);
    a.until_leading().await;
    assert_eq!(said(&server).as_deref(), Some("one"), "from the first moment");
    tokio::time::sleep(60 * SECOND).await;
    value.send_replace(Some("two".to_owned()));
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(said(&server).as_deref(), Some("two"));
    tokio::time::sleep(57 * SECOND).await;
    let puts = log.all().iter().filter(|asked| asked.method == Method::PUT).count();
    // One every two seconds, as without it.
    assert!((58..=60).contains(&puts), "{puts}");
    assert_eq!(log.all().len(), puts + 2, "a look and a create besides");
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_holder_said_is_not_left_for_the_next() {
    let server = LeaseServer::default();
    let (elector_a, _value) = telling(server.good_link().0, "a", Some("of-a"));
    let mut a = Running::start(elector_a);
    a.until_leading().await;
    server.annotate(Some("rack 7 moves"));
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(said(&server).as_deref(), Some("of-a"), "it comes back beside what people write");
    let (mut elector_a, _) = a.stop().await;
    elector_a.release().await.unwrap();
    assert_eq!((said(&server), server.annotation().as_str()), (None, "rack 7 moves"));

    // One that died did not take it with it, and the next one has no serving port.
    let (elector_a, _value) = telling(server.good_link().0, "a", Some("of-a"));
    let mut a = Running::start(elector_a);
    a.until_leading().await;
    drop(a.stop().await);
    assert_eq!(said(&server).as_deref(), Some("of-a"));
    let (elector_b, _value) = telling(server.good_link().0, "b", None);
    let mut b = Running::start(elector_b);
    b.until_leading().await;
    assert_eq!((said(&server), server.annotation().as_str()), (None, "rack 7 moves"));
}

#[tokio::test(start_paused = true)]
async fn a_standby_writes_nothing_of_itself() {
    let server = LeaseServer::default();
    let (elector_a, _value) = telling(server.good_link().0, "a", Some("of-a"));
    let mut a = Running::start(elector_a);
    a.until_leading().await;
    let (client, log) = server.good_link();
    let (elector_b, _value) = telling(client, "b", Some("of-b"));
    let b = Running::start(elector_b);
    tokio::time::sleep(60 * SECOND).await;
    assert!(log.all().iter().all(|asked| asked.method == Method::GET));
    assert_eq!(said(&server).as_deref(), Some("of-a"));
    drop(b.stop().await);
}
