//! What happened, line by line, and one number for all of it.

use std::fmt::Write as _;
use std::time::Duration;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Since the start of the run.
    pub at: Duration,
    /// Who did it: a process, a person, the cloud's operator.
    pub who: String,
    /// What was done.
    pub what: String,
    /// What came of it.
    pub outcome: String,
    /// Whether a reader of the story wants to see it: reads are left out.
    pub telling: bool,
}

/// All that happened in a run.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    lines: Vec<Line>,
    hash: Hash,
}

#[derive(Clone, Debug)]
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl std::fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

impl Trace {
    /// Adds a line. What is not told in a story still counts.
    pub fn add(&mut self, line: Line) {
        let Line { at, who, what, outcome, .. } = &line;
        writeln!(self.hash, "{}|{who}|{what}|{outcome}", at.as_micros()).expect("hashing does not fail");
        self.lines.push(line);
    }

    /// The same for the same run.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash.0
    }

    /// All lines.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The run as a person reads it.
    #[must_use]
    pub fn story(&self) -> String {
        let mut story = String::new();
        for line in self.lines.iter().filter(|line| line.telling) {
            let seconds = line.at.as_secs_f64();
            let arrow = if line.outcome.is_empty() { "" } else { " → " };
            writeln!(story, "{seconds:>10.3} s  {:<10} {}{arrow}{}", line.who, line.what, line.outcome)
                .expect("writing to a text does not fail");
        }
        story
    }
}
