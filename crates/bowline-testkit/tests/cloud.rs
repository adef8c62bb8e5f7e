//! The cloud harness over HTTP: what a front sees, what it can do to answers, and what the server counts.

use std::sync::Arc;

use anyhow::ensure;
use bowline_testkit::cloud::{Cloud, Options};
use bowline_testkit::http::Bound;
use http::Method;
use openstack_client::clouds_yaml::Documents;
use openstack_client::compute::ServerQuery;
use openstack_client::{Client, PortId, Settings, Transport, TransportOptions};
use parking_lot::Mutex;
use serde_json::json;
use sim_openstack::{MEMBER, ReplyLost};
use zeroize::Zeroizing;

/// A client over HTTP, as a manager has one.
fn client(cloud: &Cloud) -> anyhow::Result<Client> {
    let documents = Documents { clouds: Zeroizing::new(cloud.clouds_yaml()), ..Documents::default() };
    let settings = Settings::new(documents.entry(Some("sim"))?.auth.resolve()?);
    Ok(Client::new(Transport::https(&TransportOptions::default())?, settings))
}

#[tokio::test]
async fn a_front_sees_every_request_and_can_lose_the_reply_of_one_that_was_done() -> anyhow::Result<()> {
    let (bound, seen) = (Bound::new()?, Arc::new(Mutex::new(Vec::new())));
    let (wire, told) = (bound.wire.clone(), Arc::clone(&seen));
    let cloud = Cloud::start_behind(bound, Options::new(2), move |sim, request| {
        let told = Arc::clone(&told);
        async move {
            let what = format!("{} {}", request.method(), request.uri().path());
            let is_deletion = request.method() == Method::DELETE;
            told.lock().push(what);
            let answer = sim.answer(request).await?;
            if is_deletion { Err(ReplyLost) } else { Ok(answer) }
        }
    })?;
    let client = client(&cloud)?;
    let first = client.compute().servers(&ServerQuery::default()).next_page().await?;
    ensure!(first.is_some_and(|page| page.len() == 2));
    let (received, sent) = wire.take();
    ensure!(received > 0 && sent > received, "{received} bytes received, {sent} bytes sent");

    let new = json!({"port": {"network_id": cloud.estate.network}});
    let port = cloud.ask(MEMBER, Method::POST, "/network/v2.0/ports", &new)?;
    ensure!(wire.take() == (0, 0), "a request of the test itself has no connection");
    let port = PortId::new(port["port"]["id"].as_str().unwrap_or_default())?;
    ensure!(client.network().delete_port(&port).await.is_err(), "the reply is lost");
    ensure!(
        cloud.look(|state| state.network.ports.get(port.as_str()).is_none()),
        "the port is deleted all the same"
    );
    let seen = seen.lock().clone();
    ensure!(seen.iter().any(|what| what == "GET /compute/v2.1/servers/detail"), "{seen:?}");
    ensure!(seen.last().is_some_and(|what| what.starts_with("DELETE /network/v2.0/ports/")), "{seen:?}");
    Ok(())
}
