//! Renders a load balancer as nested boxes: address, listeners, pools and members.

use super::super::html::Html;
use super::super::overview::{BalancerBox, ListenerBox, MemberBox, PoolBox};

pub(super) fn balancer(html: &mut Html, balancer: &BalancerBox, addresses: &[String]) {
    html.element("figure", &[("class", "picture")], |html| {
        html.element("div", &[("class", "flow")], |html| {
            html.element("div", &[("class", "box entry")], |html| {
                html.leaf("span", &[("class", "box-kind")], "Address");
                if addresses.is_empty() {
                    html.leaf("span", &[("class", "box-title faint")], "none yet");
                }
                for address in addresses {
                    html.leaf("span", &[("class", "box-title mono")], address);
                }
                status(html, &balancer.status);
            });
            html.element("ul", &[("class", "listeners")], |html| {
                for listener in &balancer.listeners {
                    html.element("li", &[("class", "lane")], |html| lane(html, listener));
                }
                if balancer.more > 0 {
                    html.leaf("li", &[("class", "more")], &format!("and {} more listeners", balancer.more));
                }
            });
        });
        html.element("figcaption", &[], |html| {
            html.leaf("span", &[], &format!("Load balancer: {}", balancer.source));
            if let Some(name) = &balancer.name {
                html.leaf("code", &[], name);
            }
            if let Some(id) = &balancer.id {
                html.leaf("code", &[], id);
            }
        });
    });
}

fn lane(html: &mut Html, listener: &ListenerBox) {
    html.element("div", &[("class", "box listener")], |html| {
        html.leaf("span", &[("class", "box-kind")], "Listener");
        html.leaf("span", &[("class", "box-title")], &listener.title);
        status(html, &listener.status);
        if !listener.allowed.is_empty() {
            html.leaf(
                "span",
                &[("class", "box-note")],
                &format!("only from {}", listener.allowed.join(", ")),
            );
        }
    });
    html.element("div", &[("class", "pools")], |html| {
        for pool in &listener.pools {
            self::pool(html, pool);
        }
    });
}

fn pool(html: &mut Html, pool: &PoolBox) {
    html.element("div", &[("class", "box pool")], |html| {
        html.element("div", &[("class", "pool-head")], |html| {
            html.leaf("span", &[("class", "box-kind")], "Pool");
            html.leaf("span", &[("class", "box-title")], &pool.title);
            status(html, &pool.status);
            if let Some(monitor) = &pool.monitor {
                html.leaf("span", &[("class", "box-note")], &format!("health: {monitor}"));
            }
        });
        html.element("ul", &[("class", "members"), ("aria-label", "Members")], |html| {
            for member in &pool.members {
                self::member(html, member);
            }
            if pool.more > 0 {
                html.leaf("li", &[("class", "more")], &format!("and {} more members", pool.more));
            }
            if pool.members.is_empty() {
                html.leaf("li", &[("class", "more")], "no members");
            }
        });
    });
}

fn member(html: &mut Html, member: &MemberBox) {
    html.element("li", &[("class", "member")], |html| {
        html.leaf("span", &[("class", "member-name")], &member.name);
        html.leaf("span", &[("class", "mono")], &member.address);
        status(html, &member.status);
    });
}

/// Renders the status as reported by the cloud, with a symbol for those that need attention.
fn status(html: &mut Html, words: &str) {
    if words.is_empty() {
        return;
    }
    let bad = ["ERROR", "OFFLINE", "DEGRADED"].iter().any(|word| words.contains(word));
    let busy = words.contains("PENDING") || words.contains("draining");
    // Objects that are being built are not online yet and need no attention.
    let (class, sign) = match (busy, bad) {
        (true, _) => ("status busy", "↻"),
        (false, true) => ("status bad", "▲"),
        (false, false) => ("status good", "✓"),
    };
    html.element("span", &[("class", class)], |html| {
        html.leaf("span", &[("aria-hidden", "true"), ("class", "sign")], sign).text(words);
    });
}
