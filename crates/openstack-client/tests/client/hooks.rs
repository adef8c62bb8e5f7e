//! What is asked before calls, and what is counted after them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use openstack_client::{
    ApiMetrics, Budget, Client, Closed, ErrorClass, Outcome, PageLimits, PoolId, PortId, Priority, ServerId,
    Service,
    network::{PortQuery, PortUpdate},
};
use parking_lot::Mutex;
use prometheus_client::{encoding::text::encode, registry::Registry};
use serde_json::json;

use crate::cloud::{Asked, Cloud, Reply};

#[derive(Debug, Default)]
struct Recorder {
    asked: Mutex<Vec<(Service, Priority)>>,
    pauses: Mutex<Vec<(Service, Duration)>>,
}

#[async_trait]
impl Budget for Recorder {
    async fn acquire(&self, service: Service, priority: Priority) {
        self.asked.lock().push((service, priority));
    }

    fn throttled(&self, service: Service, pause: Duration) {
        self.pauses.lock().push((service, pause));
    }
}

fn port(_: &Asked) -> Reply {
    Reply::ok(&json!({"port": {"id": "p1", "network_id": "n"}}))
}

#[tokio::test(start_paused = true)]
async fn the_budget_is_asked_before_every_request_also_for_a_token_and_each_page() {
    let budget = Arc::new(Recorder::default());
    let cloud = Cloud::new(|asked| match asked.query.contains("marker") {
        true => Reply::ok(&json!({"ports": [], "ports_links": []})),
        false => Reply::ok(
            &json!({"ports": [{"id": "p", "network_id": "n"}], "ports_links": [{"rel": "next", "href": "x?marker=p"}]}),
        ),
    });
    let client = Client::new(cloud.transport(), Cloud::settings().budget(budget.clone()));
    client.with_priority(Priority::Background).network().ports(&PortQuery::default()).all().await.unwrap();
    let background = (Service::Network, Priority::Background);
    assert_eq!(*budget.asked.lock(), [background, (Service::Identity, Priority::User), background]);
}

#[tokio::test(start_paused = true)]
async fn the_budget_is_told_when_a_service_asks_for_a_pause() {
    let budget = Arc::new(Recorder::default());
    let cloud = Cloud::new(|asked| match asked.host.as_str() {
        "nova.test" => Reply::text(429, "").with("retry-after", "17"),
        _ => Reply::text(429, ""),
    });
    let client = Client::new(cloud.transport(), Cloud::settings().budget(budget.clone()));
    let error = client.compute().server(&ServerId::new("s").unwrap()).await.unwrap_err();
    assert_eq!((error.class(), error.retry_after()), (ErrorClass::Throttled, Some(Duration::from_secs(17))));
    client.network().port(&PortId::new("p").unwrap()).await.unwrap_err();
    let pauses = budget.pauses.lock();
    assert_eq!(pauses[0], (Service::Compute, Duration::from_secs(17)));
    assert_eq!(pauses[1].0, Service::Network);
    assert_eq!(cloud.calls().len(), 2, "nothing is repeated");
}

/// A cloud that answers each call but the first so many with a port.
fn refuses(times: u64, with: &Reply) -> Cloud {
    let (asked, with) = (AtomicU64::new(0), with.clone());
    Cloud::new(move |call| match asked.fetch_add(1, Ordering::SeqCst) {
        number if number < times => with.clone(),
        _ => port(call),
    })
}

