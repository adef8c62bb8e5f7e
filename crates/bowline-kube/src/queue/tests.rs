//! The queue's rules by example, its shell under paused time, and its metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline_core::TokenBucket;
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn state() -> QueueState<&'static str> {
    QueueState::new(QueueSettings::default())
}

fn queue() -> KeyedQueue<&'static str> {
    KeyedQueue::new("test", QueueSettings::default())
}

fn pick(state: &mut QueueState<&'static str>, at: u64) -> Option<&'static str> {
    state.pick(secs(at)).map(|picked| picked.key)
}

fn rest(state: &mut QueueState<&'static str>, at: u64) -> Vec<&'static str> {
    std::iter::from_fn(|| pick(state, at)).collect()
}

#[test]
fn a_key_added_while_it_runs_runs_again_afterwards_and_not_before() {
    let mut state = state();
    state.add("a", Priority::User, secs(0));
    assert_eq!(pick(&mut state, 0), Some("a"));
    state.add("a", Priority::User, secs(1));
    state.add("a", Priority::User, secs(1));
    assert_eq!(pick(&mut state, 1), None);
    assert_eq!(state.load(secs(1)).depth, 1);
    state.finish(&"a", Outcome::Done, secs(2));
    assert_eq!(rest(&mut state, 2), ["a"]);
}

#[test]
fn raising_a_waiting_key_moves_it_before_the_background() {
    let mut state = state();
    state.add("a", Priority::Background, secs(0));
    state.add("b", Priority::Background, secs(0));
    state.add("b", Priority::User, secs(1));
    state.add("b", Priority::Background, secs(1));
    assert_eq!(rest(&mut state, 1), ["b", "a"]);
}

#[test]
fn every_fifth_pick_is_the_backgrounds_while_users_wait() {
    let mut state = state();
    for key in ["u1", "u2", "u3", "u4", "u5", "u6"] {
        state.add(key, Priority::User, secs(0));
    }
    state.add("b1", Priority::Background, secs(0));
    state.add("b2", Priority::Background, secs(0));
    assert_eq!(rest(&mut state, 0), ["u1", "u2", "u3", "u4", "b1", "u5", "u6", "b2"]);
}

#[test]
fn an_edit_in_one_namespace_waits_for_one_of_a_thousand_in_another() {
    let mut state = QueueState::fair(QueueSettings::default(), |key: &String| {
        key.split_once('/').map(|(namespace, _)| namespace)
    });
    for n in 0..1000 {
        state.add(format!("noisy/{n}"), Priority::User, secs(0));
        state.add(format!("batch/{n}"), Priority::Background, secs(0));
    }
    // Some of them run already.
    for _ in 0..10 {
        state.pick(secs(0)).unwrap();
    }
    state.add("quiet/web".to_owned(), Priority::User, secs(1));
    let place = (1..=2000).find(|_| state.pick(secs(1)).is_some_and(|picked| picked.key == "quiet/web"));
    assert!(place.is_some_and(|place| place <= 3), "{place:?}");
    let left = std::iter::from_fn(|| state.pick(secs(1))).count();
    assert_eq!(left, 2000 - 10 - place.unwrap() + 1, "nobody is forgotten");
}

#[test]
fn failures_back_off_longer_each_time_and_success_forgets_them() {
    let mut state = state();
    state.add("a", Priority::User, secs(0));
    let mut now = secs(0);
    for (failures, wait) in [(0, 5), (1, 10), (2, 20)] {
        assert_eq!(state.pick(now).unwrap().failures, failures);
        state.finish(&"a", Outcome::Failed, now);
        assert_eq!(state.next_due(), Some(now + secs(wait)));
        assert_eq!(state.pick(now + secs(wait) - Duration::from_nanos(1)), None);
        now += secs(wait);
    }
    state.pick(now).unwrap();
    state.finish(&"a", Outcome::Done, now);
    assert!(state.is_empty());
    state.add("a", Priority::User, now);
    assert_eq!(state.pick(now).unwrap().failures, 0);
}

#[test]
fn a_retry_after_leaves_the_failure_count_alone() {
    let mut state = state();
    state.add("a", Priority::User, secs(0));
    pick(&mut state, 0);
    state.finish(&"a", Outcome::Failed, secs(0));
    assert_eq!(pick(&mut state, 5), Some("a"));
    state.finish(&"a", Outcome::RetryAfter(secs(2)), secs(5));
    assert_eq!(state.pick(secs(6)), None);
    assert_eq!(state.pick(secs(7)).unwrap().failures, 1);
}

#[test]
fn a_user_edit_during_back_off_runs_at_once_and_its_verdict_replaces_the_old_one() {
    let mut state = state();
    state.add("a", Priority::Background, secs(0));
    pick(&mut state, 0);
    state.finish(&"a", Outcome::Failed, secs(0));
    state.add("a", Priority::User, secs(1));
    assert_eq!(pick(&mut state, 1), Some("a"));
    state.finish(&"a", Outcome::Failed, secs(1));
    assert_eq!(
        state.next_due(),
        Some(secs(11)),
        "the second failure waits its full time, the first wait is over"
    );
}

#[test]
fn background_work_does_not_cut_a_back_off_short_and_is_not_lost() {
    let mut state = state();
    state.add("a", Priority::Background, secs(0));
    pick(&mut state, 0);
    state.add("a", Priority::Background, secs(0));
    state.finish(&"a", Outcome::Failed, secs(0));
    state.add("a", Priority::Background, secs(1));
    state.add_after("a", secs(1), Priority::Background, secs(1));
    assert_eq!(pick(&mut state, 4), None);
    assert_eq!(pick(&mut state, 5), Some("a"));
}

#[test]
fn of_two_delayed_adds_the_earlier_wins_and_a_run_before_it_does_not_cancel_it() {
    let mut state = state();
    state.add_after("a", secs(30), Priority::User, secs(0));
    state.add_after("a", secs(10), Priority::Background, secs(0));
    state.add_after("a", secs(20), Priority::Background, secs(0));
    state.add("a", Priority::User, secs(1));
    assert_eq!(pick(&mut state, 1), Some("a"));
    state.finish(&"a", Outcome::Done, secs(2));
    assert_eq!(pick(&mut state, 9), None);
    assert_eq!(pick(&mut state, 10), Some("a"));
    state.finish(&"a", Outcome::Done, secs(10));
    assert_eq!(pick(&mut state, 1_000), None);
}

#[test]
fn a_key_that_comes_due_while_nobody_picks_is_ready_and_a_later_wish_is_kept_beside_it() {
    let mut state = state();
    state.add_after("a", secs(10), Priority::User, secs(0));
    assert_eq!(state.load(secs(10)).depth, 1, "due keys count although all workers are busy");
    state.add_after("a", secs(10), Priority::User, secs(12));
    assert_eq!(state.pick(secs(15)).map(|picked| picked.waited), Some(secs(5)));
    state.finish(&"a", Outcome::Done, secs(15));
    assert_eq!(state.next_due(), Some(secs(22)));
}

#[test]
fn a_look_at_the_load_leaves_the_timer_that_a_worker_sleeps_towards() {
    let mut state = state();
    state.add_after("a", secs(10), Priority::User, secs(0));
    assert_eq!(state.pick_or_due(secs(9)).unwrap_err(), Some(secs(10)));
    assert_eq!((state.load(secs(10)).depth, state.load(secs(10)).adds), (1, 1));
    assert_eq!(state.next_due(), Some(secs(10)), "a scrape wakes nobody, so it must not fire timers");
    assert_eq!(state.pick_or_due(secs(10)).unwrap().key, "a");
    assert_eq!(state.pick_or_due(secs(10)).unwrap_err(), None);
    assert_eq!((state.load(secs(10)).depth, state.load(secs(10)).adds), (0, 1), "counted once");
}

#[test]
fn a_requeued_key_goes_to_the_end_of_its_line() {
    let mut state = state();
    for key in ["a", "b"] {
        state.add(key, Priority::User, secs(0));
    }
    assert_eq!(pick(&mut state, 0), Some("a"));
    state.finish(&"a", Outcome::Requeue, secs(0));
    assert_eq!(rest(&mut state, 0), ["b", "a"]);
}

#[test]
fn a_key_added_during_a_run_that_asks_for_another_is_counted_as_one_add() {
    let mut state = state();
    state.add("a", Priority::User, secs(0));
    pick(&mut state, 0);
    state.add("a", Priority::Background, secs(1));
    state.finish(&"a", Outcome::Requeue, secs(2));
    assert_eq!(state.load(secs(2)).adds, 2);
    let picked = state.pick(secs(4)).unwrap();
    assert_eq!((picked.priority, picked.waited), (Priority::User, secs(3)), "it waits since it was added");
    assert_eq!(rest(&mut state, 4), Vec::<&str>::new());
}

#[test]
fn a_retry_budget_spreads_failures_of_all_keys_but_not_fresh_work() {
    let settings = QueueSettings {
        backoff: Backoff::new(secs(1), secs(60)),
        retry_budget: Some(TokenBucket::new(0.1, 1)),
        ..QueueSettings::default()
    };
    let mut state = QueueState::new(settings);
    for key in ["a", "b", "c"] {
        state.add(key, Priority::User, secs(0));
    }
    assert_eq!(rest(&mut state, 0), ["a", "b", "c"], "fresh work is not slowed");
    for key in ["a", "b", "c"] {
        state.finish(&key, Outcome::Failed, secs(0));
    }
    let runs: Vec<_> =
        (0..=30).map(|at| rest(&mut state, at)).enumerate().filter(|(_, r)| !r.is_empty()).collect();
    assert_eq!(runs, [(1, vec!["a"]), (10, vec!["b"]), (20, vec!["c"])]);
}

#[test]
fn forgetting_resets_the_failures_but_not_the_wait_that_has_begun() {
    let mut state = state();
    state.add("a", Priority::User, secs(0));
    pick(&mut state, 0);
    state.finish(&"a", Outcome::Failed, secs(0));
    state.forget(&"a");
    assert_eq!(state.pick(secs(4)), None);
    assert_eq!(state.pick(secs(5)).unwrap().failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_is_woken_when_a_delayed_key_is_due() {
    let queue = queue();
    let begun = Instant::now();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.take().await }
    });
    tokio::task::yield_now().await;
    queue.add_after("late", secs(60), Priority::User);
    queue.add_after("soon", secs(3), Priority::User);
    let ticket = waiting.await.unwrap();
    assert_eq!((*ticket.key(), begun.elapsed()), ("soon", secs(3)));
}

#[tokio::test(start_paused = true)]
async fn of_keys_that_are_added_together_one_worker_gets_all_it_can_take_and_calls_another_for_the_rest() {
    let queue = queue();
    let worker = |queue: KeyedQueue<&'static str>| async move {
        let mut tickets = vec![queue.take().await];
        while tickets.len() < 3
            && let Some(ticket) = queue.try_take()
        {
            tickets.push(ticket);
        }
        queue.call_another();
        let keys: Vec<_> = tickets.iter().map(|ticket| *ticket.key()).collect();
        tickets.into_iter().for_each(|ticket| ticket.finish(Outcome::Done));
        keys
    };
    let workers: Vec<_> = (0..3).map(|_| tokio::spawn(worker(queue.clone()))).collect();
    tokio::task::yield_now().await;
    queue.add_all(["a", "b", "c", "d"].map(|key| (key, Priority::User)));
    let mut taken = Vec::new();
    for worker in workers {
        taken.extend(tokio::time::timeout(secs(5), worker).await.ok().map(Result::unwrap));
    }
    assert_eq!(taken, [vec!["a", "b", "c"], vec!["d"]], "the third is not called");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_goes_away_takes_no_knowledge_of_a_timer_with_it() {
    let queue = queue();
    let take = |queue: KeyedQueue<&'static str>| async move { *queue.take().await.key() };
    let leaves = tokio::spawn(take(queue.clone()));
    tokio::task::yield_now().await;
    let stays = tokio::spawn(take(queue.clone()));
    tokio::task::yield_now().await;
    queue.add_after("a", secs(4), Priority::User);
    tokio::task::yield_now().await;
    leaves.abort();
    let taken = tokio::time::timeout(secs(5), stays).await.expect("woken in time");
    assert_eq!(taken.unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_ticket_dropped_without_a_verdict_is_a_failed_run() {
    let queue = queue();
    queue.add("a", Priority::User);
    drop(queue.take().await);
    let begun = Instant::now();
    let ticket = queue.take().await;
    assert_eq!((ticket.picked().failures, begun.elapsed()), (1, secs(5)));
}

#[tokio::test(start_paused = true)]
async fn keys_that_come_due_together_are_worked_on_in_parallel() {
    let queue = queue();
    let cancel = CancellationToken::new();
    let done = Arc::new(Mutex::new(Vec::new()));
    let handler = {
        let done = Arc::clone(&done);
        move |work: Picked<&'static str>| {
            let done = Arc::clone(&done);
            async move {
                tokio::time::sleep(secs(10)).await;
                done.lock().push((work.key, Instant::now()));
                Outcome::Done
            }
        }
    };
    let begun = Instant::now();
    let pool = tokio::spawn(run_workers(3, queue.clone(), handler, cancel.clone()));
    // Workers already sleep towards a distant key when the nearer ones are added.
    queue.add_after("far", secs(600), Priority::User);
    tokio::time::sleep(secs(1)).await;
    for key in ["a", "b", "c"] {
        queue.add_after(key, secs(4), Priority::User);
    }
    tokio::time::sleep(secs(20)).await;
    cancel.cancel();
    pool.await.unwrap();
    let ends: Vec<_> = done.lock().iter().map(|(key, at)| (*key, *at - begun)).collect();
    assert_eq!(ends, [("a", secs(15)), ("b", secs(15)), ("c", secs(15))]);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_run_is_retried_and_the_workers_live_on() {
    let queue = queue();
    let mut registry = Registry::default();
    queue.report_to(&QueueMetrics::register(&mut registry));
    let cancel = CancellationToken::new();
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = {
        let (runs, cancel) = (Arc::clone(&runs), cancel.clone());
        move |work: Picked<&'static str>| {
            let (runs, cancel) = (Arc::clone(&runs), cancel.clone());
            async move {
                assert!(runs.fetch_add(1, Ordering::SeqCst) > 1, "the first two runs panic");
                assert_eq!(work.failures, 2);
                cancel.cancel();
                Outcome::Done
            }
        }
    };
    let begun = Instant::now();
    queue.add("a", Priority::User);
    run_workers(1, queue.clone(), handler, cancel).await;
    assert_eq!(begun.elapsed(), secs(15));
    assert!(queue.is_empty());
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    assert!(text.contains("bowline_workqueue_panics_total{name=\"test\"} 2"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn when_the_workers_are_dropped_no_handler_is_in_the_middle_of_a_step() {
    let queue = queue();
    let (begun, inside) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let handler = {
        let (begun, inside) = (Arc::clone(&begun), Arc::clone(&inside));
        move |_| {
            let (begun, inside) = (Arc::clone(&begun), Arc::clone(&inside));
            async move {
                inside.fetch_add(1, Ordering::SeqCst);
                begun.add_permits(1);
                // A step that takes its time, as a big plan does.
                std::thread::sleep(Duration::from_millis(200));
                inside.fetch_sub(1, Ordering::SeqCst);
                std::future::pending().await
            }
        }
    };
    for key in ["a", "b", "c"] {
        queue.add(key, Priority::User);
    }
    let cut = Arc::clone(&begun);
    let pool = tokio::spawn(async move {
        let cut = cut.acquire();
        tokio::select! {
            () = run_workers(3, queue, handler, CancellationToken::new()) => {}
            _ = cut => {}
        }
        // The workers are dropped by now.
        inside.load(Ordering::SeqCst)
    });
    assert_eq!(pool.await.unwrap(), 0, "handlers that still run");
}

#[tokio::test(start_paused = true)]
async fn on_cancel_no_key_is_taken_and_runs_in_flight_are_finished() {
    let queue = queue();
    let cancel = CancellationToken::new();
    let gate = Arc::new(Semaphore::new(0));
    let finished = Arc::new(AtomicUsize::new(0));
    let handler = {
        let (gate, finished) = (Arc::clone(&gate), Arc::clone(&finished));
        move |_| {
            let (gate, finished) = (Arc::clone(&gate), Arc::clone(&finished));
            async move {
                gate.acquire().await.unwrap().forget();
                finished.fetch_add(1, Ordering::SeqCst);
                Outcome::Done
            }
        }
    };
    for key in ["a", "b", "c"] {
        queue.add(key, Priority::User);
    }
    let pool = tokio::spawn(run_workers(2, queue.clone(), handler, cancel.clone()));
    while queue.load().running < 2 {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    tokio::time::sleep(secs(60)).await;
    assert!(!pool.is_finished(), "runs in flight are waited for");
    gate.add_permits(3);
    pool.await.unwrap();
    assert_eq!(finished.load(Ordering::SeqCst), 2);
    assert_eq!(queue.load().depth, 1, "the third key was not taken");
}

#[tokio::test(start_paused = true)]
async fn the_metrics_have_upstreams_names_and_are_right_at_the_scrape() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let (services, nodes) = (KeyedQueue::new("service", QueueSettings::default()), queue());
    services.report_to(&metrics);
    nodes.report_to(&metrics);
    for key in ["a", "b", "b", "c"] {
        services.add(key, Priority::User);
    }
    services.take().await.finish(Outcome::Failed);
    let running = services.take().await;
    tokio::time::advance(secs(3)).await;

    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    for line in [
        "workqueue_depth{name=\"service\"} 1",
        "workqueue_depth{name=\"test\"} 0",
        "workqueue_adds_total{name=\"service\"} 3",
        "workqueue_retries_total{name=\"service\"} 1",
        "workqueue_unfinished_work_seconds{name=\"service\"} 3",
        "workqueue_longest_running_processor_seconds{name=\"service\"} 3",
        "workqueue_queue_duration_seconds_count{name=\"service\"} 2",
        "workqueue_work_duration_seconds_count{name=\"service\"} 1",
        "workqueue_work_duration_seconds_bucket{le=\"1e-8\",name=\"service\"} 1",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line} is missing in\n{text}");
    }
    let buckets = text
        .lines()
        .filter(|l| l.starts_with("workqueue_work_duration_seconds_bucket{") && l.contains("service"));
    assert_eq!(buckets.count(), 11, "ten and +Inf");
    drop(running);
}
