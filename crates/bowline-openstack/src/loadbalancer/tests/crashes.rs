//! A process that ends after any of its steps: the next one finds what is there, and nothing is doubled or left.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Protocol, Purpose, ServicePort, ServiceView};
use serde_json::Value;

use super::stage::End;
use super::transitions::course::{Living, Setting};
use super::transitions::picture::differences;

/// When the process ends.
#[derive(Clone, Copy, Debug)]
enum Ends {
    /// After this step.
    After(usize),
    /// After every step.
    Always,
}

/// Brings a Service to its end with processes that end. What the last round would have noted on the Service is lost. Gives the
/// number of steps.
async fn stumble(living: &mut Living, purpose: Purpose, ends: Ends) -> usize {
    let mut steps = 0;
    for _round in 0..300 {
        let before = Arc::clone(&living.service);
        match living.estate.stage.one_round(&mut living.service, purpose).await {
            Some(Some(End::Settled(_))) => return steps,
            Some(Some(other)) => panic!("{ends:?}: {other:?}"),
            Some(None) => {
                steps += 1;
                if matches!(ends, Ends::Always) || matches!(ends, Ends::After(last) if last == steps) {
                    living.service = before;
                    living.estate.stage.restart();
                }
            }
            None => tokio::time::sleep(Duration::from_secs(2)).await,
        }
    }
    panic!("{ends:?}: no end after 300 rounds");
}

fn three_ports(view: &mut ServiceView) {
    let port =
        ServicePort { protocol: Protocol::Tcp, port: 443, node_port: Some(30443), ..ServicePort::default() };
    view.ports.push(port);
}

fn with_all(serial: bool) -> Setting {
    let conf = format!(
        "[LoadBalancer]\ncreate-monitor = true\nmanage-security-groups = true\ncascade-delete = {}\n\
         provider-requires-serial-api-calls = {serial}",
        !serial
    );
    Setting::conf("all", &conf).and(&Setting::field("three ports", three_ports))
}

fn in_udp(serial: bool) -> Setting {
    with_all(serial).and(&Setting::field("UDP", |view| {
        view.ports.iter_mut().for_each(|port| port.protocol = Protocol::Udp);
    }))
}

/// The way from one setting, or from nothing, to another one, or to nothing, where the process ends after every step, and once
/// after each if that is asked for.
async fn survives(from: Option<&Setting>, to: Option<&Setting>, fresh: &Value, each: bool) {
    let mut last = 1;
    let mut ends = vec![Ends::Always];
    while let Some(now) = ends.pop() {
        let mut living = match from {
            Some(setting) => Living::born(setting).await,
            None => Living::unborn(to.unwrap()).await,
        };
        if let (Some(_), Some(setting)) = (from, to) {
            living.wish(setting);
        }
        let purpose = if to.is_some() { Purpose::Ensure } else { Purpose::Remove };
        let steps = stumble(&mut living, purpose, now).await;
        assert_eq!(differences(&living.picture(), fresh), Vec::<String>::new(), "{now:?} of {steps}");
        if to.is_some() && matches!(now, Ends::Always) {
            assert_eq!(living.restless().await, Vec::<String>::new(), "{now:?}");
        }
        assert!(steps > 1, "there is something to cut");
        if each && last < steps {
            ends.push(Ends::After(last));
            last += 1;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_service_with_three_ports_a_group_and_a_floating_ip_survives_any_end() {
    for serial in [false, true] {
        let setting = with_all(serial);
        let fresh = Living::born(&setting).await.picture();
        survives(None, Some(&setting), &fresh, !serial).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_protocols_survives_any_end() {
    let (tcp, udp) = (with_all(false), in_udp(false));
    let fresh = Living::born(&udp).await.picture();
    survives(Some(&tcp), Some(&udp), &fresh, true).await;
}

#[tokio::test(start_paused = true)]
async fn a_removal_survives_any_end() {
    for serial in [false, true] {
        let setting = with_all(serial);
        let mut fresh = Living::born(&setting).await;
        fresh.drive(Purpose::Remove).await.settled();
        let gone = fresh.picture();
        assert_eq!(gone["load balancers"].to_string() + &gone["groups"].to_string(), "[][]");
        survives(Some(&setting), None, &gone, !serial).await;
    }
}
