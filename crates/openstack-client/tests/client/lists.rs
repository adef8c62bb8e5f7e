//! Lists in pages: whole or an error, with limits, and in the memory of one page.

use openstack_client::{
    Client, ErrorClass, PageLimits, Service, load_balancer::LoadBalancerQuery, network::PortQuery,
};
use serde_json::{Value, json};

use crate::cloud::{Asked, Cloud, Reply};

fn client(cloud: &Cloud, limits: PageLimits) -> Client {
    Client::new(cloud.transport(), Cloud::settings().pages(limits))
}

fn parameter(asked: &Asked, key: &str) -> Option<String> {
    let pair = asked.query.split('&').find_map(|pair| pair.strip_prefix(&format!("{key}=")))?;
    Some(pair.to_owned())
}

fn number(id: &str) -> usize {
    id.trim_start_matches("p-").parse().unwrap()
}

/// A Neutron with `count` ports, in the pages that it is asked for.
fn neutron(count: usize, links: bool) -> Cloud {
    Cloud::new(move |asked| {
        let limit: usize = parameter(asked, "limit").unwrap().parse().unwrap();
        let start = parameter(asked, "marker").map_or(0, |marker| number(&marker) + 1);
        let end = (start + limit).min(count);
        let ports: Vec<Value> =
            (start..end).map(|n| json!({"id": format!("p-{n}"), "network_id": "n"})).collect();
        let mut body = json!({"ports": ports});
        if links {
            let mut list =
                vec![json!({"rel": "previous", "href": "http://wrong.test/?marker=p-0&page_reverse=True"})];
            if end < count {
                let href = format!("http://wrong.test:9696/v2.0/ports?limit={limit}&marker=p-{}", end - 1);
                list.push(json!({"rel": "next", "href": href}));
            }
            body["ports_links"] = list.into();
        }
        Reply::ok(&body)
    })
}

const SMALL: PageLimits = PageLimits { page_size: 10, max_pages: 1000, max_items: 100_000 };

