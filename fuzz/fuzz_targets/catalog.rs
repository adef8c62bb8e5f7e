//! Any bytes as a catalog, alone or in Keystone's answer: never a panic, messages fit for a log.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    openstack_client::fuzzing::catalog(bytes).expect("what holds of every catalog");
});
