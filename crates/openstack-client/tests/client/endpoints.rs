//! Where services are: Keystone's discovery, the catalog, versions in and out of its addresses.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use openstack_client::{
    AuthOptions, Client, ErrorClass, FlavorId, Interface, Offered, Outcome, PoolId, PortId, SecretId,
    Service, Settings,
};
use serde_json::{Value, json};

use crate::cloud::{Asked, Cloud, Reply, options, token};

fn anything(_: &Asked) -> Reply {
    Reply::ok(&json!({"flavor": {"id": "1", "name": "m"}, "port": {"id": "p", "network_id": "n"},
        "pool": {"id": "p", "protocol": "TCP"}, "secret_ref": "http://b/v1/secrets/s"}))
}

/// A Keystone whose catalog publishes each service at one address.
fn publishing(
    addresses: &'static [(&'static str, &'static str)],
) -> impl Fn(&Asked) -> Reply + Send + Sync + 'static {
    move |_| {
        let Reply::Answer { status, headers, body } = token("token-1", Duration::from_secs(3600)) else {
            panic!()
        };
        let mut body: Value = serde_json::from_slice(&body).unwrap();
        body["token"]["catalog"] = addresses
            .iter()
            .map(|(kind, url)| json!({"type": kind, "endpoints": [{"interface": "public", "region": "R", "url": url}]}))
            .collect();
        Reply::Answer { status, headers, body: body.to_string().into() }
    }
}

async fn path_of(service: &'static str, url: &'static str) -> String {
    let addresses: &'static [(&'static str, &'static str)] = Box::leak(Box::new([(service, url)]));
    let cloud = Cloud::new(|asked| match asked.path.as_str() {
        "/" | "/compute/" => Reply::json(
            300,
            &json!({"versions": [
            {"id": "v2.0", "status": "SUPPORTED", "links": [{"rel": "self", "href": "http://wrong.test/v2/"}]},
            {"id": "v2.1", "status": "CURRENT", "version": "2.104", "min_version": "2.1",
             "links": [{"rel": "self", "href": "http://wrong.test/v2.1/"}]}]}),
        ),
        _ => anything(asked),
    });
    let cloud = cloud.keystone(publishing(addresses));
    let client = cloud.client();
    match service {
        "compute" => drop(client.compute().flavor(&FlavorId::new("1").unwrap()).await.unwrap()),
        "network" => drop(client.network().port(&PortId::new("p").unwrap()).await.unwrap()),
        "load-balancer" => drop(client.load_balancer().pool(&PoolId::new("p").unwrap()).await.unwrap()),
        _ => drop(client.key_manager().secret(&SecretId::new("s").unwrap()).await.unwrap()),
    }
    cloud.calls().last().unwrap().path.clone()
}

