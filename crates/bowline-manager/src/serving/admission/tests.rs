//! Who has to make room for whom.

use std::net::Ipv4Addr;

use super::*;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn stranger(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

/// Few places: 2 for this host, 3 for authenticated callers (2 of one source), 4 for others (2 of one source).
fn table() -> Table {
    Table::new(ConnectionLimits {
        local: 2,
        authenticated: 3,
        authenticated_per_source: 2,
        anonymous: 4,
        anonymous_per_source: 2,
        local_requests: 10,
        authenticated_requests: 3,
        anonymous_requests: 3,
        requests_per_source: 2,
        local_addresses: None,
    })
}

fn admit(table: &mut Table, peer: IpAddr) -> u64 {
    table.admit(peer).0
}

fn ids(table: &Table) -> Vec<u64> {
    table.entries.keys().copied().collect()
}

#[test]
fn the_connection_that_is_idle_for_longest_makes_room() {
    let mut table = table();
    let [a, b, c, d] = [1, 2, 3, 4].map(|peer| admit(&mut table, stranger(peer)));
    assert!(table.begin_request(a, true));
    table.end_request(a, true);
    let (e, _, closed) = table.admit(stranger(5));
    assert_eq!((ids(&table), closed), (vec![a, c, d, e], vec![Class::Anonymous]), "{b} was idle for longest");
    admit(&mut table, stranger(6));
    assert!(!ids(&table).contains(&c), "the next one");
}

#[test]
fn a_connection_that_has_to_go_hears_of_it_and_one_that_leaves_makes_room() {
    let mut table = table();
    let (_, first, _) = table.admit(stranger(1));
    let rest = [2, 3, 4].map(|peer| admit(&mut table, stranger(peer)));
    assert!(!first.is_cancelled());
    admit(&mut table, stranger(5));
    assert!(first.is_cancelled());
    table.close(rest[0]);
    assert_eq!(table.admit(stranger(6)).2, [], "nobody goes");
}

#[test]
fn a_source_with_its_share_makes_room_for_itself_and_costs_no_other_anything() {
    let mut table = table();
    let others = [1, 2].map(|peer| admit(&mut table, stranger(peer)));
    for _ in 0..100 {
        admit(&mut table, stranger(9));
    }
    assert_eq!(table.entries.len(), 4);
    assert!(others.iter().all(|other| ids(&table).contains(other)));
}

#[test]
fn one_machine_with_a_whole_ipv6_network_is_one_source() {
    let mut table = table();
    for host in 0..100_u16 {
        admit(&mut table, IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, 0, host)));
    }
    assert_eq!(table.entries.len(), 2);
    admit(&mut table, IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 8, 0, 0, 0, 1)));
    assert_eq!(table.entries.len(), 3);
}

#[test]
fn however_many_strangers_there_are_callers_on_this_host_keep_their_places() {
    let mut table = table();
    let probe = admit(&mut table, LOOPBACK);
    let scraper_on_host = admit(&mut table, Ipv4Addr::new(127, 0, 0, 2).into());
    for peer in 1..=200 {
        admit(&mut table, stranger(peer));
    }
    assert!([probe, scraper_on_host].iter().all(|id| ids(&table).contains(id)));
    assert_eq!(table.entries.len(), 6);
    let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
    assert_eq!(table.admit(mapped.into()).2, [Class::Local], "an IPv4 address on an IPv6 socket");
}

#[test]
fn an_authenticated_caller_keeps_its_place_however_many_strangers_come() {
    let mut table = table();
    let scraper = admit(&mut table, stranger(1));
    assert_eq!(table.authenticate(scraper), None);
    for peer in 1..=200 {
        admit(&mut table, stranger(peer));
    }
    assert_eq!(table.entries.len(), 5);
    assert!(ids(&table).contains(&scraper));
}

#[test]
fn authenticated_callers_make_room_for_each_other_but_not_while_their_requests_run() {
    let mut table = table();
    let all = [1, 2, 3].map(|peer| admit(&mut table, stranger(peer)));
    all.iter().for_each(|id| assert_eq!(table.authenticate(*id), None));
    let next = admit(&mut table, stranger(4));
    assert_eq!(table.authenticate(next), Some(Class::Authenticated));
    assert_eq!(ids(&table), [all[1], all[2], next]);
    let busy = [all[1], all[2], next];
    busy.iter().for_each(|id| assert!(table.begin_request(*id, true)));
    let last = admit(&mut table, stranger(5));
    assert_eq!(table.authenticate(last), None);
    assert_eq!(table.entries[&last].class, Class::Anonymous, "there is no room for it yet");
    table.end_request(all[2], true);
    assert_eq!(table.authenticate(last), Some(Class::Authenticated));
    assert_eq!(ids(&table), [all[1], next, last]);
}