#[tokio::test(start_paused = true)]
async fn a_patient_client_makes_a_change_again_that_was_refused_for_some_seconds_and_asks_budget_and_fence_each_time()
 {
    let (budget, asked) = (Arc::new(Recorder::default()), Arc::new(AtomicU64::new(0)));
    let cloud = refuses(2, &Reply::text(429, "").with("retry-after", "3"));
    let client = Client::new(cloud.transport(), Cloud::settings().budget(budget.clone())).patient();
    let count = Arc::clone(&asked);
    let fence = move || {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    let (began, id) = (tokio::time::Instant::now(), PortId::new("p1").unwrap());
    let network = client.fenced_by(Arc::new(fence)).network();
    network.update_port(&id, &PortUpdate::default(), None).await.unwrap();
    assert_eq!((cloud.calls().len(), asked.load(Ordering::SeqCst)), (3, 3));
    assert_eq!(began.elapsed(), Duration::from_secs(6));
    let of_neutron = budget.asked.lock().iter().filter(|(of, _)| *of == Service::Network).count();
    assert_eq!((of_neutron, budget.pauses.lock().len()), (3, 2), "the others wait as well");
}

#[tokio::test(start_paused = true)]
async fn a_patient_client_makes_nothing_again_that_may_have_been_done_or_that_was_put_off_for_long() {
    let id = PortId::new("p1").unwrap();
    for reply in [
        Reply::text(503, "<html>no server</html>"),
        Reply::text(503, "").with("retry-after", "1"),
        Reply::text(502, ""),
        Reply::text(429, "").with("retry-after", "6"),
        Reply::text(429, ""),
        Reply::Broken("connection reset"),
    ] {
        let cloud = refuses(1, &reply);
        let network = cloud.client().patient().network();
        network.update_port(&id, &PortUpdate::default(), None).await.unwrap_err();
        assert_eq!(cloud.calls().len(), 1, "{reply:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_patient_client_reads_again_when_nobody_serves_but_once_each_in_an_outage() {
    let id = PortId::new("p1").unwrap();
    let down = Reply::text(503, "<html>no server</html>");
    let cloud = refuses(2, &down);
    cloud.client().patient().network().port(&id).await.unwrap();
    assert_eq!(cloud.calls().len(), 3);
    let cloud = refuses(100, &down);
    let (client, hasty) = (cloud.client().patient(), cloud.client());
    client.network().port(&id).await.unwrap_err();
    assert_eq!(cloud.calls().len(), 3, "tried three times");
    for number in 4..10 {
        client.network().port(&id).await.unwrap_err();
        assert_eq!(cloud.calls().len(), number, "it has failed too often in a row");
    }
    hasty.network().port(&id).await.unwrap_err();
    assert_eq!(cloud.calls().len(), 10, "others make each call once");
}

#[tokio::test(start_paused = true)]
async fn a_closed_fence_stops_every_change_and_no_reading() {
    let cloud = Cloud::new(port);
    let open = Arc::new(AtomicBool::new(false));
    let is_open = Arc::clone(&open);
    let fence = move || match is_open.load(Ordering::SeqCst) {
        true => Ok(()),
        false => Err(Closed("the lease has run out".to_owned())),
    };
    let network = cloud.client().fenced_by(Arc::new(fence)).network();
    let id = PortId::new("p1").unwrap();
    network.port(&id).await.unwrap();
    let error = network.update_port(&id, &PortUpdate::default(), None).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Fenced, Outcome::NotSent));
    assert!(error.to_string().contains("the lease has run out"), "{error}");
    assert_eq!(network.delete_port(&id).await.unwrap_err().class(), ErrorClass::Fenced);
    assert!(cloud.calls().iter().all(|call| call.method == "GET"));
    open.store(true, Ordering::SeqCst);
    network.update_port(&id, &PortUpdate::default(), None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_fence_is_asked_again_before_a_change_is_repeated_with_a_new_token() {
    let cloud = Cloud::new(|_| Reply::unauthorized());
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let fence = move || match count.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(()),
        _ => Err(Closed("lost".to_owned())),
    };
    let network = cloud.client().fenced_by(Arc::new(fence)).network();
    let error = network.delete_port(&PortId::new("p1").unwrap()).await.unwrap_err();
    assert_eq!((error.class(), cloud.calls().len()), (ErrorClass::Fenced, 1));
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_under_the_names_of_openstacks_own_controller_manager() {
    let mut registry = Registry::default();
    let metrics = ApiMetrics::register(&mut registry);
    let cloud = Cloud::new(|asked| match (asked.path.as_str(), asked.query.contains("marker")) {
        ("/v2.0/ports", true) => {
            Reply::ok(&json!({"ports": [], "ports_links": []})).after(Duration::from_secs(1))
        }
        ("/v2.0/ports", false) => Reply::ok(&json!({"ports": [{"id": "p", "network_id": "n"}],
            "ports_links": [{"rel": "next", "href": "x?marker=p"}]}))
        .after(Duration::from_secs(1)),
        ("/v2.1/servers/gone", _) => {
            Reply::json(404, &json!({"itemNotFound": {"code": 404, "message": "x"}}))
        }
        ("/v2.1/servers/silent", _) => Reply::Silence,
        _ => port(asked),
    });
    let client =
        Client::new(cloud.transport(), Cloud::settings().metrics(metrics).pages(PageLimits::default()));
    client.network().ports(&PortQuery::default()).all().await.unwrap();
    client.network().update_port(&PortId::new("p1").unwrap(), &PortUpdate::default(), None).await.unwrap();
    client.compute().server(&ServerId::new("gone").unwrap()).await.unwrap_err();
    let silent = ServerId::new("silent").unwrap();
    tokio::time::timeout(Duration::from_secs(5), client.compute().server(&silent)).await.unwrap_err();
    // Lists whose reader had enough, or gave up in the middle of a page.
    let mut pages = client.network().ports(&PortQuery::of_device("left"));
    pages.next_page().await.unwrap();
    drop(pages);
    let late = client.network().ports(&PortQuery::of_device("late")).all();
    tokio::time::timeout(Duration::from_millis(1), late).await.unwrap_err();
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    for line in [
        r#"openstack_api_requests_total{request="port_list"} 3"#,
        r#"openstack_api_request_errors_total{request="port_list"} 1"#,
        r#"openstack_api_request_duration_seconds_sum{request="port_list"} 3.0"#,
        r#"openstack_api_request_duration_seconds_bucket{le="0.005",request="port_update"} 1"#,
        r#"openstack_api_requests_total{request="port_update"} 1"#,
        r#"openstack_api_requests_total{request="server_get"} 2"#,
        r#"openstack_api_request_errors_total{request="server_get"} 2"#,
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    assert!(!text.contains(r#"errors_total{request="port_update"}"#), "{text}");
}

/// A budget without end of waiting.
#[derive(Debug)]
struct Exhausted;

#[async_trait]
impl Budget for Exhausted {
    async fn acquire(&self, service: Service, _priority: Priority) {
        if service != Service::Identity {
            std::future::pending::<()>().await;
        }
    }

    fn throttled(&self, _service: Service, _pause: Duration) {}
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_fence_closes_while_it_waits_for_the_budget_is_given_up_when_it_is_woken() {
    let cloud = Cloud::new(port);
    let open = Arc::new(AtomicBool::new(true));
    let is_open = Arc::clone(&open);
    let fence = move || match is_open.load(Ordering::SeqCst) {
        true => Ok(()),
        false => Err(Closed("something newer".to_owned())),
    };
    let client = Client::new(cloud.transport(), Cloud::settings().budget(Arc::new(Exhausted)));
    let network = client.fenced_by(Arc::new(fence)).network();
    let id = PortId::new("p1").unwrap();
    let update = PortUpdate::default();
    let mut change = std::pin::pin!(network.update_port(&id, &update, None));
    let wait = Duration::from_secs(60);
    assert!(tokio::time::timeout(wait, &mut change).await.is_err(), "it waits");
    open.store(false, Ordering::SeqCst);
    let error = change.await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Fenced, Outcome::NotSent));
    assert_eq!(cloud.calls().len(), 0);
}

/// A round over all load balancers has as many calls that wait as there are, and each would have all nodes in its body.
#[tokio::test(start_paused = true)]
async fn the_members_of_a_batch_that_waits_for_the_budget_are_not_written_yet() {
    let cloud = Cloud::new(|_asked| Reply::text(202, ""));
    let asked = Arc::new(AtomicBool::new(false));
    let members = |asked: &Arc<AtomicBool>| {
        let asked = Arc::clone(asked);
        move || {
            asked.store(true, Ordering::SeqCst);
            Vec::new()
        }
    };
    let pool = PoolId::new("po1").unwrap();
    let waiting = Client::new(cloud.transport(), Cloud::settings().budget(Arc::new(Exhausted)));
    let octavia = waiting.load_balancer();
    let change = octavia.batch_members(&pool, members(&asked), false);
    assert!(tokio::time::timeout(Duration::from_secs(60), change).await.is_err(), "it waits");
    assert!(!asked.load(Ordering::SeqCst));
    cloud.client().load_balancer().batch_members(&pool, members(&asked), false).await.unwrap();
    assert!(asked.load(Ordering::SeqCst));
}
