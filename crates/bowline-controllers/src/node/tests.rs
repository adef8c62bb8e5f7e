//! The node controller on an API server in memory and a scripted cloud, under virtual time.

mod burst;
mod failures;
mod filter;
mod fixture;
mod refresh;
mod server;
mod upstream;

use fixture::{Run, Script, UNINITIALIZED, addresses, instance, node, tainted};
use server::Server;
