//! kube's own client and watcher on the server, under virtual time: what controllers rely on.

mod cluster;
mod custom;
mod kubectl;
mod objects;
mod patches;
mod services;
mod watches;
