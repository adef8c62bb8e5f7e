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
    /// Bytes of the bodies that are kept.
    bytes: usize,
    byte_limit: usize,
    keeps_bodies: bool,
    /// Writes that succeeded, counted as they come: entries are forgotten, the count is not.
    writes: usize,
    dropped: usize,
}

impl Log {
    pub(crate) fn new(limit: usize, byte_limit: usize, keeps_bodies: bool) -> Self {
        Self { limit, byte_limit, keeps_bodies, ..Self::default() }
    }

    pub(crate) fn add(&mut self, mut entry: LogEntry) {
        if !self.keeps_bodies {
            entry.request.body = bytes::Bytes::new();
        }
        self.writes += usize::from(entry.request.is_write() && (200..300).contains(&entry.code));
        self.bytes += entry.request.body.len();
        self.entries.push_back(entry);
        while self.entries.len() > self.limit || self.bytes > self.byte_limit {
            let Some(forgotten) = self.entries.pop_front() else { break };
            self.bytes -= forgotten.request.body.len();
            self.dropped += 1;
        }
    }

    pub(crate) fn writes(&self) -> usize {
        self.writes
    }

    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        self.entries.iter().cloned().collect()
    }

    pub(crate) fn count(&self, chosen: impl Fn(&LogEntry) -> bool) -> usize {
        self.entries.iter().filter(|entry| chosen(entry)).count()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
        self.writes = 0;
        self.dropped = 0;
    }
}
