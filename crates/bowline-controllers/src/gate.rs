//! A fence that a test closes without a pause: another is about to lead, or the cloud does not know us. For tests only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_cloud::{Fence, Fenced};

/// Open unless closed. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(Arc<AtomicBool>);

impl Gate {
    pub(crate) fn close(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Fence for Gate {
    fn check(&self) -> Result<(), Fenced> {
        let closed = self.0.load(Ordering::SeqCst);
        if closed { Err(Fenced { why: "the cloud does not know us".to_owned() }) } else { Ok(()) }
    }
}
