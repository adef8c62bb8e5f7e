//! The life of Services and Nodes as the status page shows it, over a whole manager in virtual time.

use std::time::Duration;

use anyhow::Result;
use bowline_cloud::{PAUSED, Standing};
use bowline_manager::status::{Overview, Query};
use bowline_testkit::Wait;
use browser_tests::Stage;
use http::StatusCode;
use sim_openstack::{Fault, Rule, Service};

const START: &str = "2026-11-15T08:00:00Z";

/// Virtual time costs nothing.
fn wait() -> Wait {
    Wait::within_unscaled(Duration::from_secs(600)).every(Duration::from_millis(250))
}

async fn until(stage: &Stage, what: &str, is_so: impl Fn(&Overview) -> bool) -> Result<Overview> {
    let shown = async || Ok(stage.page.overview(&Query::default()));
    wait().until_value(what, shown, is_so).await
}

fn standing<'o>(shown: &'o Overview, name: &str) -> Option<&'o Standing> {
    shown.services.rows.iter().find(|row| row.name == name)?.standing.as_ref()
}

#[tokio::test(start_paused = true)]
async fn the_life_of_a_service_is_shown_from_its_plan_to_its_end() -> Result<()> {
    let stage = Stage::set(START.parse()?, 3).await?;
    stage.register(1..=3)?;
    let shown = until(&stage, "the Nodes have their servers", |shown| {
        shown.node_counts.ready == 3 && shown.node_counts.waiting == 0 && shown.nodes.total == 3
    })
    .await?;
    let node = &shown.nodes.rows[0];
    assert!(node.provider_id.as_ref().is_some_and(|id| id.starts_with("openstack://")), "{node:?}");
    assert!(node.addresses.iter().any(|(kind, _)| kind == "InternalIP"), "{node:?}");

    stage.apply("web", &[80, 443])?;
    let shown = until(&stage, "it waits for the cloud", |shown| {
        matches!(standing(shown, "web"), Some(Standing::Waits { .. }))
    })
    .await?;
    let plan = shown.services.rows[0].plan.clone().expect("its plan is shown");
    assert!(plan.done_at.is_none() && plan.steps.iter().any(|step| step.step.verb == "create"), "{plan:?}");
    assert!(
        shown.services.rows[0].says.as_ref().is_some_and(|says| says.contains("PENDING_CREATE")),
        "{shown:#?}"
    );

    let shown = until(&stage, "it is settled", |shown| {
        matches!(standing(shown, "web"), Some(Standing::Settled))
            && !shown.services.rows[0].addresses.is_empty()
    })
    .await?;
    let row = &shown.services.rows[0];
    let plan = row.plan.as_ref().expect("the last plan is kept");
    assert!(plan.done_at.is_some() && plan.steps.iter().all(|step| step.done), "{plan:?}");
    let balancer = &row.balancer;
    let titles: Vec<_> = balancer.listeners.iter().map(|listener| listener.title.as_str()).collect();
    assert_eq!(titles, ["TCP 80", "TCP 443"], "{balancer:#?}");
    for listener in &balancer.listeners {
        assert_eq!(listener.pools[0].members.len(), 3, "{balancer:#?}");
    }
    assert!(
        balancer.id.is_some() && balancer.name.as_ref().is_some_and(|name| name.contains("web")),
        "{balancer:?}"
    );
    let called = |service: &str| shown.cloud.iter().any(|row| row.service == service && row.last_minute > 0);
    assert!(called("load-balancer") && called("network") && called("identity"), "{:#?}", shown.cloud);
    let call = shown.calls.iter().find(|call| call.method == "POST" && call.service == "load-balancer");
    let call = call.expect("the create is among the calls");
    assert!(call.request_id.is_some() && call.status == Some(201), "{call:?}");
    let paths: Vec<_> = shown.calls.iter().map(|call| call.path.as_str()).collect();
    assert!(paths.iter().all(|path| !path.contains('?')), "no query is kept: {paths:?}");
    assert!(
        shown.timeline.iter().any(|moment| moment.text.starts_with("EnsuredLoadBalancer")),
        "{:#?}",
        shown.timeline
    );
    assert!(shown.timeline.iter().any(|moment| moment.kind == "leader"), "{:#?}", shown.timeline);
    assert!(shown.problems.is_empty(), "{:?}", shown.problems);
    let json = serde_json::to_value(&shown)?;
    assert_eq!(json["services"]["rows"][0]["standing"]["state"], "settled");
    assert_eq!(json["replica"]["leader"]["role"], "leads");

    stage.delete("web")?;
    until(&stage, "it is gone", |shown| shown.services.total == 0).await?;
    stage.end().await
}