#[tokio::test(start_paused = true)]
async fn all_pages_are_read_by_links_or_by_the_last_id() {
    for links in [true, false] {
        for count in [0, 1, 9, 10, 11, 95, 100] {
            let cloud = neutron(count, links);
            let ports =
                client(&cloud, SMALL).network().ports(&PortQuery::of_device("s1")).all().await.unwrap();
            let ids: Vec<usize> = ports.iter().map(|port| number(port.id.as_str())).collect();
            assert_eq!(ids, (0..count).collect::<Vec<_>>(), "{count} with links: {links}");
            assert!(
                cloud
                    .calls()
                    .iter()
                    .all(|call| call.host == "neutron.test" && call.query.starts_with("device_id=s1"))
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pages_come_one_by_one() {
    let cloud = neutron(25, true);
    let mut pages = client(&cloud, SMALL).network().ports(&PortQuery::default());
    assert_eq!(cloud.asked().len(), 0, "nothing is asked before it is wanted");
    let mut sizes = vec![];
    while let Some(page) = pages.next_page().await.unwrap() {
        sizes.push((page.len(), cloud.calls().len()));
    }
    assert_eq!(sizes, [(10, 1), (10, 2), (5, 3)]);
    assert!(pages.next_page().await.unwrap().is_none());
    assert_eq!(cloud.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_ports_never_need_more_room_than_a_page() {
    let cloud = neutron(100_000, true);
    let mut pages = client(&cloud, PageLimits::default()).network().ports(&PortQuery::default());
    let (mut count, mut largest) = (0, 0);
    while let Some(page) = pages.next_page().await.unwrap() {
        count += page.len();
        largest = largest.max(page.len());
    }
    assert_eq!((count, largest, cloud.calls().len()), (100_000, 500, 200));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_knows_no_pages_gives_the_whole_list_once() {
    let ports: Vec<Value> = (0..10).map(|n| json!({"id": format!("p-{n}"), "network_id": "n"})).collect();
    let cloud = Cloud::new(move |_| Reply::ok(&json!({"ports": ports})));
    let found = client(&cloud, SMALL).network().ports(&PortQuery::default()).all().await.unwrap();
    assert_eq!(found.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_empty_page_with_a_link_is_not_the_end_of_the_list() {
    let cloud = Cloud::new(|asked| match parameter(asked, "marker").as_deref() {
        None => Reply::ok(&json!({"ports": [], "ports_links": [{"rel": "next", "href": "x?marker=a"}]})),
        Some(_) => Reply::ok(&json!({"ports": [{"id": "b", "network_id": "n"}], "ports_links": []})),
    });
    let found = client(&cloud, SMALL).network().ports(&PortQuery::default()).all().await.unwrap();
    assert_eq!(found.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn pages_that_go_in_a_circle_or_on_for_ever_are_an_error_and_never_a_list() {
    let circle = Cloud::new(|asked| {
        let next = if parameter(asked, "marker").as_deref() == Some("a") { "b" } else { "a" };
        Reply::ok(&json!({"ports": [{"id": next, "network_id": "n"}],
            "ports_links": [{"rel": "next", "href": format!("x?marker={next}")}]}))
    });
    let error = client(&circle, SMALL).network().ports(&PortQuery::default()).all().await.unwrap_err();
    assert!(error.to_string().contains("in a circle"), "{error}");

    let few_pages = PageLimits { max_pages: 3, ..SMALL };
    let error =
        client(&neutron(31, true), few_pages).network().ports(&PortQuery::default()).all().await.unwrap_err();
    assert!(error.to_string().contains("more than 3 pages"), "{error}");
    client(&neutron(30, true), few_pages).network().ports(&PortQuery::default()).all().await.unwrap();

    let few_items = PageLimits { max_items: 15, ..SMALL };
    let error =
        client(&neutron(20, true), few_items).network().ports(&PortQuery::default()).all().await.unwrap_err();
    assert!(error.to_string().contains("more than 15 objects"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_on_any_page_fails_the_list() {
    for bad in [
        Reply::text(502, "<html></html>"),
        Reply::text(200, r#"{"ports": [{"id": "p-10", "network_id": "n"}, {"id": "#),
        Reply::text(200, ""),
        Reply::ok(&json!({})),
        Reply::ok(&json!({"ports": [{"id": "p-10"}]})),
        Reply::Broken("reset"),
    ] {
        let shown = format!("{bad:?}");
        let flaky = Cloud::new(move |asked| match asked.query.contains("marker") {
            true => bad.clone(),
            false => first_page(),
        });
        let error =
            client(&flaky, SMALL).network().ports(&PortQuery::default()).all().await.expect_err(&shown);
        assert_eq!(error.class(), ErrorClass::Transient, "{error}");
        assert_eq!(error.service(), Some(Service::Network));
    }
}

/// Ten ports, and a link to more.
fn first_page() -> Reply {
    let ports: Vec<Value> = (0..10).map(|n| json!({"id": format!("p-{n}"), "network_id": "n"})).collect();
    Reply::ok(&json!({"ports": ports, "ports_links": [{"rel": "next", "href": "x?marker=p-9"}]}))
}

#[tokio::test(start_paused = true)]
async fn a_marker_that_vanished_means_that_the_list_changed_and_not_that_something_is_not_there() {
    let gone = json!({"NeutronError": {"type": "PortNotFound", "message": "Port p-9 could not be found.", "detail": ""}});
    let cloud = Cloud::new(move |asked| match asked.query.contains("marker") {
        true => Reply::json(404, &gone),
        false => Reply::ok(
            &json!({"ports": [{"id": "p-9", "network_id": "n"}], "ports_links": [{"rel": "next", "href": "x?marker=p-9"}]}),
        ),
    });
    let error = cloud.client().network().ports(&PortQuery::default()).all().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict);
    let gone = json!({"faultcode": "Client", "faultstring": "Supplied pagination marker 'x' is not valid.", "debuginfo": null});
    let cloud = Cloud::new(move |asked| match asked.query.contains("marker") {
        true => Reply::json(400, &gone),
        false => Reply::ok(&json!({"loadbalancers": [{"id": "x", "provisioning_status": "ACTIVE"}],
            "loadbalancers_links": [{"rel": "next", "href": "x?marker=x"}]})),
    });
    let error =
        cloud.client().load_balancer().load_balancers(&LoadBalancerQuery::default()).all().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict);
}
