//! What each call sends, and what is read from answers of the shapes that real services give.

mod compute;
mod key_manager;
mod load_balancer;
mod network;

use std::net::IpAddr;

use serde_json::Value;

use crate::cloud::{Asked, Cloud, Reply};

fn answering(body: Value) -> Cloud {
    Cloud::new(move |_| Reply::ok(&body))
}

fn last(cloud: &Cloud) -> Asked {
    cloud.calls().last().unwrap().clone()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}
