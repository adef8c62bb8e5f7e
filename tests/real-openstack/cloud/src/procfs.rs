//! Reads `/proc`: whether a process is the one that was recorded, which ones its session holds, what memory they use.

use std::fs;

/// What is known of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// One letter: `R`unning, `S`leeping, s`T`opped, `Z`ombie …
    pub(crate) state: char,
    pub(crate) session: u32,
    /// Ticks between boot and its start: with the pid, this names a process for good.
    pub(crate) started: u64,
}

impl Stat {
    /// Whether it is still more than an entry in the table.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

/// A process, if it exists.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The processes of a session that are alive.
pub(crate) fn session_members(session: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|stat| stat.session == session && stat.is_alive())).collect()
}

/// Whether a process was stopped by a signal, to its last thread: they stop one after the other, and the first tells nothing
/// about the rest.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let states = threads.filter_map(|thread| parse(&fs::read_to_string(thread.path().join("stat")).ok()?));
    let mut states = states.map(|stat| stat.state).peekable();
    states.peek().is_some() && states.all(|state| state == 'T')
}

/// The memory of a process, with shared pages divided among those who share them.
pub(crate) fn memory_kib(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The program's name comes second, in brackets, and may hold anything: the fields are counted from its last bracket.
fn parse(text: &str) -> Option<Stat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_brackets_and_spaces_in_its_name() {
        let line = "42 (a) b (c) T 1 40 41 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 98765 1000 200";
        assert_eq!(parse(line), Some(Stat { state: 'T', session: 41, started: 98765 }));
        assert_eq!(parse("42 (short) S 1"), None);
    }

    #[test]
    fn this_process_is_alive_uses_memory_and_is_a_member_of_its_session() {
        let pid = std::process::id();
        let own = stat(pid).unwrap();
        assert!(own.is_alive() && memory_kib(pid) > 0);
        assert!(session_members(own.session).contains(&pid));
    }
}
