//! Any bytes as the body of a failure: never a panic, errors fit for a log, no 404 believed that is not a service's own.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    openstack_client::fuzzing::error_body(bytes).expect("what holds of every error");
});
