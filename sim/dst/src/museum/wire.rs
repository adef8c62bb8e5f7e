//! The way of a process with a bug to the cloud: its calls are altered, repeated, held back or misread.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use sim_openstack::ReplyLost;
use tokio::time::Instant;

use super::Piece;
use crate::cloud_link::CloudLink;

/// What a call is answered with.
type Answer = Result<Response<Full<Bytes>>, ReplyLost>;

/// After this a worker that nobody waits for any more comes to its end.
const LATE: Duration = Duration::from_secs(100);

const BALANCERS: &str = "/lbaas/loadbalancers";

/// Sends a call as the process with its bug does.
pub(crate) async fn send(link: &CloudLink, request: Request<Bytes>) -> Answer {
    let Some(piece) = link.workshop.piece else { return pass(link, request).await };
    match piece {
        Piece::FloatingIpPerLook => one_more_floating_ip(link, request).await,
        Piece::MonitorPortForgotten => {
            let forgets = is(&request, &Method::PUT) && path(&request).ends_with("/members");
            pass(link, if forgets { without_monitor_ports(request) } else { request }).await
        }
        Piece::PostSentAgain => send_again(link, request).await,
        Piece::BalancerReappears => reappears(link, request).await,
        Piece::RuleGoneEndsAll => notes_missing_rules(link, request).await,
        Piece::NoRevision => {
            let mut request = request;
            if path(&request).contains("/ports/") {
                request.headers_mut().remove(header::IF_MATCH);
            }
            pass(link, request).await
        }
        Piece::ErrorIsUseless => sees_no_use(link, request).await,
        Piece::PendingNotFound => misses_pending(link, request).await,
        Piece::SharedLooksUnshared => pass(link, cascade(link, request)).await,
        Piece::TagsReplaced => pass(link, with_own_tag_only(request)).await,
        Piece::CallsPerServer => asks_for_each(link, request).await,
        Piece::ForeignTaken => takes_foreign(link, request).await,
        Piece::TwoAtOnce => twice_at_once(link, request).await,
        Piece::KeptAddressIsOwn => owns_what_leads_there(link, request).await,
        Piece::DetachedAddressIsFree => gives_what_leads_nowhere(link, request).await,
        Piece::NameIsProof => sees_one_cluster(link, request).await,
        Piece::PortIsFree => sees_free_ports(link, request).await,
        Piece::NodePortIsFree => sees_no_devices(link, request).await,
        Piece::DeletedWithUnknownParts => pass(link, cascade_for_last(link, request)).await,
        _ => pass(link, request).await,
    }
}

async fn pass(link: &CloudLink, request: Request<Bytes>) -> Answer {
    link.clone().deliver(request).await
}

fn is(request: &Request<Bytes>, method: &Method) -> bool {
    request.method() == method
}

fn path(request: &Request<Bytes>) -> &str {
    request.uri().path()
}

fn is_creation(request: &Request<Bytes>) -> bool {
    is(request, &Method::POST) && path(request).ends_with(BALANCERS)
}

fn is_removal(request: &Request<Bytes>) -> bool {
    is(request, &Method::DELETE) && path(request).contains(BALANCERS)
}

/// The same call with another body.
fn edited(request: Request<Bytes>, edit: impl FnOnce(&mut Value)) -> Request<Bytes> {
    request.map(|body| {
        let mut value: Value = serde_json::from_slice(&body).unwrap_or_default();
        edit(&mut value);
        Bytes::from(value.to_string())
    })
}

/// Another call with the token of this one.
fn another(like: &Request<Bytes>, method: Method, path: &str) -> Request<Bytes> {
    let mut request = like.clone().map(|_body| Bytes::new());
    *request.method_mut() = method;
    let text = format!("http://openstack.sim{path}");
    *request.uri_mut() = text.parse::<Uri>().expect("a path of the cloud");
    request
}

/// As long as the load balancer is not ACTIVE, each look makes one more floating IP, since the one that is there is only noted
/// when all is done.
async fn one_more_floating_ip(link: &CloudLink, request: Request<Bytes>) -> Answer {
    if is(&request, &Method::POST) && path(&request).ends_with("/floatingips") {
        link.workshop.memory().sent = Some(request.clone());
    } else if is(&request, &Method::GET) && path(&request).contains(BALANCERS) {
        let again = link.workshop.memory().sent.clone();
        let pending = link.workshop.balancers().iter().any(|one| one.2 != "ACTIVE");
        if let Some(again) = again.filter(|_again| pending) {
            let again = edited(again, |body| {
                body["floatingip"].as_object_mut().map(|new| new.remove("port_id"));
            });
            let _ignored = pass(link, again).await;
        }
    }
    pass(link, request).await
}

