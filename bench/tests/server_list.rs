//! The memory of a list: that of one page, however many servers there are.
//! `cargo test -p bowline-bench --test server_list -- --nocapture` prints the figures.

#![expect(clippy::unwrap_used, reason = "what is not as it should be fails the test")]

use bowline_bench::server_list::{self, ServerList};

/// What the client may hold more for nine thousand more servers: its buffers adapt to how fast answers come, and it
/// remembers the marker of every page.
const GROWTH_BYTES: u64 = 1024 * 1024;
/// As many servers as the client asks for at once.
const PAGE: usize = 500;

fn listed(servers: usize) -> ServerList {
    let list = server_list::of(servers).unwrap();
    println!("{list:?}");
    assert_eq!(list.servers, servers);
    list
}

#[test]
fn ten_times_the_servers_need_the_memory_of_the_same_page() {
    // The first fills what is allocated once in a process.
    listed(1);
    let (few, many) = (listed(1_000), listed(10_000));
    assert!(many.received_bytes > few.received_bytes + 10 * GROWTH_BYTES, "there is something to hold back");
    assert!(many.peak_bytes < few.peak_bytes + GROWTH_BYTES, "{} and {}", few.peak_bytes, many.peak_bytes);
}

#[test]
fn every_page_is_asked_for_once() {
    for servers in [0, PAGE - 1, PAGE, 3 * PAGE + 1] {
        let list = listed(servers);
        assert_eq!(list.list_requests, list.pages);
        // Nova links on behind a full page, so one more is asked for that is empty.
        assert_eq!(list.pages, (servers / PAGE) as u64 + 1);
    }
}
