//! The same loop with OpenShift's inputs and outputs.

use bowline_kube::clock::Clock;
use bowline_kube::events::EventRecorder;
use bowline_kube::informer::InformerMetrics;
use bowline_kube::queue::{KeyedQueue, Outcome};
use bowline_kube::write::Writer;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::operate::{Key, Options};

/// OpenShift's part.
pub struct OpenShift;

impl OpenShift {
    /// Whether this is OpenShift.
    ///
    /// # Errors
    ///
    /// If that cannot be seen.
    #[expect(clippy::too_many_arguments, reason = "the parts of the process")]
    pub async fn detect(
        _options: &Options,
        _client: &Client,
        _writer: &Writer,
        _recorder: &EventRecorder,
        _clock: &Clock,
        _informers: InformerMetrics,
        _queue: &KeyedQueue<Key>,
        _cancel: &CancellationToken,
    ) -> Result<Option<Self>, kube::Error> {
        Ok(None)
    }

    /// One pass.
    pub async fn pass(&self) -> Outcome {
        Outcome::Done
    }
}
