//! One flag of the linker, for the static binary that is shipped.
//!
//! Such a binary can be loaded anywhere, and puts its own addresses right when it starts. The linker lists each of some 30,000 in 24 bytes; packed,
//! the list has a few kB instead of 0.7 MB. musl knows the packed form since 1.2.4, and Rust brings such a musl since 1.93: with an older one the
//! binary would not start, so it gets the long list.

use std::env;
use std::process::Command;

/// The first minor version of Rust 1 with a musl that knows the packed form.
const FIRST_MINOR: u32 = 93;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_musl = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "musl");
    // What follows is in the language of a C compiler that links.
    let is_compiler = !env::var("RUSTC_LINKER").is_ok_and(|linker| linker.ends_with("lld"));
    if is_musl && is_compiler && rust_minor().is_some_and(|minor| minor >= FIRST_MINOR) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The minor version of the compiler at work: 95 for `rustc 1.95.0 (…)`.
fn rust_minor() -> Option<u32> {
    let said = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    said.strip_prefix("rustc 1.")?.split('.').next()?.parse().ok()
}
