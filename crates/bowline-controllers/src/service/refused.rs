//! What is refused: told once, and looked at again by itself, for its cause may be in the cloud, where nobody tells us that it was
//! mended. What is wrong with the Service itself is refused without a question to the cloud, so another look costs nothing.
//!
//! What we change ourselves for another Service may be the cause's end: then it is looked at soon, but not often.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Refusal, Traffic};
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{Backoff, Outcome, Priority};
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use super::condition;
use super::execute::spread;
use super::memory::Memory;
use super::message;
use super::work::{Job, Work};

/// The pauses between looks at something that is refused: the first, and the longest.
pub(super) const LOOK_AGAIN: Backoff = Backoff::new(Duration::from_secs(300), Duration::from_secs(1800));

/// So long after a change for another Service it is looked at, once for all that changes meanwhile.
const AFTER_OTHERS: Duration = Duration::from_secs(5);

/// But not more often than this: in some clusters Services come and go all the time.
const OTHERS_EVERY: Duration = Duration::from_secs(60);

/// A refusal.
#[derive(Debug)]
pub(super) struct Refused {
    text: String,
    /// How often it was heard in a row, without looks because of others.
    times: u32,
    /// Whether the last look came to it.
    pub(super) stands: bool,
    /// When the last look because of others was due.
    for_others_at: Option<Instant>,
    /// Whether that look is still to come.
    is_woken: bool,
}

impl Refused {
    /// Takes down a refusal, and whether it is news. A try of a person begins anew.
    fn heard(before: Option<Self>, text: &str, by_person: bool) -> (Self, bool) {
        let for_others_at = before.as_ref().and_then(|before| before.for_others_at);
        let same = before.filter(|before| before.text == text && !by_person);
        let times = same.as_ref().map_or(1, |same| same.times.saturating_add(u32::from(!same.is_woken)));
        let heard = Self { text: text.to_owned(), times, stands: true, for_others_at, is_woken: false };
        (heard, same.is_none())
    }

    /// Something was changed for another Service: how soon this is to be looked at.
    fn wake(&mut self, now: Instant) -> Duration {
        let soonest =
            self.for_others_at.map_or(now, |last| if last > now { last } else { last + OTHERS_EVERY });
        let at = if self.is_woken { soonest } else { soonest.max(now + AFTER_OTHERS) };
        (self.is_woken, self.for_others_at) = (true, Some(at));
        at.saturating_duration_since(now)
    }
}

/// Who may be refused, and when something was last changed that may have been in their way.
#[derive(Debug, Default)]
pub(super) struct Obstructed(Mutex<(BTreeSet<ObjectKey>, Option<Instant>)>);

impl Obstructed {
    /// Takes down one who is refused; whether something was changed a moment ago, so that it may have been seen as it was before.
    fn add(&self, key: &ObjectKey, now: Instant) -> bool {
        let (keys, last_change) = &mut *self.0.lock();
        keys.insert(key.clone());
        last_change.is_some_and(|at| now.duration_since(at) < AFTER_OTHERS)
    }

    /// Something was changed; who may be concerned.
    fn changed(&self, now: Instant) -> Vec<ObjectKey> {
        let (keys, last_change) = &mut *self.0.lock();
        *last_change = Some(now);
        keys.iter().cloned().collect()
    }

    fn remove(&self, key: &ObjectKey) {
        self.0.lock().0.remove(key);
    }
}

impl Work {
    /// Told for each try of a person, and then nothing while it stays the same.
    pub(super) async fn refused(&self, job: &Job, refusal: &Refusal) -> Outcome {
        let text = refusal.to_string();
        let by_person = job.priority == Priority::User;
        let if_broken = job.broken.map(|_traffic| self.broken_again_after(job));
        let (is_news, after) = {
            let mut memory = job.memory();
            let (refused, is_news) = Refused::heard(memory.refused.take(), &text, by_person);
            let refused = memory.refused.insert(refused);
            let own = spread(self.options.look_again.delay(refused.times), &job.service().uid);
            let own = if_broken.map_or(own, |if_broken| own.min(if_broken));
            let now = Instant::now();
            let is_late = self.obstructed.add(&job.key, now);
            (is_news, if is_late { own.min(refused.wake(now)) } else { own })
        };
        // The provider itself keeps a broken load balancer that may carry traffic: people hear of it as if the rail had held the plan.
        let is_held = job.broken == Some(Traffic::Possible);
        if is_news && is_held {
            self.tell_held(job, &text);
        } else if is_news {
            warn!(service = %job.key, %refusal, "cannot be done");
            self.tell(job.service(), &message::refused(refusal));
        }
        let said =
            if is_held { condition::replacement_held(&text) } else { condition::refused(&refusal.problems) };
        self.say(job, said).await;
        self.concluded(job, true);
        self.queue.add_after(job.key.clone(), after, Priority::Background);
        Outcome::Done
    }

    /// Something was changed for a Service: a port, a name or an address may be free, or lead somewhere, by now.
    pub(super) fn look_again_at_refused(&self) {
        let now = Instant::now();
        for key in self.obstructed.changed(now) {
            let wake = |memory: Arc<Mutex<Memory>>| {
                memory
                    .lock()
                    .refused
                    .as_mut()
                    .filter(|refused| refused.stands)
                    .map(|refused| refused.wake(now))
            };
            match self.memories.get(&key).and_then(wake) {
                Some(after) => self.queue.add_after(key, after, Priority::Background),
                None => self.obstructed.remove(&key),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_while_the_same_is_heard_and_begins_anew_with_other_words_or_a_person() {
        let mut refused = None;
        let mut pause = |text: &str, by_person: bool| {
            let (heard, _is_news) = Refused::heard(refused.take(), text, by_person);
            LOOK_AGAIN.delay(refused.insert(heard).times).as_secs() / 60
        };
        let same: Vec<u64> = (0..5).map(|_| pause("no subnet", false)).collect();
        assert_eq!(same, [5, 10, 20, 30, 30]);
        assert_eq!(pause("no flavor", false), 5);
        assert_eq!(pause("no flavor", false), 10);
        assert_eq!(pause("no flavor", true), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn changes_for_others_cost_a_look_a_minute_and_do_not_count() {
        let (mut refused, _) = Refused::heard(None, "port 80 is taken", true);
        let start = Instant::now();
        let wake = |refused: &mut Refused, at: u64| refused.wake(start + Duration::from_secs(at)).as_secs();
        assert_eq!([0, 1, 4].map(|at| wake(&mut refused, at)), [5, 4, 1], "one look for all of them");
        let (mut refused, is_news) = Refused::heard(Some(refused), "port 80 is taken", false);
        assert!(!is_news && refused.times == 1);
        assert_eq!(
            [6, 20, 64].map(|at| wake(&mut refused, at)),
            [59, 45, 1],
            "not more often than each minute"
        );
        let (mut refused, is_news) = Refused::heard(Some(refused), "port 90 is taken", false);
        assert!(is_news && refused.times == 1);
        assert_eq!(wake(&mut refused, 500), 5);
    }
}
