//! Any bytes as a cloud.conf: never a panic, and what is read prints as it was.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bowline_openstack::config::read_anything(bytes).expect("a document prints as the text it was read from");
});