#[test]
fn where_requests_run_on_all_connections_the_oldest_goes_all_the_same() {
    let mut table = table();
    let all = [1, 2, 3, 4].map(|peer| admit(&mut table, stranger(peer)));
    assert!(all[1..].iter().all(|id| table.begin_request(*id, true)));
    admit(&mut table, stranger(5));
    assert!(!ids(&table).contains(&all[0]), "the only idle one");
    table.limits.anonymous = 3;
    admit(&mut table, stranger(6));
    assert_eq!(table.entries.len(), 3, "as many go as are too many");
    assert!(!ids(&table).contains(&all[1]));
}

#[test]
fn only_a_few_requests_of_strangers_run_at_once_and_fewer_of_one_source() {
    let mut table = table();
    let [a, b] = [1, 1].map(|peer| admit(&mut table, stranger(peer)));
    assert!(table.begin_request(a, true) && table.begin_request(b, true));
    assert!(!table.begin_request(a, true), "the source has its share");
    let other = admit(&mut table, stranger(2));
    assert!(table.begin_request(other, true));
    assert!(!table.begin_request(other, true), "no more of any source");
    let local = admit(&mut table, LOOPBACK);
    assert!((0..10).all(|_| table.begin_request(local, true)), "this host's are not limited");
    table.end_request(a, true);
    assert!(table.begin_request(other, true));
}

#[test]
fn a_source_without_a_request_under_way_is_never_refused_one() {
    let mut table = table();
    let [a, b] = [1, 2].map(|peer| admit(&mut table, stranger(peer)));
    assert!([a, a, b].iter().all(|id| table.begin_request(*id, true)));
    assert!(!table.begin_request(b, true), "all are taken");
    let newcomer = admit(&mut table, stranger(3));
    assert!(table.begin_request(newcomer, true), "its first one");
    assert!(!table.begin_request(newcomer, true), "and no other");
}

#[test]
fn a_request_that_needs_no_review_is_not_limited_and_keeps_its_connection_busy() {
    let mut table = table();
    let [a, b] = [1, 1].map(|peer| admit(&mut table, stranger(peer)));
    assert!((0..100).all(|_| table.begin_request(a, false)));
    assert!(table.begin_request(b, true) && table.begin_request(b, true) && !table.begin_request(b, true));
    table.end_request(b, true);
    table.end_request(b, true);
    admit(&mut table, stranger(1));
    assert!(!ids(&table).contains(&b), "{a} is busy");
}

#[test]
fn an_authenticated_caller_has_no_more_requests_of_its_source_at_once_than_others() {
    let mut table = table();
    let [known, other] = [1, 1].map(|peer| admit(&mut table, stranger(peer)));
    assert_eq!(table.authenticate(known), None);
    assert!(table.begin_request(known, true) && table.begin_request(other, true));
    assert!(!table.begin_request(known, true) && !table.begin_request(other, true), "of both together");
    let second = admit(&mut table, stranger(2));
    table.authenticate(second);
    assert!(table.begin_request(second, true) && table.begin_request(second, true));
    table.end_request(other, true);
    assert!(!table.begin_request(second, true));
    assert!(!table.begin_request(known, true), "3 of all authenticated callers");
    assert!(table.begin_request(other, true), "the limit of the others is another");
}

#[test]
fn a_newcomer_stays_while_a_few_sources_keep_all_their_connections_busy() {
    let mut table = table();
    table.limits.anonymous_requests = 100;
    let busy = [1, 1, 2].map(|peer| admit(&mut table, stranger(peer)));
    assert!(busy.iter().all(|id| table.begin_request(*id, false)));
    let newcomer = admit(&mut table, stranger(9));
    for _ in 0..10 {
        for peer in [1, 2] {
            let again = admit(&mut table, stranger(peer));
            table.begin_request(again, false);
        }
    }
    assert!(ids(&table).contains(&newcomer), "it is the only connection of its source");
}

#[test]
fn a_node_that_connects_to_its_own_address_is_not_this_host() {
    // What a Service, a node port or the network of the host sends may come from there.
    let mut table = table();
    let id = admit(&mut table, Ipv4Addr::new(10, 0, 0, 1).into());
    assert_eq!(table.entries[&id].class, Class::Anonymous);
}
