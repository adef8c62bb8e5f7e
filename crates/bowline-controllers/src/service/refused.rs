//! What is refused: told once, and looked at again by itself, for its cause may be in the cloud, where nobody tells us that it was
//! mended. What is wrong with the Service itself is refused without a question to the cloud, so another look costs nothing.

use std::time::Duration;

use bowline_cloud::Refusal;
use bowline_kube::queue::{Backoff, Outcome, Priority};
use tracing::warn;

use super::condition;
use super::execute::spread;
use super::message;
use super::work::{Job, Work};

/// The pauses between looks at something that is refused: the first, and the longest.
pub(super) const LOOK_AGAIN: Backoff = Backoff::new(Duration::from_secs(300), Duration::from_secs(1800));

/// What goes may have been in the way of somebody who is refused: that is looked at so long afterwards, once for all that goes meanwhile.
const AFTER_ANOTHER_WENT: Duration = Duration::from_secs(5);

/// A refusal, and how often it was heard in a row.
#[derive(Debug)]
pub(super) struct Refused {
    text: String,
    times: u32,
}

impl Refused {
    /// Takes down a refusal. A try of a person begins anew.
    fn heard(before: Option<Self>, text: &str, by_person: bool) -> Self {
        let same = before.filter(|before| before.text == text && !by_person);
        let times = same.map_or(0, |before| before.times).saturating_add(1);
        Self { text: text.to_owned(), times }
    }
}

impl Work {
    /// Told for each try of a person, and then nothing while it stays the same.
    pub(super) async fn refused(&self, job: &Job, refusal: &Refusal) -> Outcome {
        let text = refusal.to_string();
        let by_person = job.priority == Priority::User;
        let times = {
            let mut memory = job.memory();
            let refused = Refused::heard(memory.refused.take(), &text, by_person);
            memory.refused.insert(refused).times
        };
        if times == 1 {
            warn!(service = %job.key, %refusal, "cannot be done");
            self.tell(job.service(), &message::refused(refusal));
        }
        self.say(job, condition::refused(&refusal.problems)).await;
        self.concluded(job, true);
        let after = spread(self.options.look_again.delay(times), &job.service().uid);
        self.queue.add_after(job.key.clone(), after, Priority::Background);
        Outcome::Done
    }

    /// Something of a Service is gone from the cloud: a port, a name, a part of the quota is free.
    pub(super) fn look_again_at_refused(&self) {
        for key in self.memories.refused() {
            self.queue.add_after(key, AFTER_ANOTHER_WENT, Priority::Background);
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
            let heard = Refused::heard(refused.take(), text, by_person);
            LOOK_AGAIN.delay(refused.insert(heard).times).as_secs() / 60
        };
        let same: Vec<u64> = (0..5).map(|_| pause("no subnet", false)).collect();
        assert_eq!(same, [5, 10, 20, 30, 30]);
        assert_eq!(pause("no flavor", false), 5);
        assert_eq!(pause("no flavor", false), 10);
        assert_eq!(pause("no flavor", true), 5);
    }
}
