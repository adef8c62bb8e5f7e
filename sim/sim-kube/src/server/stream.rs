//! The body of a watch: pulls what is new from the core and waits with tokio's clock. Keeps no events of its own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame as BodyFrame;
use tokio::time::Instant;
use tower::BoxError;

use super::{ConnectionLost, SimBody, SimKube};
use crate::core::WatchEnd;
use crate::fault::Delivery;
use crate::verbs::{Frame, WatchSpec};

/// Bookmarks come this long before a watch ends, so that its successor begins near the end.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// No watch lasts longer, whatever its client wishes: the clock must be able to tell its end.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3_600);

struct Watch {
    server: SimKube,
    spec: WatchSpec,
    queue: VecDeque<Frame>,
    deadline: Instant,
    bookmark_at: Instant,
    bookmark_every: Duration,
    ended: bool,
}

/// What a look at the core showed.
enum Look {
    /// Frames are queued.
    News,
    Nothing,
    Over(WatchEnd),
}

pub(super) fn body(server: SimKube, mut spec: WatchSpec) -> SimBody {
    let now = Instant::now();
    let bookmark_every = {
        let mut core = server.core();
        core.open_watches += 1;
        core.config.bookmark_interval.min(LONGEST)
    };
    let deadline = now + spec.timeout.min(LONGEST);
    let queue = std::mem::take(&mut spec.first);
    let mut watch = Watch { server, spec, queue, deadline, bookmark_at: now, bookmark_every, ended: false };
    watch.plan_bookmark(now);
    let lines =
        stream::unfold(watch, |mut watch| async move { watch.next().await.map(|line| (line, watch)) });
    BodyExt::boxed_unsync(StreamBody::new(lines))
}

impl Watch {
    fn plan_bookmark(&mut self, now: Instant) {
        let last = self.deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
        let next = now + self.bookmark_every;
        self.bookmark_at = last.map_or(next, |last| last.min(next));
    }

    async fn next(&mut self) -> Option<Result<BodyFrame<Bytes>, BoxError>> {
        loop {
            if self.ended {
                return None;
            }
            let changed = Arc::clone(&self.spec.changed);
            let woken = changed.notified();
            tokio::pin!(woken);
            // Registered before looking, so that no change falls between the look and the wait.
            woken.as_mut().enable();
            let mut held = false;
            if let Some(frame) = self.queue.pop_front() {
                match self.server.interceptor().event(&self.spec.info, &frame.info()) {
                    Delivery::Deliver => {
                        self.ended = frame.last;
                        return Some(Ok(BodyFrame::data(frame.line(&self.spec))));
                    }
                    Delivery::Drop => {
                        self.ended = frame.last;
                        continue;
                    }
                    Delivery::Break => return self.broken(),
                    Delivery::Hold => {
                        self.queue.push_front(frame);
                        held = true;
                    }
                }
            }
            match self.look() {
                Look::News if held => {}
                Look::News => continue,
                Look::Nothing => {}
                Look::Over(WatchEnd::Clean) => return None,
                Look::Over(WatchEnd::Broken) => return self.broken(),
            }
            tokio::select! {
                biased;
                () = woken => {}
                () = tokio::time::sleep_until(self.deadline) => return None,
                () = tokio::time::sleep_until(self.bookmark_at), if self.spec.bookmarks && !held => self.add_bookmark(),
            }
        }
    }

    fn broken(&mut self) -> Option<Result<BodyFrame<Bytes>, BoxError>> {
        self.ended = true;
        Some(Err(ConnectionLost.into()))
    }

    fn look(&mut self) -> Look {
        let core = self.server.core();
        if core.watch_epoch != self.spec.epoch {
            return Look::Over(core.watch_end);
        }
        let news = core.news(&mut self.spec);
        if news.is_empty() {
            return Look::Nothing;
        }
        self.queue.extend(news);
        Look::News
    }

    fn add_bookmark(&mut self) {
        let frame = self.server.core().bookmark(&mut self.spec, false);
        self.queue.push_back(frame);
        self.plan_bookmark(Instant::now());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut core = self.server.core();
        core.open_watches = core.open_watches.saturating_sub(1);
    }
}
