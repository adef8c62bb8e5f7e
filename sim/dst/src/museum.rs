//! The museum of bugs: faults that cloud-controller-managers really had, built into ours at its seams, to see whether the
//! simulation finds them. Nothing of this is in what is shipped: a piece alters requests between a process and the world, or
//! the answers of the provider between it and the controllers.

use std::sync::Arc;

use bowline_cloud::Cloud;
use bytes::Bytes;
use http::Request;

/// One bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A Node is deleted by name alone: a namesake that was made meanwhile goes with it.
    DeleteWithoutUid,
}

/// A request to the cloud as the buggy process sends it.
#[must_use]
pub fn alter_cloud(_piece: Option<Piece>, request: Request<Bytes>) -> Request<Bytes> {
    request
}

/// The cloud as the buggy process sees it.
#[must_use]
pub fn over_cloud(_piece: Option<Piece>, cloud: Arc<dyn Cloud>) -> Arc<dyn Cloud> {
    cloud
}
