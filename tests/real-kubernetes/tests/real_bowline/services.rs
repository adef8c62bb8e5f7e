//! Services as people use them: kubectl on a real API server, `bowline ccm` with the rights that are shipped, a simulated
//! OpenStack over HTTP, and the `openstack` client to see what came of it.

mod bad_input;
mod credentials;
mod harness;
mod journeys;