fn without_monitor_ports(request: Request<Bytes>) -> Request<Bytes> {
    edited(request, |body| {
        for member in body["members"].as_array_mut().into_iter().flatten() {
            member.as_object_mut().map(|member| member.remove("monitor_port"));
        }
    })
}

/// A creation whose answer does not come is sent again, as if it had not been done.
async fn send_again(link: &CloudLink, request: Request<Bytes>) -> Answer {
    if !is_creation(&request) {
        return pass(link, request).await;
    }
    match pass(link, request.clone()).await {
        Err(ReplyLost) => pass(link, request).await,
        answer => answer,
    }
}

/// A worker that began before the Service was deleted makes its load balancer after it is gone.
async fn reappears(link: &CloudLink, request: Request<Bytes>) -> Answer {
    if is_creation(&request) {
        link.workshop.memory().sent = Some(request.clone());
    } else if is_removal(&request) {
        link.workshop.memory().since = Some(Instant::now());
    } else if link.workshop.memory().since.is_some_and(|since| since.elapsed() > LATE) {
        let again = link.workshop.memory().sent.take();
        if let Some(again) = again {
            let _ignored = pass(link, again).await;
        }
    }
    pass(link, request).await
}

/// That a rule to be deleted was gone already is remembered: with it all the rest is taken for done, in `balancers`.
async fn notes_missing_rules(link: &CloudLink, request: Request<Bytes>) -> Answer {
    let deletes = is(&request, &Method::DELETE) && path(&request).contains("/security-group-rules/");
    let answer = pass(link, request).await?;
    if deletes && answer.status() == 404 {
        link.workshop.memory().struck = true;
    }
    Ok(answer)
}

/// The look for the load balancer does not see one that is being made.
async fn misses_pending(link: &CloudLink, request: Request<Bytes>) -> Answer {
    let looks = is(&request, &Method::GET) && path(&request).ends_with(BALANCERS);
    let answer = pass(link, request).await?;
    if !looks || !answer.status().is_success() {
        return Ok(answer);
    }
    let drop_pending = |value: &mut Value| {
        if let Some(all) = value["loadbalancers"].as_array_mut() {
            all.retain(|one| one["provisioning_status"] != "PENDING_CREATE");
        }
    };
    altered(answer, drop_pending).await
}

/// An answer with another body.
async fn altered(answer: Response<Full<Bytes>>, edit: impl FnOnce(&mut Value)) -> Answer {
    let (mut head, body) = answer.into_parts();
    let bytes = body.collect().await.map_err(|_never| ReplyLost)?.to_bytes();
    let mut value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    edit(&mut value);
    head.headers.remove(header::CONTENT_LENGTH);
    Ok(Response::from_parts(head, Full::new(Bytes::from(value.to_string()))))
}

/// Whatever is in ERROR, or a pool of something that is, seems to serve nobody.
async fn sees_no_use(link: &CloudLink, request: Request<Bytes>) -> Answer {
    let looks = is(&request, &Method::GET) && path(&request).contains("/lbaas/");
    let answer = pass(link, request).await?;
    let failed = link.workshop.balancers().iter().any(|one| one.2 == "ERROR");
    if !looks || !failed || !answer.status().is_success() {
        return Ok(answer);
    }
    altered(answer, seem_useless).await
}

/// All operating statuses below a value say ERROR, but those of load balancers that are well.
fn seem_useless(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(seem_useless),
        Value::Object(fields) => {
            let is_balancer = fields.contains_key("vip_address");
            let is_changed =
                !is_balancer || fields.get("provisioning_status").is_some_and(|status| status == "ERROR");
            if is_changed && let Some(status) = fields.get_mut("operating_status") {
                *status = "ERROR".into();
            }
            fields.values_mut().for_each(seem_useless);
        }
        _ => {}
    }
}

/// One listener goes, and for that all of the load balancer.
fn cascade(link: &CloudLink, request: Request<Bytes>) -> Request<Bytes> {
    match loses_listener(link, &request) {
        Some((on, _)) => {
            another(&request, Method::DELETE, &format!("/load-balancer/v2{BALANCERS}/{on}?cascade=true"))
        }
        None => request,
    }
}

