//! The server as its clients see it: real TLS over loopback, reviewers in memory.

mod access;
mod authorities;
mod certificates;
mod client;
mod crowds;
mod fixture;
mod herd;
mod lifecycle;
mod pages;
mod status;
