//! Any wish against any cloud: never a panic, only what is ours, the same plan in whatever order things are listed, and
//! nothing left to do when all is done.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bowline_openstack::fuzzing::plan(bytes).expect("what holds of every plan");
    bowline_openstack::fuzzing::performed(bytes).expect("plans come to an end");
});