/// The load balancer on which a listener is that goes, if it goes.
fn loses_listener(link: &CloudLink, request: &Request<Bytes>) -> Option<(String, String)> {
    let goes = is(request, &Method::DELETE) && path(request).contains("/lbaas/listeners/");
    let id = path(request).rsplit('/').next().filter(|_id| goes)?;
    link.workshop.truth(|state| {
        let on = &state.load_balancer.listeners.get(id)?.loadbalancer_id;
        state.load_balancer.load_balancers.get(on).map(|one| (one.id.clone(), one.name.clone()))
    })
}

/// The last Service leaves a load balancer that has the name of a Service, and all of it is deleted: only the tags of Services count, and
/// listeners without one do not.
fn cascade_for_last(link: &CloudLink, request: Request<Bytes>) -> Request<Bytes> {
    let listener = path(&request).rsplit('/').next().unwrap_or_default().to_owned();
    let Some((on, name)) = loses_listener(link, &request) else { return request };
    let (tags, own) = link.workshop.truth(|state| {
        let octavia = &state.load_balancer;
        let on_it = octavia.listeners.iter().filter(|one| one.loadbalancer_id == on);
        let all = octavia.load_balancers.get(&on).into_iter().flat_map(|one| one.tags.clone());
        let tags: Vec<String> = all.chain(on_it.flat_map(|one| one.tags.clone())).collect();
        (tags, octavia.listeners.get(&listener).map(|one| one.tags.clone()).unwrap_or_default())
    });
    let of_a_service = |tag: &&String| tag.starts_with("kube_service_");
    let is_last = tags.iter().filter(of_a_service).all(|tag| own.contains(tag));
    let is_wanted = link.workshop.wants_a_balancer(&own);
    if !name.starts_with("kube_service_") || !is_last || is_wanted {
        return request;
    }
    another(&request, Method::DELETE, &format!("/load-balancer/v2{BALANCERS}/{on}?cascade=true"))
}

/// Changes all floating IPs in an answer.
async fn with_floating_ips(link: &CloudLink, request: Request<Bytes>, edit: impl Fn(&mut Value)) -> Answer {
    let looks = is(&request, &Method::GET) && path(&request).ends_with("/floatingips");
    let answer = pass(link, request).await?;
    if !looks || !answer.status().is_success() {
        return Ok(answer);
    }
    altered(answer, |value| value["floatingips"].as_array_mut().into_iter().flatten().for_each(edit)).await
}

/// Every floating IP that leads to a load balancer of this cluster seems to be made for its owner.
async fn owns_what_leads_there(link: &CloudLink, request: Request<Bytes>) -> Answer {
    let owners: Vec<(String, String)> = link.workshop.truth(|state| {
        let all = state.load_balancer.load_balancers.iter();
        let owner = |name: &str| {
            let (namespace, name) = name.strip_prefix("kube_service_kubernetes_")?.split_once('_')?;
            Some(format!(
                "Floating IP for Kubernetes external service {namespace}/{name} from cluster kubernetes"
            ))
        };
        all.filter_map(|one| Some((one.vip_port_id.clone(), owner(&one.name)?))).collect()
    });
    with_floating_ips(link, request, |floating| {
        let owner = owners.iter().find(|(port, _)| floating["port_id"] == **port);
        if let Some((_, description)) = owner {
            floating["description"] = description.as_str().into();
        }
    })
    .await
}

/// A Service that needs a floating IP gets one of this cluster that leads nowhere, whoever it was made for. At the wire, because two checks would have to
/// be missing for the plan to say so: of the description and of the status of the other Service.
async fn gives_what_leads_nowhere(link: &CloudLink, request: Request<Bytes>) -> Answer {
    if !is(&request, &Method::POST) || !path(&request).ends_with("/floatingips") {
        return pass(link, request).await;
    }
    let wanted: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let free: Option<String> = link.workshop.truth(|state| {
        let is_made = |description: &str| description.ends_with(" from cluster kubernetes");
        let mut all = state.network.floating_ips.iter();
        all.find(|one| one.port_id.is_none() && is_made(&one.description)).map(|one| one.id.clone())
    });
    let Some(id) = free else { return pass(link, request).await };
    let attach = another(&request, Method::PUT, &format!("/network/v2.0/floatingips/{id}"));
    let body = serde_json::json!({"floatingip": {"port_id": wanted["floatingip"]["port_id"]}});
    pass(link, attach.map(|_nothing| Bytes::from(body.to_string()))).await
}

