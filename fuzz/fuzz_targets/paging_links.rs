//! Any bytes as a page of servers, and as the link to the next: never a panic, and what is linked to can be asked for.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    openstack_client::fuzzing::paging_links(bytes).expect("what holds of every link to a page");
});
