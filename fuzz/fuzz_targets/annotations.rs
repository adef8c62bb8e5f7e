//! Any annotations on any Service: never a panic, the same intent in any order, and every problem says where it stands.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bowline_openstack::fuzzing::annotations(bytes).expect("what holds of every Service");
});
