//! The annotation that requests an immediate resync of a Service. A change of it triggers a reconcile like any other edit.

/// When the last resync was requested, as an RFC 3339 time in UTC. A provider that caches the state of a load balancer reads it again if
/// this time is later than the last one that it has seen.
pub const RESYNC_AT: &str = "bowline.dev/resync-at";
