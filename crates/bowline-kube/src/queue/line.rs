//! The waiting keys of one priority. Keys of one group are served in order of arrival. Groups take turns, so a group with a thousand keys
//! delays the single key of another group by one pick instead of a thousand. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Waiting keys, each under its arrival number.
#[derive(Debug)]
pub(super) struct Line<K> {
    /// Maps a key to its group, such as its namespace. Keys without a group share the group with the empty name.
    group_of: fn(&K) -> Option<&str>,
    groups: BTreeMap<Arc<str>, Group<K>>,
    /// The groups in the order in which they are served. A group goes to the end when it gets its first key and after each pick.
    turns: BTreeMap<u64, Arc<str>>,
    next_turn: u64,
}

#[derive(Debug)]
struct Group<K> {
    turn: u64,
    keys: BTreeMap<u64, K>,
}

impl<K> Line<K> {
    pub(super) fn new(group_of: fn(&K) -> Option<&str>) -> Self {
        Self { group_of, groups: BTreeMap::new(), turns: BTreeMap::new(), next_turn: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn insert(&mut self, arrival: u64, key: K) {
        let name = (self.group_of)(&key).unwrap_or_default();
        // Looks up first, without allocating the name: thousands of keys arrive at once, and few are the first of their group.
        if let Some(group) = self.groups.get_mut(name) {
            group.keys.insert(arrival, key);
            return;
        }
        let name: Arc<str> = name.into();
        let turn = take_turn(&mut self.turns, &mut self.next_turn, name.clone());
        self.groups.insert(name, Group { turn, keys: BTreeMap::from([(arrival, key)]) });
    }

    pub(super) fn remove(&mut self, arrival: u64, key: &K) {
        let name = (self.group_of)(key).unwrap_or_default();
        let Some(group) = self.groups.get_mut(name) else { return };
        group.keys.remove(&arrival);
        if group.keys.is_empty() {
            self.turns.remove(&group.turn);
            self.groups.remove(name);
        }
    }

    /// The oldest key of the group that is served next.
    pub(super) fn pop(&mut self) -> Option<K> {
        let (_turn, name) = self.turns.pop_first()?;
        let group = self.groups.get_mut(&name)?;
        let (_arrival, key) = group.keys.pop_first()?;
        if group.keys.is_empty() {
            self.groups.remove(&name);
        } else {
            group.turn = take_turn(&mut self.turns, &mut self.next_turn, name);
        }
        Some(key)
    }
}

fn take_turn(turns: &mut BTreeMap<u64, Arc<str>>, next: &mut u64, name: Arc<str>) -> u64 {
    let turn = *next;
    *next = next.wrapping_add(1);
    turns.insert(turn, name);
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_namespace<'a>(key: &'a &'static str) -> Option<&'a str> {
        key.split_once('/').map(|(namespace, _)| namespace)
    }

    fn drained(line: &mut Line<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| line.pop()).collect()
    }

    #[test]
    fn groups_take_turns_and_keys_of_one_group_keep_their_order() {
        let mut line = Line::new(by_namespace);
        for (arrival, key) in (0..).zip(["a/1", "a/2", "a/3", "a/4", "b/1", "c/1", "b/2"]) {
            line.insert(arrival, key);
        }
        assert_eq!(drained(&mut line), ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3", "a/4"]);
        assert!(line.is_empty());
    }

    #[test]
    fn a_group_that_comes_again_does_not_jump_the_line() {
        let mut line = Line::new(by_namespace);
        for (arrival, key) in (0..).zip(["a/1", "b/1", "c/1"]) {
            line.insert(arrival, key);
        }
        assert_eq!(line.pop(), Some("a/1"));
        line.insert(9, "a/2");
        assert_eq!(drained(&mut line), ["b/1", "c/1", "a/2"]);
    }

    #[test]
    fn a_removed_key_leaves_no_trace() {
        let mut line = Line::new(by_namespace);
        line.insert(0, "a/1");
        line.insert(1, "b/1");
        line.remove(0, &"a/1");
        assert_eq!(drained(&mut line), ["b/1"]);
        line.remove(1, &"b/1");
        assert!(line.is_empty() && line.turns.is_empty());
    }
}
