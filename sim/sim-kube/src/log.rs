//! The log of requests, so that tests can count them. Bounded; the oldest go first.

use std::collections::VecDeque;

use crate::request::RequestInfo;

/// One request that was answered, or disturbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// What was asked.
    pub request: RequestInfo,
    /// Status code of the answer; 0 when an interceptor hung or broke it.
    pub code: u16,
}

/// The requests so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<LogEntry>,
    limit: usize,
    keeps_bodies: bool,
}

impl Log {
    pub(crate) fn new(limit: usize, keeps_bodies: bool) -> Self {
        Self { entries: VecDeque::new(), limit, keeps_bodies }
    }

    pub(crate) fn add(&mut self, mut entry: LogEntry) {
        if !self.keeps_bodies {
            entry.request.body = bytes::Bytes::new();
        }
        self.entries.push_back(entry);
        while self.entries.len() > self.limit {
            self.entries.pop_front();
        }
    }

    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        self.entries.iter().cloned().collect()
    }

    pub(crate) fn count(&self, chosen: impl Fn(&LogEntry) -> bool) -> usize {
        self.entries.iter().filter(|entry| chosen(entry)).count()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}