/// Load balancers seem to have no tag of a cluster, so that only their names say whose they are.
async fn sees_one_cluster(link: &CloudLink, request: Request<Bytes>) -> Answer {
    let looks = is(&request, &Method::GET) && path(&request).contains(BALANCERS);
    let answer = pass(link, request).await?;
    if !looks || !answer.status().is_success() {
        return Ok(answer);
    }
    altered(answer, without_clusters).await
}

/// Without the tags of clusters in all lists of tags below a value.
fn without_clusters(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(without_clusters),
        Value::Object(fields) => {
            if let Some(tags) = fields.get_mut("tags").and_then(Value::as_array_mut) {
                tags.retain(|tag| !tag.as_str().is_some_and(|tag| tag.starts_with("bowline-cluster:")));
            }
            fields.values_mut().for_each(without_clusters);
        }
        _ => {}
    }
}

/// Lists by port show no load balancer, and no floating IP while no load balancer is at the port.
async fn sees_free_ports(link: &CloudLink, request: Request<Bytes>) -> Answer {
    let by_port = request.uri().query().is_some_and(|query| query.contains("port_id="));
    let looks = is(&request, &Method::GET) && by_port;
    let answer = pass(link, request).await?;
    if !looks || !answer.status().is_success() {
        return Ok(answer);
    }
    let used: BTreeSet<String> = link.workshop.truth(|state| {
        state.load_balancer.load_balancers.iter().map(|one| one.vip_port_id.clone()).collect()
    });
    altered(answer, |value| {
        let is_used = |one: &Value| one["port_id"].as_str().is_some_and(|port| used.contains(port));
        if let Some(floating) = value.get_mut("floatingips").and_then(Value::as_array_mut) {
            floating.retain(is_used);
        }
        if let Some(balancers) = value.get_mut("loadbalancers").and_then(Value::as_array_mut) {
            balancers.clear();
        }
    })
    .await
}

/// A port that is looked at seems to belong to nothing.
async fn sees_no_devices(link: &CloudLink, request: Request<Bytes>) -> Answer {
    let looks = is(&request, &Method::GET) && path(&request).contains("/ports/");
    let answer = pass(link, request).await?;
    if !looks || !answer.status().is_success() {
        return Ok(answer);
    }
    altered(answer, |value| value["port"]["device_owner"] = "".into()).await
}

/// The tags of a load balancer become those of the Service that was last worked for.
fn with_own_tag_only(request: Request<Bytes>) -> Request<Bytes> {
    if !is(&request, &Method::PUT) || !path(&request).contains(BALANCERS) {
        return request;
    }
    edited(request, |body| {
        let Some(tags) = body["loadbalancer"]["tags"].as_array_mut() else { return };
        let of_a_service = |tag: &Value| tag.as_str().is_some_and(|tag| tag.starts_with("kube_service_"));
        let own = tags.iter().rfind(|tag| of_a_service(tag)).cloned();
        tags.retain(|tag| !of_a_service(tag) || Some(tag) == own.as_ref());
    })
}

/// After the list each server is asked for, and again for its flavor and its ports.
async fn asks_for_each(link: &CloudLink, request: Request<Bytes>) -> Answer {
    if is(&request, &Method::GET) && path(&request).ends_with("/servers/detail") {
        let ids: Vec<String> =
            link.workshop.truth(|state| state.compute.servers.iter().map(|one| one.id.clone()).collect());
        for id in ids {
            for _what in ["server", "flavor", "ports"] {
                let one = another(&request, Method::GET, &format!("/compute/v2.1/servers/{id}"));
                let _ignored = pass(link, one).await;
            }
        }
    }
    pass(link, request).await
}

/// With its own load balancer it deletes what else it finds in the project.
async fn takes_foreign(link: &CloudLink, request: Request<Bytes>) -> Answer {
    if is_removal(&request) {
        let theirs: Vec<String> = link.workshop.truth(|state| {
            let all = state.load_balancer.load_balancers.iter();
            all.filter(|one| !one.name.starts_with("kube_service_")).map(|one| one.id.clone()).collect()
        });
        for id in theirs {
            let one =
                another(&request, Method::DELETE, &format!("/load-balancer/v2{BALANCERS}/{id}?cascade=true"));
            let _ignored = pass(link, one).await;
        }
    }
    pass(link, request).await
}

/// Two workers do the same at once.
async fn twice_at_once(link: &CloudLink, request: Request<Bytes>) -> Answer {
    if is(&request, &Method::GET) || !path(&request).contains("/lbaas/") || is_creation(&request) {
        return pass(link, request).await;
    }
    let (_ignored, answer) = tokio::join!(pass(link, request.clone()), pass(link, request));
    answer
}
