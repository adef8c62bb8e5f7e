//! The budget and the breaker hold back what harms and let pass what is right.

use super::*;

fn budget() -> DeletionBudget {
    DeletionBudget::new(DeletionLimits::default())
}

fn uids(range: std::ops::Range<usize>) -> BTreeSet<String> {
    range.map(|n| format!("u-{n:04}")).collect()
}

fn second(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn sees(budget: &mut DeletionBudget, nodes: usize, gone: &BTreeSet<String>, at: u64) -> Option<Turn> {
    budget.look(&Look { nodes, gone, complete: true }, second(at))
}

/// Deletes all that may be deleted now.
fn delete_all(budget: &mut DeletionBudget, gone: &BTreeSet<String>, at: u64) -> Vec<String> {
    let mut deleted = Vec::new();
    for uid in gone {
        if budget.judge(uid).is_ok() {
            budget.spend(uid, second(at));
            deleted.push(uid.clone());
        }
    }
    deleted
}

#[test]
fn a_tenth_of_the_nodes_goes_within_ten_minutes_and_the_rest_waits_its_turn() {
    let (mut budget, mut gone) = (budget(), uids(0..25));
    assert_eq!(sees(&mut budget, 100, &gone, 0), None);
    assert_eq!(delete_all(&mut budget, &gone, 0).len(), 10);
    gone = uids(10..25);
    sees(&mut budget, 90, &gone, 599);
    assert_eq!(delete_all(&mut budget, &gone, 599), [""; 0], "the window is not over");
    assert_eq!(budget.judge("u-0010"), Err(Held::BudgetSpent { allowed: 10, window: second(600) }));
    sees(&mut budget, 90, &gone, 600);
    assert_eq!(delete_all(&mut budget, &gone, 600).len(), 9, "a tenth of those that are left");
}

#[test]
fn one_node_may_go_in_a_small_cluster() {
    for nodes in 1..20 {
        let (mut budget, gone) = (budget(), uids(0..1));
        assert_eq!(sees(&mut budget, nodes, &gone, 0), None, "{nodes} nodes");
        assert_eq!(delete_all(&mut budget, &gone, 0).len(), 1, "{nodes} nodes");
    }
}

#[test]
fn when_more_than_a_third_looks_gone_none_is_deleted() {
    for (nodes, gone) in [(100, 34), (100, 100), (3, 2), (2, 2), (5_000, 1_651)] {
        let (mut budget, gone) = (budget(), uids(0..gone));
        assert_eq!(sees(&mut budget, nodes, &gone, 0), Some(Turn::Opened), "{} of {nodes}", gone.len());
        assert_eq!(delete_all(&mut budget, &gone, 0), [""; 0]);
        assert_eq!(budget.judge("u-0001"), Err(Held::BreakerOpen { gone: gone.len(), nodes }));
        assert_eq!(sees(&mut budget, nodes, &gone, 5), None, "it is told once");
    }
}

#[test]
fn a_third_may_look_gone_without_opening_the_breaker() {
    let (mut budget, gone) = (budget(), uids(0..33));
    assert_eq!(sees(&mut budget, 100, &gone, 0), None);
    assert_eq!(delete_all(&mut budget, &gone, 0).len(), 10);
}

#[test]
fn the_breaker_closes_after_a_minute_of_healthy_reads_and_not_before() {
    let mut budget = budget();
    sees(&mut budget, 10, &uids(0..10), 0);
    let few = uids(0..1);
    assert_eq!(sees(&mut budget, 10, &few, 10), None);
    assert!(budget.judge("u-0000").is_err(), "one healthy read is not enough");
    assert_eq!(budget.look(&Look { nodes: 10, gone: &few, complete: false }, second(40)), None);
    assert_eq!(sees(&mut budget, 10, &few, 70), None, "a failed read begins the minute anew");
    assert!(budget.is_open());
    assert_eq!(sees(&mut budget, 10, &few, 130), Some(Turn::Closed));
    assert_eq!(budget.judge("u-0000"), Ok(()));
}

#[test]
fn a_relapse_begins_the_minute_anew() {
    let (mut budget, all) = (budget(), uids(0..10));
    sees(&mut budget, 10, &all, 0);
    sees(&mut budget, 10, &uids(0..0), 10);
    sees(&mut budget, 10, &all, 20);
    sees(&mut budget, 10, &uids(0..0), 30);
    assert_eq!(sees(&mut budget, 10, &uids(0..0), 80), None);
    assert_eq!(sees(&mut budget, 10, &uids(0..0), 90), Some(Turn::Closed));
}

#[test]
fn a_reset_lets_go_those_that_were_gone_then_within_the_budget_and_no_others() {
    let (mut budget, gone) = (budget(), uids(0..50));
    sees(&mut budget, 100, &gone, 0);
    assert!(budget.reset());
    assert_eq!(sees(&mut budget, 100, &gone, 5), None, "they do not open it again");
    assert_eq!(delete_all(&mut budget, &gone, 5).len(), 10, "the budget still holds");
    assert_eq!(sees(&mut budget, 90, &uids(10..90), 10), Some(Turn::Opened), "forty others do");
    assert!(!DeletionBudget::new(DeletionLimits::default()).reset(), "a closed breaker stays closed");
}

#[test]
fn a_node_that_was_paid_for_may_be_tried_again_and_one_that_was_not_deleted_is_not_paid_for() {
    let (mut budget, gone) = (budget(), uids(0..2));
    sees(&mut budget, 10, &gone, 0);
    budget.spend("u-0000", second(0));
    assert_eq!(budget.judge("u-0000"), Ok(()));
    assert!(budget.judge("u-0001").is_err());
    budget.give_back("u-0000");
    assert_eq!(budget.judge("u-0001"), Ok(()));
}

#[test]
fn a_reset_holds_only_as_long_as_the_nodes_stay_gone() {
    let (mut budget, gone) = (budget(), uids(0..5));
    sees(&mut budget, 10, &gone, 0);
    budget.reset();
    sees(&mut budget, 10, &uids(0..0), 10);
    assert_eq!(sees(&mut budget, 10, &gone, 20), Some(Turn::Opened), "they were back, and are lost anew");
}
