//! The server as its clients see it: real TLS over loopback, reviewers in memory.

mod access;
mod certificates;
mod client;
mod fixture;
mod lifecycle;
mod pages;
