//! Runs that wait for their turn, for a place or for the call budget: they are woken when what they would do may be out of date, and give way.
//! While more nodes come, those are put off that would bring a set without them.
//!
//! What is out of date is said in `work`. Nothing here ends a call that was sent: a run gives way by its fence, which is asked before that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_cloud::{Fence, Fenced, Pause};
use bowline_kube::informer::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::work::{Job, Work};

/// Who waits, and who is put off.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// A key has one run at a time.
    waiting: Mutex<BTreeMap<ObjectKey, Arc<Notify>>>,
    /// While nodes come.
    put_off: Mutex<Option<BTreeSet<ObjectKey>>>,
}

impl Turns {
    /// Its Service is another by now.
    pub(super) fn wake(&self, key: &ObjectKey) {
        if let Some(waits) = self.waiting.lock().get(key) {
            waits.notify_one();
        }
    }

    /// There are newer nodes.
    pub(super) fn wake_all(&self) {
        self.waiting.lock().values().for_each(|waits| waits.notify_one());
    }

    /// Nodes come: all will be told when it is over.
    pub(super) fn nodes_come(&self) {
        let began = self.put_off.lock().is_none();
        if began {
            *self.put_off.lock() = Some(BTreeSet::new());
            self.wake_all();
        }
    }

    /// It is over; gives back who was put off.
    pub(super) fn nodes_have_come(&self) -> BTreeSet<ObjectKey> {
        self.put_off.lock().take().unwrap_or_default()
    }

    pub(super) fn do_nodes_come(&self) -> bool {
        self.put_off.lock().is_some()
    }

    /// Puts a run off until then; whether nodes come at all.
    pub(super) fn put_off(&self, key: &ObjectKey) -> bool {
        self.put_off.lock().as_mut().map(|put_off| put_off.insert(key.clone())).is_some()
    }

    /// What `wait` comes to; nothing if the run `is_stale` before.
    pub(super) async fn wait<T>(
        &self,
        key: &ObjectKey,
        wait: impl Future<Output = T>,
        is_stale: impl Fn() -> bool,
    ) -> Option<T> {
        let (woken, mut wait) = (self.begin(key), pin!(wait));
        loop {
            tokio::select! {
                biased;
                come = &mut wait => return Some(come),
                () = woken.notify.notified() => if is_stale() {
                    return None;
                },
            }
        }
    }

    /// What `step` comes to, which asks its fence again whenever the run is woken.
    pub(super) async fn perform<T>(&self, key: &ObjectKey, step: impl Future<Output = T>) -> T {
        let (woken, mut step) = (self.begin(key), pin!(step));
        loop {
            tokio::select! {
                biased;
                ended = &mut step => return ended,
                () = woken.notify.notified() => {}
            }
        }
    }

    fn begin(&self, key: &ObjectKey) -> Waits<'_> {
        let notify = Arc::new(Notify::new());
        self.waiting.lock().insert(key.clone(), notify.clone());
        Waits { turns: self, key: key.clone(), notify }
    }
}

struct Waits<'a> {
    turns: &'a Turns,
    key: ObjectKey,
    notify: Arc<Notify>,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.turns.waiting.lock().remove(&self.key);
    }
}

/// The fence of a run that is only about nodes: closed also when the run has to give way. It opens nothing that another has closed.
pub(super) struct Turn<'a> {
    work: &'a Work,
    job: &'a Job,
    given_way: AtomicBool,
}

impl<'a> Turn<'a> {
    pub(super) fn new(work: &'a Work, job: &'a Job) -> Self {
        Self { work, job, given_way: AtomicBool::new(false) }
    }

    /// Whether it was closed because of that.
    pub(super) fn has_given_way(&self) -> bool {
        self.given_way.load(Ordering::Relaxed)
    }
}

impl Fence for Turn<'_> {
    fn check(&self) -> Result<(), Fenced> {
        self.work.context.fence.check()?;
        if self.work.leaves_its_line(self.job) {
            self.given_way.store(true, Ordering::Relaxed);
            let why = "there is something newer to do for this Service; it is looked at again".to_owned();
            return Err(Fenced { why });
        }
        Ok(())
    }

    fn check_telling(&self) -> Result<(), Fenced> {
        self.work.context.fence.check_telling()
    }

    fn paused(&self) -> Option<Pause> {
        self.work.context.fence.paused()
    }
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("service", &self.job.key).finish_non_exhaustive()
    }
}
