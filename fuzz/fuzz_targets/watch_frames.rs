//! Any bytes as a list or a watch of the API server: never a panic, never a picture of something else.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    bowline_kube::fuzzing::watch_frames(bytes).expect("what holds of every picture");
});
