//! One order for what has none: clouds list in any, and the same state must give the same plan.

/// These, by their ids.
pub(in crate::loadbalancer) fn by_id<'a, T, K: Ord + 'a>(
    all: impl IntoIterator<Item = &'a T>,
    id: impl Fn(&'a T) -> &'a K,
) -> Vec<&'a T> {
    let mut all: Vec<&T> = all.into_iter().collect();
    all.sort_by(|one, other| id(one).cmp(id(other)));
    all
}
