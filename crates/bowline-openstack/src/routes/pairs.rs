//! The ranges that a port may send from besides its own addresses: what it has, and what it is to have. Pure.

use std::collections::BTreeSet;

use ipnet::IpNet;
use openstack_client::network::{AllowedAddressPair, Port};

/// What is to be changed of the pairs of a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) add: BTreeSet<IpNet>,
    /// What is in both stays.
    pub(super) drop: BTreeSet<IpNet>,
}

/// Whether Neutron looks at what the port sends. Where it does not tell, it does.
pub(super) fn is_guarded(port: &Port) -> bool {
    port.port_security_enabled != Some(false)
}

/// Whether the pairs of a port are told, where they matter. A list that is not told must not be replaced.
pub(super) fn is_known(port: &Port) -> bool {
    !is_guarded(port) || port.allowed_address_pairs.is_some()
}

/// Whether a port is seen to lack a pair.
pub(super) fn lacks(port: &Port, range: &IpNet) -> bool {
    let pairs = port.allowed_address_pairs.as_ref();
    is_guarded(port) && pairs.is_some_and(|pairs| !pairs.iter().any(|pair| is_pair(port, pair, range)))
}

/// The pairs that the port is to have; none if it has them already. Those of others, and their order, stay.
pub(super) fn after(port: &Port, change: &Change) -> Option<Vec<AllowedAddressPair>> {
    let before = port.allowed_address_pairs.as_ref().filter(|_| is_guarded(port))?;
    let dropped = |pair: &AllowedAddressPair| {
        change.drop.difference(&change.add).any(|range| is_pair(port, pair, range))
    };
    let mut after: Vec<_> = before.iter().filter(|pair| !dropped(pair)).cloned().collect();
    for range in change.add.iter().filter(|range| lacks(port, range)) {
        after.push(AllowedAddressPair { ip_address: range.to_string(), mac_address: None });
    }
    (after != *before).then_some(after)
}

/// Whether it is the pair for `range`. One with another hardware address lets other packets through than the Node's.
fn is_pair(port: &Port, pair: &AllowedAddressPair, range: &IpNet) -> bool {
    let own = pair
        .mac_address
        .as_ref()
        .is_none_or(|mac| mac.is_empty() || mac.eq_ignore_ascii_case(&port.mac_address));
    own && pair.ip_address.parse::<IpNet>().is_ok_and(|net| net.trunc() == *range)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const MAC: &str = "fa:16:3e:00:00:01";

    fn port(pairs: &Value, security: &Value) -> Port {
        let port = json!({
            "id": "p", "network_id": "n", "mac_address": MAC, "allowed_address_pairs": pairs,
            "port_security_enabled": security,
        });
        serde_json::from_value(port).unwrap()
    }

    fn ranges(texts: &[&str]) -> BTreeSet<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn texts(pairs: Option<Vec<AllowedAddressPair>>) -> Option<Vec<String>> {
        pairs.map(|pairs| pairs.into_iter().map(|pair| pair.ip_address).collect())
    }

    #[test]
    fn a_pair_is_recognised_however_it_is_written_and_single_addresses_are_none() {
        let pairs = json!([
            {"ip_address": "fd00:0:0:1::/64", "mac_address": MAC.to_uppercase()},
            {"ip_address": "10.0.0.1"},
        ]);
        let port = port(&pairs, &Value::Null);
        assert!(!lacks(&port, &"fd00:0:0:1::/64".parse().unwrap()));
        assert!(lacks(&port, &"fd00:0:0:2::/64".parse().unwrap()));
        let change = Change { add: ranges(&["fd00:0:0:1::/64"]), drop: ranges(&["10.9.0.0/24"]) };
        assert_eq!(after(&port, &change), None, "nothing to do");
    }

    #[test]
    fn what_is_dropped_and_added_at_once_stays() {
        let port = port(&json!([{"ip_address": "10.1.0.0/24"}, {"ip_address": "10.2.0.0/24"}]), &json!(true));
        let both = Change { add: ranges(&["10.1.0.0/24"]), drop: ranges(&["10.1.0.0/24", "10.2.0.0/24"]) };
        assert_eq!(texts(after(&port, &both)), Some(vec!["10.1.0.0/24".to_owned()]));
    }

    #[test]
    fn a_list_that_is_not_told_is_never_replaced_and_an_unguarded_port_needs_none() {
        let add = Change { add: ranges(&["10.1.0.0/24"]), drop: BTreeSet::new() };
        let untold = port(&Value::Null, &json!(true));
        assert_eq!((after(&untold, &add), is_known(&untold)), (None, false));
        let unguarded = port(&Value::Null, &json!(false));
        assert_eq!((after(&unguarded, &add), is_known(&unguarded)), (None, true));
    }
}
