//! The soak.

fn main() {}
