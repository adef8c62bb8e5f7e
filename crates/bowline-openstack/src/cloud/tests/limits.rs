//! The gauges of quotas and credentials, and what they cost.

use std::collections::BTreeSet;

use prometheus_client::registry::Registry;
use sim_openstack::identity::ApplicationCredential;

use super::*;
use crate::cloud::limits::PAUSE;

fn scrape(registry: &Registry) -> String {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
    text
}

/// Scrapes until the text has this line.
async fn scraped(registry: &Registry, line: &str) {
    eventually_virtual(line, || scrape(registry).contains(line)).await;
}

async fn scraped_cloud(bench: &Bench) -> (OpenStackCloud, Registry) {
    let cloud = bench.start().await;
    let mut registry = Registry::default();
    cloud.register_metrics(&mut registry);
    cloud.initialize(&CloudContext::new("kubernetes")).await.unwrap();
    (cloud, registry)
}

#[tokio::test(start_paused = true)]
async fn without_a_scraper_no_quota_is_read_and_with_one_every_ten_minutes() {
    let bench = Bench::new(1);
    let (_cloud, registry) = scraped_cloud(&bench).await;
    let before = bench.simulation.calls();
    tokio::time::sleep(4 * PAUSE).await;
    assert_eq!(bench.simulation.calls(), before, "{:?}", bench.simulation.counts());
    for _ in 0..120 {
        scrape(&registry);
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    // An hour. The Octavia of this cloud has no limits, so nothing is counted there.
    let reads = bench.simulation.counts().into_iter().filter(|count| !count.contains("/auth/tokens"));
    let expected = ["6 GET /v2.0/lbaas/quotas/{id}", "6 GET /v2.0/quotas/{id}/details.json"];
    assert_eq!(reads.collect::<BTreeSet<_>>(), expected.map(str::to_owned).into());
}

#[tokio::test(start_paused = true)]
async fn what_has_a_limit_is_shown_with_what_is_used_of_it() {
    let bench = Bench::new(1);
    let project = bench.simulation.estate.project.clone();
    let set_limit = |limit: i64| {
        bench.simulation.sim.with(|cloud| {
            let quotas = &mut cloud.world().state.load_balancer.quotas;
            quotas.entry(project.clone()).or_default().load_balancer = limit;
            cloud.world().state.network.quotas.entry(project.clone()).or_default().floatingip = 7;
        });
    };
    set_limit(3);
    let (cloud, registry) = scraped_cloud(&bench).await;
    for line in [
        "bowline_openstack_quota_limit{resource=\"load_balancer\"} 3",
        "bowline_openstack_quota_used{resource=\"load_balancer\"} 0",
        "bowline_openstack_quota_limit{resource=\"floating_ip\"} 7",
        "bowline_openstack_quota_used{resource=\"floating_ip\"} 0",
    ] {
        scraped(&registry, line).await;
    }
    assert!(!scrape(&registry).contains("resource=\"listener\""), "it has no limit");

    let subnet = bench.simulation.estate.subnet.clone();
    let made = openstack_client::load_balancer::LoadBalancerCreate {
        name: "of-somebody".into(),
        vip_subnet_id: Some(openstack_client::SubnetId::new(&subnet).unwrap()),
        ..Default::default()
    };
    cloud.client().load_balancer().create_load_balancer(&made).await.unwrap();
    scraped(&registry, "bowline_openstack_quota_used{resource=\"load_balancer\"} 1").await;

    // The last values stay while Octavia does not answer, and a limit that was lifted is not shown any more.
    bench
        .simulation
        .fault(Rule::new(Fault::status(http::StatusCode::SERVICE_UNAVAILABLE)).on(Service::LoadBalancer));
    tokio::time::sleep(2 * PAUSE).await;
    scraped(&registry, "bowline_openstack_quota_used{resource=\"load_balancer\"} 1").await;
    bench.simulation.sim.with(|cloud| cloud.faults().clear());
    set_limit(-1);
    eventually_virtual("no limit", || !scrape(&registry).contains("resource=\"load_balancer\"")).await;
}

#[tokio::test(start_paused = true)]
async fn the_expiry_of_an_application_credential_is_shown() {
    let bench = Bench::new(1);
    let (id, secret) = ("ac1", "of the application credential");
    bench.simulation.sim.with(|cloud| {
        let identity = &mut cloud.world().state.identity;
        let credential = ApplicationCredential {
            id: id.to_owned(),
            secret: secret.to_owned(),
            name: "ccm".to_owned(),
            user_id: bench.simulation.estate.user.clone(),
            project_id: bench.simulation.estate.project.clone(),
            roles: identity.roles.keys().cloned().collect(),
            unrestricted: None,
            description: None,
            expires_at: Some("2031-01-01T00:00:00Z".parse().unwrap()),
        };
        identity.application_credentials.insert(id.to_owned(), credential);
    });
    std::fs::write(
        bench.path(),
        format!(
            "[Global]\nauth-url=http://openstack.sim/identity/v3\napplication-credential-id={id}\n\
             application-credential-secret={secret}\nregion=RegionOne\n"
        ),
    )
    .unwrap();
    let (_cloud, registry) = scraped_cloud(&bench).await;
    let line = "bowline_openstack_credential_expiry_timestamp_seconds{credential=\"application_credential\"} 1924992000";
    scraped(&registry, line).await;
    assert!(!scrape(&registry).contains("credential=\"token\""), "tokens are renewed");
}
