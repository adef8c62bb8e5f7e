//! Plans creation and updates of a listener. An update contains only the fields that differ. The name stays as it is, as in OCCM.

use std::collections::{BTreeMap, BTreeSet};

use bowline_cloud::Planned;
use ipnet::IpNet;
use openstack_client::Change;
use openstack_client::load_balancer::{Listener, ListenerUpdate};

use super::claim::Claim;
use super::conflict::port;
use super::tags;
use super::text::{Differences, few};
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::wanted::{Wanted, WantedListener};

/// The HTTP header with the address of the client.
const FORWARDED_FOR: &str = "X-Forwarded-For";

pub(super) fn create(wanted: &Wanted, claim: &Claim<'_>, wish: &WantedListener) -> Planned<CloudStep> {
    let new = wanted.new_listener(wish, &claim.there.balancer.id);
    let reason = format!("{} has no listener; its pool, members and monitor follow", port(&wish.key));
    claim.step(Action::CreateListener(Box::new(new)), reason)
}

pub(super) fn update(
    wanted: &Wanted,
    claim: &Claim<'_>,
    wish: &WantedListener,
    found: &Listener,
) -> Option<Planned<CloudStep>> {
    let mut differs = Differences::default();
    let limit = found.connection_limit.unwrap_or(-1);
    let mut change = ListenerUpdate {
        tags: tags(wanted, claim, found, &mut differs),
        connection_limit: differs.of("connection limit", &limit, &wish.connection_limit),
        allowed_cidrs: cidrs(wish, found, &mut differs),
        insert_headers: headers(wish, found, &mut differs),
        default_tls_container_ref: certificate(wish, found, &mut differs),
        ..ListenerUpdate::default()
    };
    timeouts(wish, found, &mut change, &mut differs);
    let reason = differs.reason(&port(&wish.key))?;
    Some(claim.step(Action::UpdateListener(found.id.clone(), Box::new(change)), reason))
}

/// Adds the missing ones of the tags that the Service requests.
pub(super) fn add_asked(tags: &mut Vec<String>, asked: &[String], differs: &mut Differences) {
    let missing: Vec<String> = tags::missing(asked, tags).into_iter().cloned().collect();
    if !missing.is_empty() {
        differs.tell("tags", "missing", few(&missing));
        tags.extend(missing);
    }
}

/// The tags with that of the Service and those that it requests added; the others stay. `None` if none is missing.
fn tags(
    wanted: &Wanted,
    claim: &Claim<'_>,
    found: &Listener,
    differs: &mut Differences,
) -> Option<Vec<String>> {
    if !wanted.balancer.tagged {
        return None;
    }
    let mut tags: Vec<String> = found.tags.iter().filter(|tag| !tag.is_empty()).cloned().collect();
    let before = tags.len();
    if !found.tags.iter().any(|tag| claim.is_own(tag)) {
        differs.tell("the tag of the Service", "missing", wanted.names.tag());
        tags.push(wanted.names.tag());
    }
    add_asked(&mut tags, &wanted.extra_tags.listener, differs);
    (tags.len() > before).then_some(tags)
}

fn cidrs(wish: &WantedListener, found: &Listener, differs: &mut Differences) -> Change<Vec<String>> {
    let Some(wanted) = &wish.allowed_cidrs else { return Change::Keep };
    let alike =
        |cidrs: &mut dyn Iterator<Item = &String>| cidrs.map(|cidr| canonical(cidr)).collect::<BTreeSet<_>>();
    if alike(&mut wanted.iter()) == alike(&mut found.allowed_cidrs.iter()) {
        return Change::Keep;
    }
    let list = |cidrs: &[String]| format!("[{}]", few(cidrs));
    let found: BTreeSet<String> = found.allowed_cidrs.iter().cloned().collect();
    let (found, wanted) = (Vec::from_iter(found), Vec::from_iter(wanted.iter().cloned()));
    differs.tell("who may connect", list(&found), list(&wanted));
    Change::Set(wanted)
}

/// Normalizes a CIDR, so that different spellings of the same network compare equal. Returns the text unchanged if it is no CIDR.
fn canonical(cidr: &str) -> String {
    cidr.parse().map_or_else(|_| cidr.to_owned(), |net: IpNet| net.trunc().to_string())
}

/// The headers with `X-Forwarded-For` changed; the others stay. `None` if it does not differ.
fn headers(
    wish: &WantedListener,
    found: &Listener,
    differs: &mut Differences,
) -> Option<BTreeMap<String, String>> {
    let on = |headers: &BTreeMap<String, String>| {
        headers.get(FORWARDED_FOR).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    };
    differs.of(FORWARDED_FOR, &on(&found.insert_headers), &on(&wish.insert_headers))?;
    let mut headers = found.insert_headers.clone();
    headers.remove(FORWARDED_FOR);
    headers.extend(wish.insert_headers.clone());
    Some(headers)
}

fn certificate(wish: &WantedListener, found: &Listener, differs: &mut Differences) -> Change<String> {
    let (is, wanted) = (&found.default_tls_container_ref, &wish.certificate);
    if is == wanted {
        return Change::Keep;
    }
    let shown = |certificate: &Option<String>| certificate.clone().unwrap_or_else(|| "none".to_owned());
    differs.tell("the certificate", shown(is), shown(wanted));
    wanted.clone().map_or(Change::Clear, Change::Set)
}

fn timeouts(wish: &WantedListener, found: &Listener, change: &mut ListenerUpdate, differs: &mut Differences) {
    let Some(wanted) = wish.timeouts else { return };
    let mut of = |what: &str, is: Option<i64>, wanted: i64| {
        let differs_by = (is != Some(wanted)).then_some(wanted)?;
        let is = is.map_or_else(|| "not set".to_owned(), |is| is.to_string());
        differs.tell(what, is, wanted);
        Some(differs_by)
    };
    change.timeout_client_data = of("timeout-client-data", found.timeout_client_data, wanted.client_data);
    change.timeout_member_connect =
        of("timeout-member-connect", found.timeout_member_connect, wanted.member_connect);
    change.timeout_member_data = of("timeout-member-data", found.timeout_member_data, wanted.member_data);
    change.timeout_tcp_inspect = of("timeout-tcp-inspect", found.timeout_tcp_inspect, wanted.tcp_inspect);
}