#[tokio::test(start_paused = true)]
async fn endpoints_may_be_published_with_their_version_or_without() {
    for (service, url, expected) in [
        ("compute", "http://n.test/v2.1", "/v2.1/flavors/1"),
        ("compute", "http://n.test/v2.1/", "/v2.1/flavors/1"),
        ("compute", "http://n.test:8774/v2/05a2ca", "/v2/05a2ca/flavors/1"),
        ("compute", "http://n.test/compute/v2.1", "/compute/v2.1/flavors/1"),
        ("compute", "http://n.test", "/v2.1/flavors/1"),
        ("compute", "http://n.test/compute", "/compute/v2.1/flavors/1"),
        ("network", "http://n.test", "/v2.0/ports/p"),
        ("network", "http://n.test/v2.0/", "/v2.0/ports/p"),
        ("network", "http://n.test/networking", "/networking/v2.0/ports/p"),
        ("load-balancer", "http://n.test", "/v2.0/lbaas/pools/p"),
        ("load-balancer", "http://n.test/v2", "/v2.0/lbaas/pools/p"),
        ("load-balancer", "http://n.test/load-balancer/v2.0", "/load-balancer/v2.0/lbaas/pools/p"),
        ("key-manager", "http://n.test/key-manager", "/key-manager/v1/secrets/s"),
        ("key-manager", "http://n.test/v1/", "/v1/secrets/s"),
    ] {
        assert_eq!(path_of(service, url).await, expected, "{service} at {url}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_is_found_out_once() {
    let cloud = Cloud::new(|asked| match asked.path.as_str() {
        "/" => Reply::ok(&json!({"versions": [{"id": "v2.1", "status": "CURRENT"}]})),
        _ => anything(asked),
    })
    .keystone(publishing(&[("compute", "http://n.test")]));
    let client = cloud.client();
    for _ in 0..3 {
        client.compute().flavor(&FlavorId::new("1").unwrap()).await.unwrap();
    }
    let lines: Vec<String> = cloud.calls().iter().map(Asked::line).collect();
    let call = "GET n.test/v2.1/flavors/1";
    assert_eq!(lines, ["GET n.test/", call, call, call]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_moves_is_found_at_its_new_place_with_the_next_token() {
    let before = publishing(&[("network", "http://old.test")]);
    let after = publishing(&[("network", "http://new.test/networking")]);
    let moved = AtomicBool::new(false);
    let cloud = Cloud::new(|asked| match asked.host.as_str() {
        "old.test" => Reply::unauthorized(),
        _ => anything(asked),
    })
    .keystone(move |asked| if moved.swap(true, Ordering::SeqCst) { after(asked) } else { before(asked) });
    cloud.client().network().port(&PortId::new("p").unwrap()).await.unwrap();
    let lines: Vec<String> = cloud.calls().iter().map(Asked::line).collect();
    assert_eq!(lines, ["GET old.test/v2.0/ports/p", "GET new.test/networking/v2.0/ports/p"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_we_do_not_speak_is_refused_before_anything_is_sent() {
    let cloud = Cloud::new(anything).keystone(publishing(&[("network", "http://n.test/v3")]));
    let error = cloud.client().network().port(&PortId::new("p").unwrap()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unsupported);
    assert!(error.to_string().contains("version 3"), "{error}");
    assert!(cloud.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn region_and_interface_choose_the_endpoint_and_what_is_missing_is_said() {
    let cloud = Cloud::new(anything);
    let settings = || Settings::new(options().resolve().unwrap());
    let port = PortId::new("p").unwrap();
    let there = Client::new(cloud.transport(), settings().region("RegionOne"));
    there.network().port(&port).await.unwrap();
    assert!(there.has(Service::LoadBalancer).await.unwrap());
    let elsewhere = Client::new(cloud.transport(), settings().region("Nowhere"));
    let error = elsewhere.network().port(&port).await.unwrap_err();
    assert!(error.to_string().contains("\"Nowhere\"") && error.to_string().contains("RegionOne"), "{error}");
    assert!(!elsewhere.has(Service::Network).await.unwrap());
    let inside = Client::new(cloud.transport(), settings().interface(Interface::Internal));
    assert_eq!(inside.network().port(&port).await.unwrap_err().class(), ErrorClass::Unsupported);
}

#[test]
fn interfaces_have_three_names() {
    for (text, expected) in [
        ("", Some(Interface::Public)),
        ("public", Some(Interface::Public)),
        ("internal", Some(Interface::Internal)),
        ("adminURL", Some(Interface::Admin)),
        ("Public", None),
        ("private", None),
    ] {
        assert_eq!(Interface::parse(text), expected, "{text}");
    }
}

async fn login(auth_url: &str, root: Reply) -> (Cloud, Result<(), openstack_client::Error>) {
    let cloud = Cloud::new(anything).keystone(move |asked| match asked.path.ends_with("/auth/tokens") {
        true => token("token-1", Duration::from_secs(3600)),
        false => root.clone(),
    });
    let options = AuthOptions { auth_url: Some(auth_url.to_owned()), ..options() };
    let client = Client::new(cloud.transport(), Settings::new(options.resolve().unwrap()));
    let result = client.identity().await.map(drop);
    (cloud, result)
}

#[tokio::test(start_paused = true)]
async fn keystone_is_asked_for_its_versions_only_where_its_address_does_not_say_one() {
    let versions = Reply::json(
        300,
        &json!({"versions": {"values": [{"id": "v3.14", "status": "stable",
        "links": [{"rel": "self", "href": "http://internal.test:5000/v3/"}]}]}}),
    );
    for (url, expected) in [
        ("http://keystone.test/v3", vec!["POST keystone.test/v3/auth/tokens"]),
        ("http://keystone.test/v3/", vec!["POST keystone.test/v3/auth/tokens"]),
        ("http://keystone.test/identity/v3", vec!["POST keystone.test/identity/v3/auth/tokens"]),
        ("http://keystone.test", vec!["GET keystone.test/", "POST keystone.test/v3/auth/tokens"]),
        (
            "http://keystone.test/identity",
            vec!["GET keystone.test/identity/", "POST keystone.test/identity/v3/auth/tokens"],
        ),
    ] {
        let (cloud, result) = login(url, versions.clone()).await;
        result.unwrap();
        assert_eq!(cloud.asked().iter().map(Asked::line).collect::<Vec<_>>(), expected, "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_keystone_without_v3_is_refused_and_gets_no_password() {
    let old = json!({"versions": {"values": [{"id": "v2.0", "status": "deprecated"}]}});
    for (root, class) in [
        (Reply::json(300, &old), ErrorClass::Unsupported),
        (Reply::text(200, "<html>hello</html>"), ErrorClass::Transient),
        (Reply::text(502, "<html>bad gateway</html>"), ErrorClass::Transient),
        (Reply::text(302, "").with("location", "https://elsewhere.test/"), ErrorClass::Invalid),
    ] {
        let (cloud, result) = login("http://keystone.test", root).await;
        assert_eq!(result.unwrap_err().class(), class);
        assert_eq!(cloud.logins(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_versions_of_a_service_are_listed_at_its_root() {
    let cloud = Cloud::new(|_| Reply::ok(&json!({"versions": [
        {"id": "v2.0", "status": "SUPPORTED", "links": []}, {"id": "v2.30", "status": "CURRENT", "links": []}]})))
    .keystone(publishing(&[("load-balancer", "http://o.test/lb/v2.0")]));
    let versions = cloud.client().load_balancer().api_versions().await.unwrap();
    assert_eq!(versions.iter().filter_map(openstack_client::identity::Version::number).max(), Some((2, 30)));
    assert_eq!(cloud.calls()[0].line(), "GET o.test/lb/");
    assert_eq!(cloud.calls()[0].header("x-auth-token"), "token-1", "some clouds want one even there");
}

/// A client whose Keystone is reached at `auth_url`.
fn client_of(cloud: &Cloud, auth_url: &str) -> (Client, Settings) {
    let options = AuthOptions { auth_url: Some(auth_url.to_owned()), ..options() };
    let settings = Settings::new(options.resolve().unwrap());
    (Client::new(cloud.transport(), settings.clone()), settings)
}

#[tokio::test(start_paused = true)]
async fn a_token_that_came_over_tls_is_not_sent_to_an_endpoint_without_it_and_other_services_work() {
    let cloud = Cloud::new(anything).keystone(publishing(&[
        ("compute", "HTTP://nova.test"),
        ("network", "https://neutron.test"),
        ("load-balancer", "http://octavia.test"),
    ]));
    let (client, settings) = client_of(&cloud, "https://keystone.test/v3");
    for service in [Service::Compute, Service::LoadBalancer] {
        let error = client.versions(service).await.unwrap_err();
        assert_eq!((error.class(), error.outcome()), (ErrorClass::Insecure, Outcome::NotSent));
        assert!(error.to_string().contains("without TLS"), "{error}");
        assert_eq!(client.offered(service).await.unwrap(), Offered::Insecure { allowed: false });
        assert!(!client.has(service).await.unwrap());
    }
    let error = client.compute().flavor(&FlavorId::new("1").unwrap()).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Insecure, Outcome::NotSent));
    assert!(cloud.calls().is_empty(), "no request left, not even for the versions: {:?}", cloud.calls());

    client.network().port(&PortId::new("p").unwrap()).await.unwrap();
    assert_eq!(client.offered(Service::Network).await.unwrap(), Offered::Secure);
    assert_eq!(client.offered(Service::KeyManager).await.unwrap(), Offered::Missing);

    let allowed = Client::new(cloud.transport(), settings.insecure_endpoints(true));
    allowed.load_balancer().pool(&PoolId::new("p").unwrap()).await.unwrap();
    let offered = allowed.offered(Service::LoadBalancer).await.unwrap();
    assert_eq!(
        (offered, allowed.has(Service::LoadBalancer).await.unwrap()),
        (Offered::Insecure { allowed: true }, true)
    );
}

#[tokio::test(start_paused = true)]
async fn where_keystone_has_no_tls_endpoints_need_none() {
    let cloud = Cloud::new(anything).keystone(publishing(&[("network", "http://neutron.test")]));
    let (client, _) = client_of(&cloud, "http://keystone.test/v3");
    client.network().port(&PortId::new("p").unwrap()).await.unwrap();
    assert_eq!(client.offered(Service::Network).await.unwrap(), Offered::Secure);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_moves_to_an_address_without_tls_gets_no_token_there() {
    let before = publishing(&[("network", "https://old.test")]);
    let after = publishing(&[("network", "http://new.test")]);
    let moved = AtomicBool::new(false);
    let cloud = Cloud::new(|asked| match asked.host.as_str() {
        "old.test" => Reply::unauthorized(),
        _ => anything(asked),
    })
    .keystone(move |asked| if moved.swap(true, Ordering::SeqCst) { after(asked) } else { before(asked) });
    let (client, _) = client_of(&cloud, "https://keystone.test/v3");
    let error = client.network().port(&PortId::new("p").unwrap()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Insecure, "{error}");
    assert!(cloud.calls().iter().all(|asked| asked.host == "old.test"));
}

#[tokio::test(start_paused = true)]
async fn a_redirect_to_an_address_without_tls_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let cloud =
            Cloud::new(move |_| Reply::text(status, "").with("location", "http://clear.test/v2.0/ports/p"))
                .keystone(publishing(&[("network", "https://neutron.test")]));
        let (client, _) = client_of(&cloud, "https://keystone.test/v3");
        let error = client.network().port(&PortId::new("p").unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("which is not followed"), "{error}");
        assert_eq!(
            cloud.calls().iter().map(|asked| asked.host.clone()).collect::<Vec<_>>(),
            ["neutron.test"]
        );
    }
}
