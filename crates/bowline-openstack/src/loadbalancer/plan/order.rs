//! A stable order for objects that clouds list in any order: the same state must give the same plan.

/// The items sorted by their ids.
pub(in crate::loadbalancer) fn by_id<'a, T, K: Ord + 'a>(
    all: impl IntoIterator<Item = &'a T>,
    id: impl Fn(&'a T) -> &'a K,
) -> Vec<&'a T> {
    let mut all: Vec<&T> = all.into_iter().collect();
    all.sort_by(|one, other| id(one).cmp(id(other)));
    all
}
