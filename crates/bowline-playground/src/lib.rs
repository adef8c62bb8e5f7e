//! The playground: a Kubernetes API and an OpenStack in memory, both on loopback, and between them the cloud-controller-manager
//! as it is shipped. It tells in the terminal what happens, and `kubectl` and `openstack` work on it.
//!
//! Nothing here is part of the manager, and nothing decides for it: the playground only plays the people, the kubelets, the
//! operator of the cloud, and bad luck. Which manager runs is handed in.

mod chaos;
mod cloud;
mod cluster;
mod command;
mod folder;
mod gate;
mod kubelet;
mod manager;
mod news;
mod next_steps;
mod ports;
mod scenario;
mod show;
mod stage;
mod terminal;

pub use command::{Arguments, run};
