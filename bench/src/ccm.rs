//! The benchmark of any cloud-controller-manager (CCM): what it costs, in requests, bytes, time and memory, to do its work.
//!
//! A CCM here is a program with the command line and the `cloud.conf` of OCCM, between a real API server and a simulated OpenStack.
//! Everything is measured from outside: requests are counted by a proxy in front of the API server ([`proxy`]) and by the front of the
//! cloud ([`cloud`]), processes are read from `/proc` ([`subject`]), and whether the work is done is read from the cluster and the
//! cloud ([`harness`]), never from a log. Nothing here may depend on how one of the programs works inside.

pub mod cloud;
pub mod cloud_request;
pub mod cluster;
pub mod harness;
pub mod kube_request;
pub mod measurement;
pub mod minimum;
pub mod observed;
pub mod plot;
pub mod proxy;
pub mod run;
pub mod scenario;
pub mod subject;
pub mod table;
pub mod traffic;
