//! Any bytes as a provider ID: never a panic, and what is read is written as it was.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bowline_openstack::fuzzing::provider_id(bytes).expect("what holds of every provider ID");
});
