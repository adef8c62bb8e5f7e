//! The word by which a person asks for a look at a Service now: one annotation, whose change is an edit like any other.

/// When somebody last asked for it, as an RFC 3339 time in UTC. Whoever remembers what is in the cloud so as not to read it again reads it
/// when this is later than what it last saw.
pub const RESYNC_AT: &str = "bowline.dev/resync-at";
