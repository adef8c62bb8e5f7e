//! The node controller on an API server in memory and a scripted cloud, under virtual time.

mod burst;
mod failures;
mod filter;
mod fixture;
mod refresh;
mod server;
mod upstream;

use bowline_testkit::provider::{FakeInstances, Lookup};
use fixture::{Run, UNINITIALIZED, addresses, instance, node, tainted};
use server::Server;