#[tokio::test(start_paused = true)]
async fn a_pause_with_markup_is_shown_as_what_it_is() -> Result<()> {
    let stage = Stage::set(START.parse()?, 1).await?;
    stage.register([1])?;
    stage.apply("web", &[80])?;
    let words = "<script>alert(1)</script>";
    stage.annotate("web", PAUSED, words)?;
    let shown = until(&stage, "it is held", |shown| {
        matches!(standing(shown, "web"), Some(Standing::Held { rail: "pause", .. }))
    })
    .await?;
    assert!(shown.services.rows[0].says.as_ref().is_some_and(|says| says.contains(words)), "{shown:#?}");
    let html = stage.page.html(&Query::default());
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !html.contains(words), "{html}");
    stage.end().await
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_cannot_be_read_is_told_at_the_top_and_forgotten_when_it_can() -> Result<()> {
    let stage = Stage::set(START.parse()?, 1).await?;
    stage.register([1])?;
    until(&stage, "the Node has its server", |shown| {
        shown.node_counts.waiting == 0 && shown.nodes.total == 1
    })
    .await?;
    stage.fault(Rule::new(Fault::status(StatusCode::SERVICE_UNAVAILABLE)).on(Service::LoadBalancer));
    stage.apply("web", &[80])?;
    let shown = until(&stage, "the cloud is silent", |shown| !shown.problems.is_empty()).await?;
    assert_eq!(shown.problems[0].what, "The cloud cannot be read");
    assert!(shown.problems[0].text.contains("load-balancer"), "{:?}", shown.problems);
    assert!(matches!(standing(&shown, "web"), Some(Standing::Unknown { .. })), "{shown:#?}");
    stage.mend();
    until(&stage, "all is well again", |shown| {
        shown.problems.is_empty() && matches!(standing(shown, "web"), Some(Standing::Settled))
    })
    .await?;
    stage.end().await
}

#[tokio::test(start_paused = true)]
async fn of_many_services_and_nodes_one_page_is_shown_and_the_rest_is_counted() -> Result<()> {
    let stage = Stage::set(START.parse()?, 60).await?;
    stage.register(1..=60)?;
    for number in 0..70 {
        stage.apply(&format!("web-{number:03}"), &[80])?;
    }
    let shown = until(&stage, "all are settled", |shown| shown.service_counts.settled == 70).await?;
    assert_eq!((shown.services.rows.len(), shown.services.pages, shown.nodes.pages), (25, 3, 2));
    let query = Query { service: "web-01".to_owned(), node: "node-60".to_owned(), ..Query::default() };
    let filtered = stage.page.overview(&query);
    assert_eq!((filtered.services.matching, filtered.services.total), (10, 70));
    assert_eq!(filtered.nodes.rows[0].name, "node-60");
    let last = stage.page.overview(&Query { service_page: 99, ..Query::default() });
    assert_eq!((last.services.page, last.services.rows.len()), (3, 20));
    let html = stage.page.html(&Query::default());
    assert!(html.len() < 600_000, "{} bytes", html.len());
    stage.end().await
}

#[tokio::test(start_paused = true)]
async fn services_without_what_they_ask_for_are_counted_by_reason_for_the_scraper() -> Result<()> {
    const METRIC: &str = "bowline_services_unsettled";
    let stage = Stage::set(START.parse()?, 3).await?;
    stage.register(1..=3)?;
    let scraped = async |lines: &[&str]| -> Result<()> {
        let counts = async || {
            let text = stage.scrape()?;
            let counts = text.lines().filter(|line| line.starts_with(METRIC));
            Ok(counts.map(|line| line.trim_start_matches(METRIC).to_owned()).collect())
        };
        wait()
            .until_value(format!("{lines:?}"), counts, |counts: &Vec<String>| counts == lines)
            .await
            .map(drop)
    };
    scraped(&[]).await?;
    stage.apply("web", &[80])?;
    scraped(&["{reason=\"WaitingForCloud\"} 1"]).await?;
    scraped(&[]).await?;
    stage.apply("wrong", &[80])?;
    stage.annotate("wrong", "loadbalancer.openstack.org/timeout-client-data", "ten")?;
    stage.apply("paused", &[80])?;
    stage.annotate("paused", PAUSED, "rack 7 moves")?;
    scraped(&["{reason=\"Refused\"} 1", "{reason=\"pause\"} 1"]).await?;
    // One that is served keeps being served, and lacks what cannot be read.
    stage.annotate("web", "loadbalancer.openstack.org/timeout-client-data", "ten")?;
    scraped(&["{reason=\"InvalidValue\"} 1", "{reason=\"Refused\"} 1", "{reason=\"pause\"} 1"]).await?;
    stage.end().await
}
